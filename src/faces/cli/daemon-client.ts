// cli: while a daemon runs it is the only writer; writing commands go through its HTTP endpoint.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import type { Remote } from '../../contract/client.ts';
import { atCommandLine, USER_HEADER } from '../../domain/actor.ts';
import { AppError } from '../../domain/errors.ts';
import type { Config } from '../../runtime/config/config.ts';
import {
  baseAddress,
  type DatabaseAccess,
  endpointIn,
  type Flags,
  readDatabaseAccess,
} from '../../runtime/config/name-reader.ts';
import { readDaemonAddress } from '../../store/sqlite/writer-lock.ts';
import { type CommonOptions, flagsOf, type Io } from './io.ts';

const NAME_MAX = 64;

/** `ana`, or `uid 1000` for a user without a name. */
export function userHere(): string {
  const name = nameHere()
    .replace(/[\p{C}()]/gu, '_')
    .slice(0, NAME_MAX);
  return name.trim() === '' ? 'nameless' : name;
}

/** Who does something without a daemon: `ana (command line)`. */
export function actorHere(): string {
  return atCommandLine(userHere());
}

function nameHere(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}

export interface DaemonClient extends Remote {
  /** The folder of its rules. */
  rulesDir: string | undefined;
}

/**
 * The active daemon of this database, or undefined when none announced itself or it does not answer. Errors: AppError `usage` when the
 * person named another Management API than the daemon's: it would use its own.
 */
export async function findDaemon(
  { database, token: given }: DatabaseAccess,
  { apiUrl: named }: Pick<Flags, 'apiUrl'> = {},
): Promise<DaemonClient | undefined> {
  if (database.kind === 'postgres') return undefined; // every process may write to it
  const address = readDaemonAddress(database.file);
  if (!address) return undefined;
  const { url, rulesDir, apiUrl } = address;
  if (!(await isTrustward(url))) return undefined; // a leftover file
  if (named !== undefined && apiUrl !== undefined && isOther(named.trim(), apiUrl)) {
    const own = apiUrl === null ? 'the embedded, made-up organization' : `the Management API at ${apiUrl}`;
    // Nearly no command needs it.
    const { shownAddress } = await import('../../domain/secrets.ts');
    throw new AppError(
      'usage',
      `--api-url is \`${shownAddress(named)}\`, and the daemon at ${url} on \`${database.file}\` uses ${own}: leave out --api-url, or name another database with --db`,
    );
  }
  const token = given ?? readTokenFile(`${database.beside}.token`);
  const headers = { authorization: `Bearer ${token}`, [USER_HEADER]: encodeURIComponent(userHere()) };
  return { name: `the daemon at ${url}`, url, rulesDir, headers };
}

/** What is no address names no other one: a command that needs an address says so, and a stop goes on. */
export function isOther(named: string, own: string | null): boolean {
  return URL.canParse(named) && baseAddress(named) !== own;
}

/** Another process may listen there by now: it must not receive the token. */
async function isTrustward(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(5_000), redirect: 'error' });
    const health = (await answer.json()) as { status?: unknown };
    return answer.ok && health.status === 'ok';
  } catch {
    return false;
  }
}

function readTokenFile(file: string): string {
  if (!existsSync(file)) {
    throw new AppError(
      'config',
      `the daemon's token is not in \`${file}\`: set TRUSTWARD_TOKEN to the one that it was started with`,
    );
  }
  return readFileSync(file, 'utf8').trim();
}

/** Where the credential is read from: a file, or else the setting that has it. */
export function credentialName({ api, secretFiles }: Config): string {
  const setting = api?.credential.kind === 'refresh_token' ? 'TRUSTWARD_REFRESH_TOKEN' : 'TRUSTWARD_API_KEY';
  const file = secretFiles.get(setting);
  return file === undefined ? setting : `the credential in \`${file}\``;
}

/** Runs work that calls the API. Errors: those of the work; errors of the API also name its address. */
export async function namingApi<T>(config: Config, work: () => Promise<T>): Promise<T> {
  const { api } = config;
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || !api || !/^api_/.test(error.code)) throw error;
    const { code, message, options } = error;
    const hint = code === 'api_refused' ? ` (${credentialName(config)})` : '';
    throw new AppError(code, `Management API at ${api.url}: ${message}${hint}`, options);
  }
}

// `open`: a link that signs in to the page of the daemon, once and within ten minutes.

export async function openCommand(io: Io, options: CommonOptions & { print?: boolean }): Promise<number> {
  if (endpointIn(io.env, options) !== undefined)
    throw new AppError(
      'usage',
      'links are made on the machine of a daemon: open the address of the endpoint in a browser',
    );
  const access = readDatabaseAccess(io.env, flagsOf(options));
  if (access.database.kind === 'postgres') throw new AppError('usage', NOT_HERE);
  const daemon = await findDaemon(access);
  if (!daemon) throw new AppError('not_found', 'no daemon runs on this database: start `trustward serve`');
  const { requested } = await import('../../contract/client.ts');
  const { SIGN_IN_LINK } = await import('../../contract/endpoint.ts');
  const { url } = await requested(daemon, SIGN_IN_LINK, {});
  io.out(`${url}\n`);
  const browser = browserOf(process.platform, io.env);
  if (browser && !options.print && process.stdout.isTTY) openIn(browser, url);
  return 0;
}

/** Any number of endpoints may be there, on other machines. */
const NOT_HERE =
  'with PostgreSQL there is no link: open the address of `trustward serve`, and sign in with a token of `trustward tokens add NAME --scope SCOPE`';

/** The program that opens an address, and its first arguments; undefined without a desktop. */
export function browserOf(platform: NodeJS.Platform, env: Io['env']): readonly [string, ...string[]] | undefined {
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open'] : undefined;
}

/** Without one the printed link is enough: a failure is not reported. */
function openIn([program, ...args]: readonly [string, ...string[]], url: string): void {
  const child = spawn(program, [...args, url], { detached: true, stdio: 'ignore' });
  child.on('error', () => {});
  child.unref();
}
