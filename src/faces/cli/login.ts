// cli: an endpoint on another machine (`--endpoint`): its address, the session of a person there, and `login` and `logout`. In: options. Out: the port of
// operations there. INVARIANT: a session goes to the address that it was made at and nowhere else, never in clear text over a network, and its file is
// its owner's alone.
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { writeWhole } from '../../base/files.ts';
import { isLoopback } from '../../base/hosts.ts';
import { type Remote, refusalIn, remoteOperations, requested } from '../../contract/client.ts';
import { LOGIN_BEGIN, LOGIN_END, LOGIN_POLL, NO_ORGANIZATION, ORGANIZATIONS } from '../../contract/endpoint.ts';
import type { Entry, InputOf, OutputOf } from '../../contract/operation.ts';
import { type Operations, operationsWith } from '../../contract/table.ts';
import { USER_HEADER } from '../../domain/actor.ts';
import { AppError } from '../../domain/errors.ts';
import { baseAddress, endpointIn, type Flags, NameReader, readToken } from '../../runtime/config/name-reader.ts';
import { systemClock } from '../../runtime/system/clock.ts';
import { showHidden } from '../report/fact-text.ts';
import { userHere } from './daemon-client.ts';
import { type Io, writeText } from './io.ts';

/** Errors: AppError `usage`. It never repeats what may be a password. */
function endpointAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['https:', 'http:'].includes(url.protocol) || url.search !== '' || url.hash !== '')
    throw new AppError('usage', 'the endpoint is no address: expected one such as https://trustward.example.com');
  if (url.username !== '' || url.password !== '')
    throw new AppError('usage', 'the address of the endpoint holds a name or a password: leave it out');
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    throw new AppError(
      'usage',
      `\`${baseAddress(text)}\` would get your session in clear text: give its https:// address; http:// is for this machine alone`,
    );
  return baseAddress(text);
}

// Sessions: a file of mode 0600 for each endpoint.

const kept = z.object({ endpoint: z.string(), session: z.string().regex(/^[\w-]{1,512}$/), person: z.string() });
type Kept = z.infer<typeof kept>;

const ENDING = '.session.json';
const AGAIN = 'sign in again: `trustward login`';

function folderOf({ env }: Pick<Io, 'env'>): string {
  const { XDG_CONFIG_HOME: config = '', HOME: home = homedir() } = env;
  return join(config.startsWith('/') ? config : join(home, '.config'), 'trustward');
}

function fileOf(io: Pick<Io, 'env'>, url: string): string {
  return join(folderOf(io), `${encodeURIComponent(url)}${ENDING}`);
}

/** Undefined: there is none. Errors: AppError `config` for a file that is not its owner's alone, or is no session of this address. */
function readSession(io: Pick<Io, 'env'>, url: string): Kept | undefined {
  const file = fileOf(io, url);
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (!found) return undefined;
  const isOwn = process.getuid === undefined || found.uid === process.getuid();
  if (!found.isFile() || !isOwn || (process.platform !== 'win32' && (found.mode & 0o077) !== 0))
    throw new AppError(
      'config',
      `\`${file}\` holds your session and is not yours alone: run \`chmod 600 ${file}\`, or, if somebody else may have read it, ${AGAIN}`,
    );
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    content = undefined;
  }
  const read = kept.safeParse(content);
  if (read.success && read.data.endpoint === url) return read.data;
  throw new AppError('config', `\`${file}\` holds no session of ${url}: ${AGAIN}`);
}

