// http: who is signed in to the page: one-time links and sessions, in memory only. In: the caller that a link or a token stands for,
// and cookies. Out: a session's caller, while the token that it came from is good. It keeps no code, cookie or token: their hashes.
import { timingSafeEqual } from 'node:crypto';
import { hashOfToken } from '../domain/endpoint-token.ts';
import type { Clock } from '../domain/ports.ts';
import { type Caller, tokenHash } from './tokens.ts';

const LINK_MS = 10 * 60_000;
const SESSION_MS = 12 * 3_600_000;
const IDLE_MS = 2 * 3_600_000;
const LINKS_MAX = 100;
const SESSIONS_MAX = 1_000;
const COOKIES_MAX = 10;
/** Characters of an address that a person is led back to after signing in; from a longer one, to the first page. */
export const RETURN_MAX = 2_000;

export interface SignInLink {
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

/** What the page for signing in needs, and the button that ends a session. */
export interface SigningIn {
  peek(code: string): Caller | undefined;
  withCode(code: string): SignedIn | undefined;
  withToken(token: string): SignedIn | undefined | Promise<SignedIn | undefined>;
  cookie(signedIn: SignedIn): string;
  /** Ends what the cookies open. Out: the values of Set-Cookie that take them back. */
  signOut(cookieHeader: string | undefined): string[];
}

interface Session {
  caller: Caller;
  /** Names the session; no cookie can be made of it. */
  id: string;
}

interface SignInParts {
  /** The owner of the token with this hash, 64 hex digits; undefined for one that is unknown, revoked or expired. */
  verifyHash(hash: string): Caller | undefined;
  /** 256 random bits as text. */
  secret(): string;
  clock: Clock;
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
  private readonly links: Kept[] = [];
  private readonly sessions: Kept[] = [];

  constructor(private readonly parts: SignInParts) {}

  /** How many links and sessions are kept. */
  get size(): number {
    for (const kept of this.links.filter((each) => this.isOver(each, LINK_MS))) remove(this.links, kept);
    for (const kept of this.sessions.filter((each) => this.isOver(each, SESSION_MS))) remove(this.sessions, kept);
    return this.links.length + this.sessions.length;
  }

  /**
   * A link for whoever holds the caller's token; the caller without one is the process itself. `base`: what the paths of the pages begin
   * with.
   */
  link(caller: Caller, base = ''): SignInLink {
    const { clock, secret, publicUrl, address } = this.parts;
    const code = secret();
    this.keep(this.links, code, caller, LINKS_MAX, LINK_MS);
    const url = `${publicUrl ?? reachable(address())}${base}/sign-in?code=${code}`;
    return { code, url, expiresAtMs: clock.nowMs() + LINK_MS };
  }

  /** Who would be signed in: does not use the link up. */
  peek(code: string): Caller | undefined {
    return this.find(this.links, code, LINK_MS)?.caller;
  }

  /** Undefined for a code that is unknown, used, expired, or of a token that is not good any more. */
  withCode(code: string): SignedIn | undefined {
    const link = this.find(this.links, code, LINK_MS);
    if (!link) return undefined;
    remove(this.links, link);
    return this.begin(link.caller);
  }

  withToken(token: string): SignedIn | undefined {
    const ofAll = this.parts.outer?.withToken(token);
    if (ofAll) return ofAll;
    const hash = hashOfToken(token);
    const caller = this.parts.verifyHash(hash);
    return caller && this.begin({ ...caller, token: hash });
  }

  /** The caller of a session that is open, which this counts as a use of. */
  callerOf(cookieHeader: string | undefined): Session | undefined {
    const values = cookiesIn(cookieHeader, this.cookieName());
    const open = values.flatMap((value) => this.find(this.sessions, value, SESSION_MS) ?? []);
    const [session] = open;
    if (open.length === 0) return this.parts.outer?.callerOf(cookieHeader);
    if (!session || open.length > 1) return undefined;
    session.used = this.now();
    return { caller: session.caller, id: session.hash.toString('hex') };
  }

