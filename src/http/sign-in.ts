// http: signing in to the page: one-time links and sessions. In: the caller that a link or a token stands for, and cookies. Out: a session's
// caller, while the token that it came from is good. It hands on no code, cookie or token to be kept: their hashes.
import { hashOfToken } from '../domain/endpoint-token.ts';
import type { Clock } from '../domain/ports.ts';
import { type KeptSignIn, LASTS_MS, type SignInStore, USE_EVERY_MS } from '../domain/sign-in.ts';
import type { Caller } from './tokens.ts';

const COOKIES_MAX = 10;
/** As `secret` makes them. Nothing else is looked for. */
const SECRET = /^[\w-]{43}$/;
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
