// http: signing in to the page: one-time links and sessions. In: the caller that a link or a token stands for, and cookies. Out: a session's
// caller, while the token that it came from is good. It hands on no code, cookie or token to be kept: their hashes.
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { linkSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { AuditNote } from '../../domain/audit-entry.ts';
import {
  type Caller,
  type EndedSession,
  type EndpointToken,
  hashOfToken,
  IDLE_MS,
  isEnded,
  isGood,
  KEPT_MAX,
  type KeptSignIn,
  LASTS_MS,
  type PersonSession,
  SCOPES,
  type Scope,
  type SignInKind,
  type SignInStore,
  type TokenStore,
  USE_EVERY_MS,
} from '../../domain/endpoint-token.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import { isLogin, Persons, SECRET, type Wants } from './persons.ts';
import { Problem } from './problem.ts';
import { Provider, type ProviderSettings } from './provider.ts';

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
/** A text as `secret` makes them, with where to go then. */
const BEGUN = /^[\w-]{43}\.[\w-]{0,2800}$/;
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
  /** Undefined: there is no identity provider. */
  persons: Persons | undefined;
  /** Whoever comes back from the provider, with the query that it sent, and the values of Set-Cookie. Errors: Problem. */
  fromProvider(cookieHeader: string | undefined, query: string): Promise<FromProvider>;
  /** The provider's page, and the value of Set-Cookie that binds this browser to it. Errors: Problem. */
  toProvider(to: string): Promise<{ url: string; cookie: string }>;
  /** Ends what the cookies open. Out: the values of Set-Cookie that take them back. */
  signOut(cookieHeader: string | undefined): Promise<string[]>;
}

interface FromProvider {
  caller: Caller;
  /** Where the person wanted to go. */
  to: string;
  cookies: string[];
}

interface Session {
  caller: Caller;
  /** Names the session; no cookie can be made of it. */
  id: string;
  /** Of a person for whom the identity provider vouches. */
  person?: PersonSession | undefined;
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
  /** The sessions of tokens of all organizations, and of persons: they count here as well. */
  outer?: SignIn;
  /** Undefined: no identity provider is configured, or the outer one has them. */
  persons?: Persons | undefined;
  /** Of the organization: its audit. */
  append?: (notes: AuditNote[]) => Promise<unknown>;
  /** False: there are no links (TRUSTWARD_LINKS=off). */
  hasLinks?: boolean;
}

export class SignIn implements SigningIn {
  constructor(private readonly parts: SignInParts) {}

  get persons(): Persons | undefined {
    return this.parts.persons ?? this.parts.outer?.persons;
  }

  get hasLinks(): boolean {
    return this.parts.hasLinks ?? true;
  }

