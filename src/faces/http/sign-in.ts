// http: signing in to the page: one-time links and sessions. In: the caller that a link or a token stands for, and cookies. Out: a session's
// caller, while the token that it came from is good. It hands on no code, cookie or token to be kept: their hashes.
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { linkSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import {
  type Caller,
  type EndpointToken,
  hashOfToken,
  IDLE_MS,
  isGood,
  KEPT_MAX,
  type KeptSignIn,
  LASTS_MS,
  SCOPES,
  type Scope,
  type SignInKind,
  type SignInStore,
  type TokenStore,
  USE_EVERY_MS,
} from '../../domain/endpoint-token.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import type { Clock, Log } from '../../domain/ports.ts';

export interface KnownToken extends Omit<Caller, 'token'> {
  /** SHA-256 of the token, 32 bytes. */
  hash: Buffer;
}

export function tokenHash(token: string): Buffer {
  return Buffer.from(hashOfToken(token), 'hex');
}

export function includesScope(held: Scope, needed: Scope): boolean {
  return SCOPES.indexOf(held) >= SCOPES.indexOf(needed);
}

/** Of hashes of 64 hex digits. Compares with all known tokens in every case, so that the duration reveals nothing. */
export function hashVerifier(known: readonly KnownToken[]): (hash: string) => Caller | undefined {
  return (text) => {
    const hash = Buffer.from(text, 'hex');
    let found: Caller | undefined;
    for (const { name, scope, hash: expected } of known) {
      if (timingSafeEqual(hash, expected)) found = { name, scope };
    }
    return found;
  };
}

const COOKIES_MAX = 10;
/** As `secret` makes them. Nothing else is looked for. */
const SECRET = /^[\w-]{43}$/;
/** Characters of an address that a person is led back to after signing in; from a longer one, to the first page. */
export const RETURN_MAX = 2_000;

interface SignInLink {
  /** The whole address, with the code. Whoever has it can sign in: it is never logged. */
  url: string;
  code: string;
  expiresAtMs: number;
}

export interface SignedIn {
  caller: Caller;
  /** The value of the cookie, which only the answer to the sign-in has. */
  value: string;
  /** Of the cookie. */
  name: string;
}

/** What the page for signing in needs, and the button that ends a session. Errors of all: AppError `store_failed`. */
export interface SigningIn {
  peek(code: string): Promise<Caller | undefined>;
  withCode(code: string): Promise<SignedIn | undefined>;
  withToken(token: string): Promise<SignedIn | undefined>;
  cookie(signedIn: SignedIn): string;
  /** Ends what the cookies open. Out: the values of Set-Cookie that take them back. */
  signOut(cookieHeader: string | undefined): Promise<string[]>;
}

interface Session {
  caller: Caller;
  /** Names the session; no cookie can be made of it. */
  id: string;
}

interface SignInParts {
  store: SignInStore;
  /** The owner of the token with this hash, 64 hex digits; undefined for one that is unknown, revoked or expired. */
  verifyHash(hash: string): Caller | undefined;
  /** 256 random bits as text. */
  secret(): string;
  clock: Pick<Clock, 'nowMs'>;
  /** The address that the endpoint listens on, with its port: known when it listens. */
  address(): string;
  /** TRUSTWARD_PUBLIC_URL, without a slash at its end. */
  publicUrl: string | undefined;
  /** Whose sessions these are, where one address has several organizations: a cookie of one is none of another. */
  organization?: string;
  /** The sessions of tokens of all organizations: they count here as well. */
  outer?: SignIn;
}

export class SignIn implements SigningIn {
  constructor(private readonly parts: SignInParts) {}

  /** A link for whoever holds the caller's token. `base`: what the paths of the pages begin with. Errors: AppError `store_failed`. */
  async link(caller: Caller, base = ''): Promise<SignInLink> {
    const { store, clock, secret, publicUrl, address } = this.parts;
    const code = secret();
    const expiresAtMs = clock.nowMs() + LASTS_MS.link;
    await store.add('link', hashOfToken(code), caller);
    const url = `${publicUrl ?? reachable(address())}${base}/sign-in?code=${code}`;
    return { code, url, expiresAtMs };
  }

  /** Who would be signed in: does not use the link up. */
  async peek(code: string): Promise<Caller | undefined> {
    const [link] = await this.linksOf(code);
    return link && this.isGood(link) ? link.caller : undefined;
  }

  /** Undefined for a code that is unknown, used, expired, or of a token that is not good any more. */
  async withCode(code: string): Promise<SignedIn | undefined> {
    if (!(await this.peek(code))) return undefined;
    const value = this.parts.secret();
    const caller = await this.parts.store.redeem(hashOfToken(code), hashOfToken(value));
    return caller && { caller, value, name: this.cookieName() };
  }

  async withToken(token: string): Promise<SignedIn | undefined> {
    const ofAll = await this.parts.outer?.withToken(token);
    if (ofAll) return ofAll;
    const hash = hashOfToken(token);
    const caller = this.parts.verifyHash(hash);
    return caller && this.begin({ ...caller, token: hash });
  }

  /** The caller of a session that is open, which this counts as a use of. */
  async callerOf(cookieHeader: string | undefined): Promise<Session | undefined> {
    const open = (await this.sessionsOf(cookieHeader)).filter((each) => this.isGood(each));
    const [session] = open;
    if (open.length === 0) return this.parts.outer?.callerOf(cookieHeader);
    if (!session || open.length > 1) return undefined;
    const { hash, caller, unusedMs } = session;
    // The session is open whether or not its use can be recorded; the health of the store has the reason.
    if (unusedMs >= USE_EVERY_MS) await this.parts.store.noteUse(hash).catch(() => {});
    return { caller, id: hash };
  }

  /** Whether these cookies have a session here, by the store alone: its token may be good no more. */
  async hasSession(cookieHeader: string | undefined): Promise<boolean> {
    return (await this.sessionsOf(cookieHeader)).length > 0;
  }

  /** The same for the code of a link. */
  async hasLink(code: string): Promise<boolean> {
    return (await this.linksOf(code)).length > 0;
  }

  /** For an answer that lasts: whether its session is still open. Not a use of it. */
  async isOpen(id: string): Promise<boolean> {
    const [session] = await this.parts.store.find('session', [id]);
    if (session) return this.isGood(session);
    return (await this.parts.outer?.isOpen(id)) ?? false;
  }

  async signOut(cookieHeader: string | undefined): Promise<string[]> {
    const [session, ...others] = await this.sessionsOf(cookieHeader);
    if (session && others.length === 0) await this.parts.store.remove(session.hash);
    const outer = (await this.parts.outer?.signOut(cookieHeader)) ?? [];
    return [this.setCookie(this.cookieName(), '', '; Max-Age=0'), ...outer];
  }

  /** The value of Set-Cookie. It ends with the browser at the latest. */
  cookie({ name, value }: SignedIn): string {
    return this.setCookie(name, value, '');
  }

  private setCookie(name: string, value: string, more: string): string {
    const secure = this.parts.publicUrl?.startsWith('https:') ? '; Secure' : '';
    return `${name}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}${more}`;
  }

  /** Cookies are shared between the ports of a host: two daemons must not sign each other's people out. */
  private cookieName(): string {
    const { organization } = this.parts;
    const port = new URL(this.parts.address()).port || '80';
    return organization === undefined ? `trustward-${port}` : `trustward-${port}-${organization}`;
  }

  private async begin(caller: Caller): Promise<SignedIn> {
    const value = this.parts.secret();
    await this.parts.store.add('session', hashOfToken(value), caller);
    return { caller, value, name: this.cookieName() };
  }

  private async linksOf(code: string): Promise<KeptSignIn[]> {
    return SECRET.test(code) ? this.parts.store.find('link', [hashOfToken(code)]) : [];
  }

  private async sessionsOf(cookieHeader: string | undefined): Promise<KeptSignIn[]> {
    const values = cookiesIn(cookieHeader, this.cookieName());
    return values.length === 0 ? [] : this.parts.store.find('session', values.map(hashOfToken));
  }

  private isGood({ caller: { token } }: KeptSignIn): boolean {
    return token === undefined || this.parts.verifyHash(token) !== undefined;
  }
}

/**
 * All of this name: what listens on another port of the host can plant one that a browser sends first. It is then not clear whose
 * session is meant if two are open, and one that opens none must not sign anybody out.
 */
function cookiesIn(cookieHeader: string | undefined, name: string): string[] {
  const pairs = (cookieHeader ?? '').split(';').map((pair) => pair.trim());
  const values = pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1));
  return [...new Set(values)].filter((value) => SECRET.test(value)).slice(0, COOKIES_MAX);
}

