// Configuration: names, their texts and their secrets. In: the environment. Out: texts, or faults that each name the setting. It never
// repeats a secret, finds all faults, and loads nothing: reading commands need no more.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import {
  type Database,
  DEFAULT_ORGANIZATION,
  isOrganizationId,
  type PostgresDatabase,
  sqliteDatabase,
} from '../../domain/database.ts';
import { AppError } from '../../domain/errors.ts';

export function secretIn(text: string): string | undefined {
  return text.split('\n')[0]?.trim() || undefined;
}

/** What no credential is: text that cannot stand in a header, and a line that was pasted whole. Never repeats it. */
export function credentialFault(secret: string): string | undefined {
  if (!/^[\x21-\x7e]+$/.test(secret))
    return 'holds blanks, line breaks or other characters that are not allowed in a credential';
  if (/^\w*(key|token|secret|password)=[^=]/i.test(secret))
    return 'holds a name and `=` before the credential: give only what stands behind the `=`';
  return /^(["'`]).*\1$/.test(secret) ? 'is in quotes: give the credential without them' : undefined;
}

/** The same form as the token of a first start: a shorter one can be guessed. */
export function isToken(secret: string): boolean {
  return /^[\w.~+/=-]{16,512}$/.test(secret);
}

export type Environment = Record<string, string | undefined>;

/**
 * What a configuration is read without, by who does not need it: `secrets`, of files that cannot be read, or only `webhook_secrets`; `webhooks`, all of
 * them, when anything is wrong with one.
 */
export type MayLack = readonly ('secrets' | 'webhook_secrets' | 'webhooks')[];

export interface SettingFault {
  /** Whose value is wrong, or whose values do not go together: the most telling one first. */
  of: string | readonly string[];
  text: string;
}

/** Every mistake of a configuration, one per line. */
export class SettingsError extends AppError {
  constructor(readonly faults: readonly SettingFault[]) {
    super('config', faults.map(faultLine).join('\n'));
  }
}

export function faultLine({ text }: SettingFault): string {
  return `configuration: ${text}`;
}

export class NameReader {
  /** Where secrets were read from, by their names. */
  readonly secretFiles = new Map<string, string>();
  private readonly faults: SettingFault[] = [];
  /** What is missing is no fault then. */
  constructor(
    readonly env: Environment,
    readonly mayLack: MayLack = [],
  ) {}

  fault(of: SettingFault['of'], text: string): void {
    this.faults.push({ of, text });
  }

  /** Errors: SettingsError. */
  finish(): void {
    if (this.faults.length > 0) throw new SettingsError(this.faults);
  }

  text(name: string): string | undefined {
    const value = this.env[name]?.trim();
    return value === '' ? undefined : value;
  }

  /** `NAME`, or the first line of the file that `NAME_FILE` names. */
  secret(name: string): string | undefined {
    const file = this.text(`${name}_FILE`);
    if (file === undefined) return this.usable(name, this.text(name));
    if (this.text(name) !== undefined)
      this.fault([name, `${name}_FILE`], `${name} and ${name}_FILE are both set: set one of them`);
    if (this.mayLack.includes('secrets')) return readable(file, (read) => this.secretFiles.set(name, read));
    try {
      const secret = secretIn(readFileSync(file, 'utf8'));
      this.secretFiles.set(name, file);
      if (!secret) this.fault(`${name}_FILE`, `${name}_FILE: \`${file}\` is empty`);
      return this.usable(`${name}_FILE`, secret);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // A bare word that is no file may be the secret itself.
      if (isPath(file)) this.fault(`${name}_FILE`, `${name}_FILE: \`${file}\` cannot be read (${code})`);
      else
        this.fault(
          `${name}_FILE`,
          `${name}_FILE cannot be read (${code}): give the path of a file that holds the credential`,
        );
      return undefined;
    }
  }

  /** The message never repeats the secret. */
  private usable(name: string, secret: string | undefined): string | undefined {
    const wrong = secret === undefined ? undefined : credentialFault(secret);
    if (wrong !== undefined) this.fault(name, `${name} ${wrong}`);
    return secret;
  }
}

function readable(file: string, found: (file: string) => void): string | undefined {
  try {
    const secret = secretIn(readFileSync(file, 'utf8'));
    if (!secret || credentialFault(secret) !== undefined) return undefined;
    found(file);
    return secret;
  } catch {
    return undefined;
  }
}

/** A path as people write one: from the root, from here, or of a folder that exists. */
function isPath(file: string): boolean {
  return isAbsolute(file) || /^[.~]/.test(file) || (file.includes('/') && existsSync(dirname(file)));
}

/** One spelling of one address: a database is bound to it. What is no address stays as it is. */
export function baseAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url ? `${url.origin}${url.pathname}`.replace(/\/+$/, '') : text;
}

export interface Flags {
  apiUrl?: string;
  endpoint?: string;
  db?: string;
  org?: string;
  rules?: string;
  schedule?: string;
  watch?: string;
  mode?: string;
  listen?: string;
  actConcurrency?: string;
}

/** The endpoint that a command talks to instead of a database; undefined: none. Errors: AppError `usage`. */
export function endpointIn(env: Environment, { endpoint, db }: Flags): string | undefined {
  const named = endpoint ?? (env.TRUSTWARD_ENDPOINT?.trim() || undefined);
  if (endpoint !== undefined && db !== undefined)
    throw new AppError('usage', '--db and --endpoint: leave out one of the two');
  return db === undefined ? named : undefined;
}

/** INVARIANT: whoever names an endpoint never gets what is in a database here. Errors: AppError `usage`. */
function refuseEndpoint(env: Environment, flags: Flags): void {
  if (endpointIn(env, flags) === undefined) return;
  const text = 'this command needs the database itself, and an endpoint does not do it: run it where the database is';
  const instead =
    flags.endpoint === undefined ? 'with TRUSTWARD_ENDPOINT unset, or with --db' : 'and leave out --endpoint';
  throw new AppError('usage', `${text}, ${instead}`);
}

/** What the reading commands need: only the database; no credential. */
export function readDatabasePath(env: Environment, flags: Flags = {}): string {
  refuseEndpoint(env, flags);
  // Each is read, although a flag may stand for it: what nothing reads is taken for a slip.
  const [isOwn, { TRUSTWARD_DB: database }] = [isDemo(env, flags), env];
  return flags.db ?? (database?.trim() || undefined) ?? (isOwn ? 'data/demo.db' : 'data/trustward.db');
}

/** Without an address, the embedded console is meant. */
export function isDemo({ TRUSTWARD_API_URL: address = '' }: Environment, { apiUrl = address }: Flags): boolean {
  return apiUrl.trim() === '';
}

// Which organization a command is about.

export const ORGANIZATION_FILE = /^([^.].*)\.yaml$/;
const FOLDER = 'TRUSTWARD_ORGANIZATIONS';
const IDS_SHOWN = 20;

/** The ids in the folder, by the names of its files. Errors: AppError `config` when it cannot be read. */
function organizationIdsIn(folder: string): string[] {
  try {
    const ids = readdirSync(folder).flatMap((file) => ORGANIZATION_FILE.exec(file)?.[1] ?? []);
    return ids.filter(isOrganizationId).sort();
  } catch (error) {
    throw folderFault(folder, error);
  }
}

export function folderFault(folder: string, error: unknown): AppError {
  const { code } = error as NodeJS.ErrnoException;
  const what = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
  return new AppError('config', `the folder of organizations \`${folder}\` ${what}: give it in ${FOLDER}`);
}

/**
 * `--org`, or the only one. Without a folder there is one, configured by the environment. Errors: AppError `config` for the folder,
 * `not_found` for an unknown id, `usage` when one of several must be named.
 */
export function chosenOrganization(reader: NameReader, { org }: Flags): string {
  const folder = reader.text(FOLDER);
  if (folder === undefined) {
    if (org === undefined || org === DEFAULT_ORGANIZATION) return DEFAULT_ORGANIZATION;
    const text = `there is no organization \`${org}\`: without ${FOLDER} there is one, \`${DEFAULT_ORGANIZATION}\``;
    throw new AppError('not_found', `${text}; leave out --org, or set ${FOLDER} to the folder of organization files`);
  }
  const ids = organizationIdsIn(folder);
  if (ids.length === 0)
    throw new AppError('config', `there is no organization in \`${folder}\` (${FOLDER}): add a file such as acme.yaml`);
  if (org !== undefined) {
    if (ids.includes(org)) return org;
    throw new AppError('not_found', `there is no organization \`${org}\` in \`${folder}\`: it has ${listOf(ids)}`);
  }
  const [only, ...others] = ids;
  if (others.length === 0) return only as string;
  throw new AppError('usage', `--org is missing: \`${folder}\` has ${ids.length} organizations: ${listOf(ids)}`);
}

/** A SQLite database has one organization and no name for it. Errors: AppError `usage`. */
function refuseOrganization(file: string, { org }: Flags, organization: string | undefined): void {
  const given = org ?? organization;
  if (given === undefined) return;
  const text = `\`${file}\` is a SQLite database, which has one organization: `;
  const first = org === undefined ? '' : 'leave out --org, or ';
  throw new AppError('usage', `${text}${first}set TRUSTWARD_DB to a PostgreSQL database to work on \`${given}\``);
}

function listOf(ids: readonly string[]): string {
  const shown = ids.slice(0, IDS_SHOWN).join(', ');
  return ids.length <= IDS_SHOWN
    ? shown
    : `${shown} and ${ids.length - IDS_SHOWN} more (\`trustward organizations list\`)`;
}

// Which database, of which organization, and where what belongs beside it lies. In: a reader of names,
// flags. Out: a database, or faults. Nothing is opened. INVARIANT: no password is part of an address, so that an
// address can be shown.

/** What a connection may be told in its address. The password is not among them, nor is anything that runs on the server. */
const PARAMETERS = ['application_name', 'connect_timeout', 'host', 'sslcert', 'sslkey', 'sslmode', 'sslrootcert'];
const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

/** For commands that need nothing else. Errors: AppError `config`, `usage` for `--org`. */
export function databaseIn(env: Environment, flags: Flags = {}, organization?: string): Database {
  const reader = new NameReader(env);
  const database = readDatabase(reader, flags, organization);
  reader.finish();
  return database;
}

/** `organization`: known already; otherwise `--org`, or the only one. Errors: AppError `usage` for `--org`. */
export function readDatabase(reader: NameReader, flags: Flags, organization?: string): Database {
  const text = readDatabasePath(reader.env, flags);
  const name = flags.db === undefined ? 'TRUSTWARD_DB' : '--db';
  if (isPostgres(text)) return readPostgres(reader, flags, { name, text, organization });
  if (isAddress(text))
    reader.fault(
      name,
      `${name} is \`${schemeOf(text)}\`: expected a file, or an address such as postgres://user@host/name`,
    );
  refuseOrganization(text, flags, organization);
  return sqliteDatabase(text);
}

/** The target of a move. Errors: AppError `config`, `usage` and `not_found` for `--org`. */
export function postgresIn(env: Environment, to: string, flags: Flags): PostgresDatabase {
  const reader = new NameReader(env);
  if (!isPostgres(to))
    throw new AppError('usage', `--to is \`${schemeOf(to)}\`: expected an address such as postgres://user@host/name`);
  const database = readPostgres(reader, flags, { name: '--to', text: to, organization: undefined });
  reader.finish();
  return database;
}

/** An address, of PostgreSQL or of what is refused, and not a file. */
export function isAddress(text: string): boolean {
  return isPostgres(text) || /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
}

/** A slip such as `postgres//…` is no file. */
export function isPostgres(text: string): boolean {
  return /^postgres(ql)?(:|\/\/)/i.test(text);
}

/** The client takes the weaker ones for the strongest, with a warning of several lines. */
const AS_VERIFY_FULL = /([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/;

function readPostgres(
  reader: NameReader,
  flags: Flags,
  { name, text, organization }: { name: string; text: string; organization: string | undefined },
): PostgresDatabase {
  const state = reader.text('TRUSTWARD_STATE');
  const password = reader.secret('TRUSTWARD_DB_PASSWORD');
  const chosen = organization ?? chosenOrganization(reader, flags);
  if (state === undefined)
    reader.fault(
      [name, 'TRUSTWARD_STATE'],
      `${name} is a PostgreSQL database and TRUSTWARD_STATE is not set: give the folder for signing keys, checkpoints, tokens and history, the same one for every process`,
    );
  const wrong = addressFault(text);
  if (wrong !== undefined) reader.fault(name, `${name} ${wrong}`);
  const beside = join(state ?? '', chosen, 'trustward');
  return {
    kind: 'postgres',
    url: wrong === undefined ? text.replace(AS_VERIFY_FULL, '$1verify-full') : schemeOf(text),
    password,
    organization: chosen,
    beside,
  };
}

/** It never repeats what may be a password. */
function addressFault(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^[a-z]+:\/\//i.test(text) || !/^\/[^/]+$/.test(url.pathname))
    return `is \`${schemeOf(text)}\`: expected an address such as postgres://user@host/name`;
  if (url.password !== '' || url.searchParams.has('password'))
    return 'holds a password: leave it out, and give it in TRUSTWARD_DB_PASSWORD_FILE, PGPASSWORD or ~/.pgpass';
  if (url.hash !== '') return 'has a fragment (`#…`): leave it out';
  const unknown = [...url.searchParams.keys()].find((key) => !PARAMETERS.includes(key));
  if (unknown !== undefined) return `has an unknown parameter: expected ${PARAMETERS.join(', ')}`;
  const mode = url.searchParams.get('sslmode');
  if (mode !== null && !SSL_MODES.includes(mode)) return `has another sslmode: expected ${SSL_MODES.join(', ')}`;
  return undefined;
}

/** The database of the embedded console. */
export function consoleDatabaseOf({ beside }: Pick<Database, 'beside'>): string {
  return join(dirname(beside), 'demo-console.db');
}

/** For a process of its own on the same database. */
export function databaseFlags(database: Database): string[] {
  if (database.kind === 'sqlite') return ['--db', database.file];
  return ['--db', database.url, '--org', database.organization];
}

/** All that a message repeats of an address that is wrong: what is wrong with it is often where a password stands. */
function schemeOf(address: string): string {
  const scheme = /^[a-z][a-z0-9+.-]*(:\/\/|:|\/\/)/i.exec(address)?.[0];
  return scheme === undefined ? address : `${scheme}…`;
}

// What a command needs that goes to the daemon of a database, or to the database itself.

export interface DatabaseAccess {
  database: Database;
  token: string | undefined;
}

/**
 * What an operator command needs: the database, and the token of its daemon. No other wrong setting can block a stop.
 */
export function readDatabaseAccess(env: Environment, flags: Flags = {}): DatabaseAccess {
  const reader = new NameReader(env);
  const token = readToken(reader);
  const database = readDatabase(reader, flags);
  reader.finish();
  return { database, token };
}

export function readToken(reader: NameReader): string | undefined {
  const token = reader.secret('TRUSTWARD_TOKEN');
  if (token !== undefined && !isToken(token))
    reader.fault(
      'TRUSTWARD_TOKEN',
      'TRUSTWARD_TOKEN is not a valid token: expected 16 to 512 letters, digits or any of `._~+/=-`',
    );
  return token;
}