  /** For an answer that lasts: whether its session is still open. Not a use of it. */
  isOpen(id: string): boolean {
    const session = this.sessions.find(({ hash }) => hash.toString('hex') === id);
    if (session) return this.isGood(session, SESSION_MS);
    return this.parts.outer?.isOpen(id) ?? false;
  }

  end(id: string): void {
    const session = this.sessions.find(({ hash }) => hash.toString('hex') === id);
    if (session) remove(this.sessions, session);
    else this.parts.outer?.end(id);
  }

  signOut(cookieHeader: string | undefined): string[] {
    const session = this.callerOf(cookieHeader);
    if (session) this.end(session.id);
    const outer = this.parts.outer?.signOut(cookieHeader) ?? [];
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

  private begin(caller: Caller): SignedIn {
    const value = this.parts.secret();
    this.keep(this.sessions, value, caller, SESSIONS_MAX, SESSION_MS);
    return { caller, value, name: this.cookieName() };
  }

  private keep(kept: Kept[], secret: string, caller: Caller, most: number, withinMs: number): void {
    for (const old of kept.filter((each) => this.isOver(each, withinMs))) remove(kept, old);
    kept.push({ hash: tokenHash(secret), caller, made: this.now(), used: this.now() });
    if (kept.length > most) remove(kept, oldestOfMost(kept));
  }

  /** Compares with all in every case, so that the duration reveals nothing. */
  private find(kept: Kept[], secret: string, withinMs: number): Kept | undefined {
    const hash = tokenHash(secret);
    let found: Kept | undefined;
    for (const each of kept) if (timingSafeEqual(each.hash, hash)) found = each;
    if (!found || this.isGood(found, withinMs)) return found;
    remove(kept, found);
    return undefined;
  }

  private isGood(kept: Kept, withinMs: number): boolean {
    if (this.isOver(kept, withinMs)) return false;
    const { token } = kept.caller;
    return token === undefined || this.parts.verifyHash(token) !== undefined;
  }

  private isOver({ made, used }: Kept, withinMs: number): boolean {
    return this.sinceMs(made) >= withinMs || this.sinceMs(used) >= IDLE_MS;
  }

  private now(): Reading {
    const { clock } = this.parts;
    return { wallMs: clock.nowMs(), steadyMs: clock.monotonicMs() };
  }

  /** By the clock that shows more: one can be set back, and the other stands still while the machine sleeps. */
  private sinceMs({ wallMs, steadyMs }: Reading): number {
    const now = this.now();
    return Math.max(now.wallMs - wallMs, now.steadyMs - steadyMs);
  }
}

interface Reading {
  wallMs: number;
  steadyMs: number;
}

interface Kept {
  hash: Buffer;
  caller: Caller;
  made: Reading;
  used: Reading;
}

function remove(kept: Kept[], one: Kept): void {
  kept.splice(kept.indexOf(one), 1);
}

/** Whoever makes many links or sessions loses their own, not those of others. */
function oldestOfMost(kept: readonly Kept[]): Kept {
  const counts = new Map<string | undefined, number>();
  for (const { caller } of kept) counts.set(caller.token, (counts.get(caller.token) ?? 0) + 1);
  const most = Math.max(...counts.values());
  return kept.find(({ caller }) => counts.get(caller.token) === most) as Kept;
}

/**
 * All of this name: what listens on another port of the host can plant one that a browser sends first. It is then not clear whose
 * session is meant if two are open, and one that opens none must not sign anybody out.
 */
function cookiesIn(cookieHeader: string | undefined, name: string): string[] {
  const pairs = (cookieHeader ?? '').split(';').map((pair) => pair.trim());
  const values = pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1));
  return [...new Set(values)].slice(0, COOKIES_MAX);
}

/** An address that listens everywhere is none that a browser can open. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}