function keepSession(io: Io, session: Kept): void {
  const file = fileOf(io, session.endpoint);
  try {
    mkdirSync(folderOf(io), { recursive: true, mode: 0o700 });
    writeWhole(file, `${JSON.stringify(session)}\n`, 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new AppError('config', `\`${file}\` cannot be written (${code}), so you are not signed in: check its folder`);
  }
}

// Operations there.

/** Errors: AppError `usage` for the address, `config` for who is not signed in. */
export function endpointOperations(io: Io, options: Flags): Operations {
  const url = endpointAddress(endpointIn(io.env, options) ?? '');
  const session = readSession(io, url);
  const reader = new NameReader(io.env);
  const token = session ? undefined : readToken(reader);
  reader.finish();
  if (!session && token === undefined)
    throw new AppError('config', `you are not signed in at ${url}: run \`trustward login\`, or set TRUSTWARD_TOKEN`);
  const headers: Record<string, string> = session
    ? { authorization: `Bearer ${session.session}` }
    : { authorization: `Bearer ${token}`, [USER_HEADER]: encodeURIComponent(userHere()) };
  const { org } = options;
  const there = { name: url, url, headers };
  const remote = remoteOperations({ ...there, ...(org !== undefined && { organization: org }) });
  return operationsWith(async (id, _, input) => {
    try {
      return (await remote[id](input as never)) as never;
    } catch (error) {
      throw await inWords(error, there, org, session !== undefined);
    }
  });
}

/** What went wrong, as a person at another machine can mend it. */
async function inWords(error: unknown, there: Remote, org: string | undefined, isPerson: boolean): Promise<unknown> {
  const { status, slug } = refusalIn(error);
  const isUnnamed = slug === NO_ORGANIZATION;
  if (status !== 401 && !isUnnamed) return error;
  const asked = await requested(there, ORGANIZATIONS, { limit: '20' }).catch(() => undefined);
  const ids = asked?.organizations.map(({ id }) => id) ?? [];
  const named = `${ids.join(', ')}${(asked?.total ?? 0) > ids.length ? ' and others' : ''}`;
  if (isUnnamed && asked)
    return new AppError('usage', `--org is missing: you may see ${named || 'none'} at ${there.name}`);
  if (asked && org !== undefined && !ids.includes(org)) {
    const what = ids.length === 0 ? 'you may see none' : `you may see ${named}`;
    return new AppError('not_found', `there is no organization \`${org}\` for you at ${there.name}: ${what} (--org)`);
  }
  if (!isPerson) return new AppError('config', `${there.name} refuses the token in TRUSTWARD_TOKEN: check it`);
  return new AppError('config', `your session at ${there.name} has ended: ${AGAIN}`);
}

// Signing in and out.

const BYTES_MAX = 64 * 1024;

function toEndpoint<const E extends Entry>(url: string, one: E, input: InputOf<E>): Promise<OutputOf<E>> {
  const signal = () => AbortSignal.timeout(30_000);
  const send = (address: string, init: RequestInit) => fetch(address, { ...init, signal: signal() });
  return requested({ name: url, url, headers: {}, bytesMax: BYTES_MAX, fetch: send }, one, input);
}

interface EndpointOptions {
  endpoint?: string;
}

export async function loginCommand(io: Io, options: EndpointOptions): Promise<number> {
  const given = endpointIn(io.env, options);
  if (given === undefined)
    throw new AppError(
      'usage',
      'login needs --endpoint <url> (or TRUSTWARD_ENDPOINT): where `trustward serve` listens',
    );
  const url = endpointAddress(given);
  const begun = await toEndpoint(url, LOGIN_BEGIN, {});
  io.err(`${begunLines(url, begun).map(showHidden).join('\n')}\n`);
  const answer = await answered(io, url, begun);
  if (!answer) {
    io.err('you are not signed in: nobody was waited for\n');
    return 1;
  }
  const before = oldSession(io, url);
  keepSession(io, { endpoint: url, ...answer });
  if (before) await toEndpoint(url, LOGIN_END, { session: before.session }).catch(() => {});
  writeText(io, `signed in at ${url} as ${showHidden(answer.person)}\nwhat waits for you there: \`trustward inbox\`\n`);
  return 0;
}

function oldSession(io: Io, url: string): Kept | undefined {
  try {
    return readSession(io, url);
  } catch {
    return undefined; // it is replaced
  }
}

type Begun = OutputOf<typeof LOGIN_BEGIN>;

function begunLines(url: string, { verificationUri, completeUri, userCode, expiresInSeconds }: Begun): string[] {
  return [
    `signing in at ${url}`,
    'open this page in a browser, on any machine:',
    '',
    `  ${verificationUri}`,
    '',
    `and enter the code  ${userCode}`,
    ...(completeUri === null ? [] : ['', `or open  ${completeUri}`, 'and compare the code that it shows']),
    '',
    `waiting, ${Math.floor(expiresInSeconds / 60)} minutes at most; Ctrl-C ends this`,
  ];
}

/** Undefined: the person here ended it. Errors: those of the endpoint, but not that it is silent for a while. */
async function answered(io: Io, url: string, { code, intervalSeconds, expiresInSeconds }: Begun) {
  const stopping = new AbortController();
  void io.untilStopped().then(() => stopping.abort());
  const untilMs = systemClock.monotonicMs() + expiresInSeconds * 1_000;
  for (let seconds = Math.max(intervalSeconds, 1); systemClock.monotonicMs() < untilMs; ) {
    await systemClock.sleep(seconds * 1_000, stopping.signal).catch(() => {});
    if (stopping.signal.aborted) return undefined;
    const polled = await toEndpoint(url, LOGIN_POLL, { code }).catch(waitsOn);
    if (polled && 'session' in polled) return polled;
    if (polled) seconds = Math.max(polled.intervalSeconds, 1);
  }
  throw new AppError('conflict', 'nobody entered the code in time: run `trustward login` again');
}

/** What passes by itself: no connection, asked too early, a provider that is silent for a moment. */
function waitsOn(error: unknown): undefined {
  const { status } = refusalIn(error);
  const isSilent = error instanceof AppError && error.code === 'api_unreachable';
  if (!isSilent && status !== 429 && status !== 503) throw error;
}

/** Exit code 1: it is over here, and the endpoint could not be asked. */
export async function logoutCommand(io: Io, options: EndpointOptions): Promise<number> {
  const url = endpointAddress(endpointIn(io.env, options) ?? onlyOne(io));
  const session = oldSession(io, url);
  rmSync(fileOf(io, url), { force: true });
  if (!session) throw new AppError('not_found', `you were not signed in at ${url}: nothing was ended`);
  try {
    await toEndpoint(url, LOGIN_END, { session: session.session });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    io.err(
      `signed out here; there the session ends by itself within 12 hours, or when you sign out at the identity provider: ${showHidden(error.message)}\n`,
    );
    return 1;
  }
  writeText(io, `signed out at ${url}: ${showHidden(session.person)}\n`);
  return 0;
}

/** Errors: AppError `usage`, `not_found`. */
function onlyOne(io: Io): string {
  let files: string[] = [];
  try {
    files = readdirSync(folderOf(io));
  } catch {}
  const urls = files.flatMap((name) => (name.endsWith(ENDING) ? [decoded(name.slice(0, -ENDING.length))] : []));
  const [only, ...others] = urls;
  if (only === undefined) throw new AppError('not_found', 'you are signed in at no endpoint: nothing was ended');
  if (others.length === 0) return only;
  throw new AppError('usage', `logout needs --endpoint <url>: you are signed in at ${urls.join(', ')}`);
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