  /** A link for whoever holds the caller's token. `base`: what the paths of the pages begin with. Errors: AppError `store_failed`; Problem 403. */
  async link(caller: Caller, base = ''): Promise<SignInLink> {
    const { store, clock, secret, publicUrl, address } = this.parts;
    if (!this.hasLinks) throw noLinks();
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

  async toProvider(to: string): Promise<{ url: string; cookie: string }> {
    if (this.parts.outer) return this.parts.outer.toProvider(to);
    const { url, value } = await this.demandPersons().begin(to);
    return { url, cookie: this.setCookie(this.begunName(), value, `; Max-Age=${LASTS_MS.begun / 1_000}`, 'Lax') };
  }

  async fromProvider(cookieHeader: string | undefined, query: string): Promise<FromProvider> {
    if (this.parts.outer) return this.parts.outer.fromProvider(cookieHeader, query);
    const [begun = ''] = cookiesIn(cookieHeader, this.begunName(), BEGUN);
    const { caller, value, to } = await this.demandPersons().back(begun, query);
    const cookies = [this.cookie({ caller, value, name: this.cookieName() })];
    return { caller, to, cookies: [...cookies, this.setCookie(this.begunName(), '', '; Max-Age=0', 'Lax')] };
  }

  async withToken(token: string): Promise<SignedIn | undefined> {
    const ofAll = await this.parts.outer?.withToken(token);
    if (ofAll) return ofAll;
    const hash = hashOfToken(token);
    const caller = this.parts.verifyHash(hash);
    return caller && this.begin({ ...caller, token: hash });
  }

  /**
   * The caller of a session that is open, which this counts as a use of. Of a person, what the request is for says whether the provider is asked about
   * them before. Errors: also Problem 403, 503 about a person.
   */
  async callerOf(cookieHeader: string | undefined, wants: Wants = 'read'): Promise<Session | undefined> {
    return this.seen(await this.openedBy(cookieHeader, this.parts.organization, wants));
  }

  /** The same of a session that `trustward login` made: a bearer token, which is no cookie. */
  async callerOfLogin(bearer: string | undefined, wants: Wants): Promise<Session | undefined> {
    const { organization } = this.parts;
    return isLogin(bearer) ? this.seen(await this.openedByLogin(bearer, organization, wants)) : undefined;
  }

  /** What a person may see, by their groups; undefined for anybody else. `bearer`: instead of cookies. */
  async seenBy(
    cookieHeader: string | undefined,
    bearer?: string | undefined,
  ): Promise<((organization: string) => boolean) | undefined> {
    const found = isLogin(bearer) ? await this.loginOf(bearer) : await this.sessionsOf(cookieHeader);
    const [session, ...others] = found.filter((each) => this.isGood(each));
    const [person, persons] = [session?.person, this.persons];
    return person && persons && others.length === 0 ? (id) => persons.opens(person, id) : undefined;
  }

  /** The audit of the organization has a person's session before its first answer. */
  private async seen(session: Session | undefined): Promise<Session | undefined> {
    const { organization, append } = this.parts;
    if (!session?.person || !append) return session;
    const { caller, person, id } = session;
    await this.persons?.noteSeen(id, { caller, person }, organization ?? '', append);
    return session;
  }

  private async openedByLogin(
    bearer: string,
    organization: string | undefined,
    wants: Wants,
  ): Promise<Session | undefined> {
    if (this.parts.outer) return this.parts.outer.openedByLogin(bearer, organization, wants);
    const [session] = (await this.loginOf(bearer)).filter((each) => each.person && this.isGood(each));
    return session && this.opened(session, bearer, organization, wants);
  }

  private loginOf(bearer: string): Promise<KeptSignIn[]> {
    return this.parts.store.find('session', [hashOfToken(bearer)]);
  }

  private async openedBy(
    cookieHeader: string | undefined,
    organization: string | undefined,
    wants: Wants,
  ): Promise<Session | undefined> {
    const open = (await this.sessionsOf(cookieHeader)).filter((each) => this.isGood(each));
    const [session] = open;
    if (open.length === 0) return this.parts.outer?.openedBy(cookieHeader, organization, wants);
    if (!session || open.length > 1) return undefined;
    const isOfSession = (value: string) => hashOfToken(value) === session.hash;
    const cookie = cookiesIn(cookieHeader, this.cookieName()).find(isOfSession) ?? '';
    return this.opened(session, cookie, organization, wants);
  }

  /** `cookie`: the secret of the session. */
  private async opened(
    session: KeptSignIn,
    cookie: string,
    organization: string | undefined,
    wants: Wants,
  ): Promise<Session | undefined> {
    const { hash, caller, person, unusedMs } = session;
    const opened = person
      ? await this.persons?.callerOf(session, person, { cookie, organization, wants })
      : { caller, person };
    // The session is open whether or not its use can be recorded; the health of the store has the reason.
    if (opened && unusedMs >= USE_EVERY_MS) await this.parts.store.noteUse(hash).catch(() => {});
    return opened && { ...opened, id: hash };
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
  async isOpen(id: string, organization = this.parts.organization): Promise<boolean> {
    const [session] = await this.parts.store.find('session', [id]);
    if (session && !this.isGood(session)) return false;
    if (session) return !session.person || (this.persons?.isOpen(session.person, organization) ?? false);
    return (await this.parts.outer?.isOpen(id, organization)) ?? false;
  }

  /** Whether the person of this session signed in at the provider a moment ago. */
  async isRecent(id: string): Promise<boolean> {
    const [session] = await this.parts.store.find('session', [id]);
    if (!session) return (await this.parts.outer?.isRecent(id)) ?? false;
    const ageMs = this.parts.clock.nowMs() - (session.person?.begunAt ?? 0);
    return ageMs >= 0 && ageMs < LASTS_MS.touch;
  }

  /** What a passkey is asked to sign in this session. */
  async nonceFor(session: string): Promise<string> {
    const nonce = this.parts.secret();
    // Bounded for each session: whoever asks often loses their own.
    const token = hashOfToken(`touch ${session}`);
    await this.parts.store.add('touch', hashOfToken(`${session} ${nonce}`), { name: '', scope: 'read', token });
    return nonce;
  }

  /** Whether it is one of this session: once, and not for long. */
  takeNonce(session: string, nonce: string): Promise<boolean> {
    return this.parts.store.remove('touch', hashOfToken(`${session} ${nonce}`));
  }

  async signOut(cookieHeader: string | undefined): Promise<string[]> {
    const [session, ...others] = await this.sessionsOf(cookieHeader);
    if (session && others.length === 0) await this.parts.store.remove('session', session.hash);
    const outer = (await this.parts.outer?.signOut(cookieHeader)) ?? [];
    return [this.setCookie(this.cookieName(), '', '; Max-Age=0'), ...outer];
  }

  /** The value of Set-Cookie. It ends with the browser at the latest. */
  cookie({ name, value }: SignedIn): string {
    return this.setCookie(name, value, '');
  }

  private setCookie(name: string, value: string, more: string, site: 'Strict' | 'Lax' = 'Strict'): string {
    const secure = this.parts.publicUrl?.startsWith('https:') ? '; Secure' : '';
    return `${name}=${value}; Path=/; HttpOnly; SameSite=${site}${secure}${more}`;
  }

  /** Of no organization: an id of one stands behind the port. */
  private begunName(): string {
    return `trustward-begun-${new URL(this.parts.address()).port || '80'}`;
  }

  private demandPersons(): Persons {
    if (this.persons) return this.persons;
    throw new Problem(404, 'not-found', 'Not found', 'no identity provider is configured here (TRUSTWARD_OIDC_ISSUER)');
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
    return this.hasLinks && SECRET.test(code) ? this.parts.store.find('link', [hashOfToken(code)]) : [];
  }

  private async sessionsOf(cookieHeader: string | undefined): Promise<KeptSignIn[]> {
    const values = cookiesIn(cookieHeader, this.cookieName());
    return values.length === 0 ? [] : this.parts.store.find('session', values.map(hashOfToken));
  }

  private isGood({ caller: { token }, person }: KeptSignIn): boolean {
    if (person) return this.persons?.isGood(person) ?? false;
    return token === undefined || this.parts.verifyHash(token) !== undefined;
  }
}

/**
 * All of this name: what listens on another port of the host can plant one that a browser sends first. It is then not clear whose
 * session is meant if two are open, and one that opens none must not sign anybody out.
 */
function cookiesIn(cookieHeader: string | undefined, name: string, form = SECRET): string[] {
  const pairs = (cookieHeader ?? '').split(';').map((pair) => pair.trim());
  const values = pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1));
  return [...new Set(values)].filter((value) => form.test(value)).slice(0, COOKIES_MAX);
}