/** An address that listens everywhere is none that a browser can open. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

// The tokens that are valid now.

/** A use is recorded when the last recorded one is older than this: not one write per request. */
const REGISTER_USE_EVERY_MS = 60_000;

export class TokenRegister {
  private kept: EndpointToken[] = [];

  constructor(
    private readonly parts: {
      store: Pick<TokenStore, 'inUse' | 'noteUse'>;
      /** Tokens that are not in the store. */
      configured: KnownToken[];
      clock: Clock;
      log: Log;
    },
  ) {}

  /** INVARIANT: called at the start, and after each change of a token before that change is answered. */
  async load(): Promise<void> {
    this.kept = await this.parts.store.inUse();
  }

  /** Instead of those before: the next request counts with these alone. */
  configure(tokens: readonly KnownToken[]): void {
    this.parts.configured = [...tokens];
  }

  /** Undefined for an unknown or expired one. */
  verify(token: string): Caller | undefined {
    return this.verifyHash(hashOfToken(token));
  }

  /** The same for a token of which only the hash is known: 64 hex digits. */
  verifyHash(hash: string): Caller | undefined {
    const nowMs = this.parts.clock.nowMs();
    const good = this.kept.filter((each) => isGood(each, nowMs));
    const known = good.map(({ name, scope, hash }) => ({ name, scope, hash: Buffer.from(hash, 'hex') }));
    const caller = hashVerifier([...known, ...this.parts.configured])(hash);
    const used = caller && good.find(({ name }) => name === caller.name);
    if (used && nowMs - (used.usedAt ?? 0) >= REGISTER_USE_EVERY_MS) this.noteUse(used, nowMs);
    return caller;
  }

