// cli: `console`: the reference server of the Management API, alone, for other clients and for tests. The first
// start prints the credentials once, one per line; each start prints the API keys that it made, and the address.
// Credentials are stored hashed. `console keys add` makes API keys for a database, also while a console runs on it.

import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { hostsIn } from '../../base/hosts.ts';
import { parseDuration } from '../../base/time.ts';
import type { Edition } from '../../console/answer.ts';
import { addApiKeys, type Console, FIRST_KEY, startConsole } from '../../console/console.ts';
import { AppError } from '../../domain/errors.ts';
import { KEY_SCOPES, type KeyScope } from '../../platform/contract.ts';
import { parseListen } from '../../runtime/config/reader.ts';
import { systemClock } from '../../runtime/system/clock.ts';
import { systemLog } from '../../runtime/system/log.ts';
import { asInvoked, type Io } from './io.ts';

// The API keys that `console` and `console keys add` get on their command lines.

interface KeyRequest {
  name: string;
  scope: KeyScope;
  /** The label before the secret, a name that a shell accepts: `API_KEY_AUDIT`. */
  label: string;
}

/**
 * `taken`: a name that the console itself uses. Errors: AppError `usage` for a text that is not NAME:SCOPE, an unknown
 * scope, the taken name, or two keys with one label.
 */
function readKeyRequests(texts: readonly string[], taken: string, option = '--api-key'): KeyRequest[] {
  const requests: KeyRequest[] = [];
  for (const text of texts) {
    const refused = (of: string, why: string) => new AppError('usage', `${option} is \`${of}\`: ${why}`);
    const request = readKeyRequest(text, refused);
    if (request.name === taken) throw refused(text, 'the console has a key of this name, give another one');
    const twin = requests.find((each) => each.label === request.label);
    if (twin) throw refused(text, `\`${twin.name}\` has the same label ${request.label}, give another name`);
    requests.push(request);
  }
  return requests;
}

function readKeyRequest(text: string, refused: (text: string, why: string) => AppError): KeyRequest {
  const [, name, scopeText] = /^([A-Za-z][\w-]{0,63}):(.*)$/.exec(text) ?? [];
  if (name === undefined) {
    throw refused(text, 'expected NAME:SCOPE such as audit:ReadOnly, the name of letters, digits, `_` and `-`');
  }
  const scope = KEY_SCOPES.find((each) => each === scopeText);
  if (!scope) throw refused(text, `expected one of the scopes ${KEY_SCOPES.join(', ')}`);
  return { name, scope, label: `API_KEY_${name.toUpperCase().replaceAll('-', '_')}` };
}

/** The database unless `--db` names another one. */
const CONSOLE_DB = 'data/console.db';

interface ConsoleCommandOptions {
  listen: string;
  allowedHosts?: string;
  db: string;
  seed?: string;
  devices?: string;
  users?: string;
  services?: string;
  events?: string;
  compromised?: string;
  live?: boolean;
  faults?: boolean;
  strictPages?: boolean;
  tokenLifetime?: string;
  serviceSuffix?: string;
  apiKey?: string[];
  edition?: Edition;
}

export async function consoleCommand(io: Io, options: ConsoleCommandOptions): Promise<number> {
  const listen = parseListen(options.listen);
  if (!listen)
    throw new AppError('usage', `--listen is \`${options.listen}\`: expected host:port such as 127.0.0.1:8081`);
  const keys = readKeyRequests(options.apiKey ?? [], FIRST_KEY);
  const seed = seedOf(options);
  refuseMissingFolder(options.db);
  const server = await startConsole({
    listen,
    allowedHosts: hostsIn(options.allowedHosts),
    dbFile: options.db,
    seed,
    demandsEmpty: true,
    live: options.live ?? false,
    faults: options.faults ?? false,
    strictPages: options.strictPages ?? false,
    tokenLifetimeMs: lifetimeOf(options.tokenLifetime),
    edition: options.edition,
    serviceSuffix: suffixOf(options.serviceSuffix),
    clock: systemClock,
    log: systemLog({ level: 'info', form: process.stderr.isTTY ? 'plain' : 'json' }),
  });
  try {
    printAccess(io, server, keys, options.db);
    await io.untilStopped();
  } finally {
    await server.close();
  }
  return 0;
}