function noLinks(): Problem {
  const detail =
    'one-time links are switched off (TRUSTWARD_LINKS=off): sign in at the identity provider, or with a token';
  return new Problem(403, 'no-links', 'There are no links', detail);
}

interface PersonsOf extends Pick<SignInParts, 'store' | 'secret' | 'address' | 'publicUrl'> {
  provider: ProviderSettings | undefined;
  /** Groups that the rules in force name. */
  named?: () => Iterable<string>;
  clock: Clock;
  log: Log;
}

/** Undefined: there is no provider. */
export function personsOf({ provider, address, publicUrl, ...parts }: PersonsOf): Persons | undefined {
  const base = () => publicUrl ?? reachable(address());
  return provider && new Persons({ ...parts, provider: new Provider({ ...parts, settings: provider }), base });
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
  person: PersonSession | undefined;
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

  async add(kind: SignInKind, hash: string, caller: Caller, person?: PersonSession): Promise<boolean> {
    if (this.kept.has(hash) && !isOver(this.kept.get(hash) as Kept, this.now())) return false;
    this.put(kind, hash, caller, person);
    return true;
  }

  async find(kind: SignInKind, hashes: readonly string[]): Promise<KeptSignIn[]> {
    const now = this.now();
    return hashes.flatMap((hash) => {
      const one = this.one(kind, hash, now);
      const { caller, person, used } = one ?? {};
      return caller && used ? [{ hash, caller, person, unusedMs: sinceMs(used, now) }] : [];
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

  async remove(kind: SignInKind, hash: string): Promise<boolean> {
    return this.one(kind, hash, this.now()) !== undefined && this.kept.delete(hash);
  }

  async keep(session: string, changes: Partial<PersonSession>): Promise<void> {
    const one = this.one('session', session, this.now());
    if (one?.person) one.person = { ...one.person, ...changes };
  }

  async see(session: string, organization: string): Promise<boolean> {
    const seen = this.one('session', session, this.now())?.person?.seen;
    if (!seen || seen.includes(organization)) return false;
    await this.keep(session, { seen: [...seen, organization] });
    return true;
  }

  async takeTurn(session: string, nowMs: number, untilMs: number): Promise<boolean> {
    const person = this.one('session', session, this.now())?.person;
    if (!person || person.askingUntil > nowMs) return false;
    await this.keep(session, { askingUntil: untilMs });
    return true;
  }

  async endOfPerson(of: EndedSession): Promise<number> {
    const ended = [...this.kept].filter(([, { person }]) => person && isEnded(person, of));
    for (const [hash] of ended) this.kept.delete(hash);
    return ended.length;
  }

  private put(kind: SignInKind, hash: string, caller: Caller, person?: PersonSession): void {
    const now = this.now();
    const own: string[] = [];
    for (const [key, one] of this.kept) {
      if (isOver(one, now)) this.kept.delete(key);
      else if (one.kind === kind && one.caller.token === caller.token) own.push(key);
    }
    const [oldest] = own;
    if (own.length >= KEPT_MAX[kind] && oldest !== undefined) this.kept.delete(oldest);
    this.kept.set(hash, { kind, caller, person, made: now, used: now });
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