  /** The caller is valid whether or not the use can be recorded. */
  private noteUse(used: EndpointToken, nowMs: number): void {
    used.usedAt = nowMs;
    const failed = (error: unknown) =>
      this.parts.log.warn({}, `the use of a token could not be recorded: ${lineOf(error)}`);
    void this.parts.store.noteUse(used.id, nowMs).catch(failed);
  }
}

// The token of the first start: made at random, kept in a 0600 file beside the database.

interface TokenFile {
  token: string;
  file: string;
  /** False when it already existed. */
  created: boolean;
}

/** Errors: AppError `config` when the file can be read by others, holds no token, or cannot be read or written. */
export function loadOrCreateToken(databaseFile: string): TokenFile {
  const file = `${databaseFile}.token`;
  try {
    return { token: readToken(file), file, created: false };
  } catch (error) {
    if (error instanceof AppError) throw error;
    if (codeOf(error) !== 'ENOENT') throw unusable(file, error, 'read');
  }
  const token = randomBytes(32).toString('base64url');
  try {
    // Written to a temporary file first: a crash in between leaves no file with half a token.
    const aside = `${file}.${process.pid}.new`;
    rmSync(aside, { force: true }); // of a start that was killed here, with the same number
    writeFileSync(aside, `${token}\n`, { mode: 0o600, flag: 'wx' });
    // Another process may have made it meanwhile: that one stays.
    linkSync(aside, file);
    rmSync(aside);
  } catch (error) {
    rmSync(`${file}.${process.pid}.new`, { force: true });
    if (codeOf(error) === 'EEXIST') return { token: readToken(file), file, created: false };
    throw unusable(file, error, 'written');
  }
  return { token, file, created: true };
}