/** The folder of the default is made: the first start in an empty folder needs no preparation. */
function refuseMissingFolder(db: string): void {
  if (db === CONSOLE_DB || db === ':memory:' || existsSync(dirname(db))) return;
  throw new AppError('usage', `--db is \`${db}\`: there is no folder \`${dirname(db)}\`, make it first`);
}

function printAccess(io: Io, server: Console, keys: KeyRequest[], db: string): void {
  if (server.credentials) {
    const { apiKey, refreshToken, adminToken } = server.credentials;
    io.out(`API_KEY=${apiKey}\nREFRESH_TOKEN=${refreshToken}\nADMIN_TOKEN=${adminToken}\n`);
  }
  if (!server.credentials && keys.length === 0) {
    io.err(
      asInvoked(`the first start on this database printed its credentials; make another API key: ${keysCommand(db)}\n`),
    );
  }
  for (const { name, scope, label } of keys) {
    const secret = server.keepApiKey(name, scope);
    if (secret !== undefined) io.out(`${label}=${secret}\n`);
  }
  io.out(`LISTENING=${server.address}\n`);
}

function keysCommand(db: string): string {
  const option = db === CONSOLE_DB ? '' : ` --db ${/^[\w./-]+$/.test(db) ? db : `'${db.replaceAll("'", "'\\''")}'`}`;
  return `\`trustward console keys add NAME:Admin${option}\``;
}

/** `console keys add`. */
export async function consoleKeysAdd(io: Io, texts: readonly string[], options: { db: string }): Promise<number> {
  const keys = readKeyRequests(texts, FIRST_KEY, 'the key');
  const secrets = addApiKeys(options.db, keys, systemClock);
  for (const [at, { label }] of keys.entries()) io.out(`${label}=${secrets[at]}\n`);
  return 0;
}

const TOKEN_LIFETIME_MAX_MS = 365 * 86_400_000;

/** Tokens count whole seconds: a lifetime under a second would expire at once. */
function lifetimeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms !== undefined && ms >= 1_000 && ms <= TOKEN_LIFETIME_MAX_MS) return ms;
  throw new AppError('usage', `--token-lifetime is \`${text}\`: expected a duration from 1s to 365d such as 10m`);
}

function suffixOf(text: string | undefined): string | undefined {
  if (text === undefined || /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/i.test(text)) return text;
  throw new AppError(
    'usage',
    `--service-suffix is \`${text}\`: expected letters, digits, hyphens and dots, at most 63, such as corp.example`,
  );
}

const COUNTS_MAX = {
  devices: 1_000_000,
  users: 1_000_000,
  services: 10_000,
  events: 10_000,
  compromised: 1_000_000,
} as const;

/** Any count alone seeds as well, with seed 1. */
function seedOf(options: ConsoleCommandOptions) {
  const counts = Object.entries(COUNTS_MAX).flatMap(([name, most]) => {
    const text = options[name as keyof typeof COUNTS_MAX];
    return text === undefined ? [] : [[name, wholeNumber(`--${name}`, text, most)] as const];
  });
  if (options.seed === undefined && counts.length === 0) return undefined;
  return { seed: wholeNumber('--seed', options.seed ?? '1', Number.MAX_SAFE_INTEGER), ...Object.fromEntries(counts) };
}

function wholeNumber(name: string, text: string, most: number): number {
  if (/^\d+$/.test(text) && Number(text) <= most) return Number(text);
  throw new AppError('usage', `${name} is \`${text}\`: expected a whole number from 0 to ${most}`);
}