function readToken(file: string): string {
  const { mode } = statSync(file);
  if ((mode & 0o077) !== 0) {
    throw new AppError(
      'config',
      `\`${file}\` holds the token of the HTTP endpoint and can be read by others: run \`chmod 600 ${file}\`, or delete it to get a new one`,
    );
  }
  const token = readFileSync(file, 'utf8').trim();
  if (!/^[\w.~+/=-]{16,512}$/.test(token)) {
    throw new AppError(
      'config',
      `\`${file}\` holds no token (16 to 512 letters, digits or any of \`._~+/=-\`): delete it to get a new one`,
    );
  }
  return token;
}

function unusable(file: string, error: unknown, verb: string): AppError {
  return new AppError(
    'config',
    `the token file \`${file}\` cannot be ${verb} (${codeOf(error)}): check its folder, or set TRUSTWARD_TOKEN`,
    { cause: error },
  );
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code ?? 'unknown error');
}

// Links and sessions in the memory of one process, which alone knows them.

interface Kept {
  kind: SignInKind;
  caller: Caller;
  made: Reading;
  used: Reading;
}

interface Reading {
  wallMs: number;
  steadyMs: number;
}

export class SignedInMemory implements SignInStore {
  /** By hash, the oldest first. */
  private readonly kept = new Map<string, Kept>();

  constructor(private readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>) {}

  async add(kind: SignInKind, hash: string, caller: Caller): Promise<void> {
    this.put(kind, hash, caller);
  }

  async find(kind: SignInKind, hashes: readonly string[]): Promise<KeptSignIn[]> {
    const now = this.now();
    return hashes.flatMap((hash) => {
      const one = this.one(kind, hash, now);
      return one ? [{ hash, caller: one.caller, unusedMs: sinceMs(one.used, now) }] : [];
    });
  }

  async redeem(link: string, session: string): Promise<Caller | undefined> {
    const one = this.one('link', link, this.now());
    if (!one) return undefined;
    this.kept.delete(link);
    this.put('session', session, one.caller);
    return one.caller;
  }

  async noteUse(session: string): Promise<void> {
    const now = this.now();
    const one = this.one('session', session, now);
    if (one) one.used = now;
  }

  async remove(session: string): Promise<void> {
    if (this.one('session', session, this.now())) this.kept.delete(session);
  }

  private put(kind: SignInKind, hash: string, caller: Caller): void {
    const now = this.now();
    const own: string[] = [];
    for (const [key, one] of this.kept) {
      if (isOver(one, now)) this.kept.delete(key);
      else if (one.kind === kind && one.caller.token === caller.token) own.push(key);
    }
    const [oldest] = own;
    if (own.length >= KEPT_MAX[kind] && oldest !== undefined) this.kept.delete(oldest);
    this.kept.set(hash, { kind, caller, made: now, used: now });
  }

  private one(kind: SignInKind, hash: string, now: Reading): Kept | undefined {
    const one = this.kept.get(hash);
    return one && one.kind === kind && !isOver(one, now) ? one : undefined;
  }

  private now(): Reading {
    return { wallMs: this.clock.nowMs(), steadyMs: this.clock.monotonicMs() };
  }
}

function isOver({ kind, made, used }: Kept, now: Reading): boolean {
  return sinceMs(made, now) >= LASTS_MS[kind] || sinceMs(used, now) >= IDLE_MS;
}

/** By the clock that shows more: one can be set back, and the other stands still while the machine sleeps. */
function sinceMs({ wallMs, steadyMs }: Reading, now: Reading): number {
  return Math.max(now.wallMs - wallMs, now.steadyMs - steadyMs);
}
