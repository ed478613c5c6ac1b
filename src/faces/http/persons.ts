// http: sessions of persons for whom the identity provider vouches: begun there, asked about again before what they write, ended there. In: a browser's
// cookies, and what the provider says. Out: a caller with the scope that their groups have now. INVARIANT: what the provider gave to ask again with is
// kept sealed with the session's cookie alone, so nothing that is stored opens it.
import { NONCE_BYTES, openSealed, sealingKey, sealText } from '../../base/sealed-text.ts';
import { actorText } from '../../domain/actor.ts';
import type { AuditNote } from '../../domain/audit-entry.ts';
import {
  type Caller,
  hashOfToken,
  holderOf,
  type KeptSignIn,
  LASTS_MS,
  type PersonSession,
  type SignInStore,
} from '../../domain/endpoint-token.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import { Problem, tooOften } from './problem.ts';
import {
  type Begun,
  type DeviceGrant,
  inNoGroup,
  type Provider,
  type ProviderTokens,
  type Vouched,
} from './provider.ts';

export const TO_PROVIDER_PATH = '/sign-in/provider';
export const FROM_PROVIDER_PATH = '/sign-in/back';

/** What a request is for. `stop` is done as long as nobody who can be asked says no: nothing is called while it holds. */
export type Wants = 'read' | 'write' | 'stop';

/** Before what a person writes, their groups are asked for when they were last asked for longer ago than this. */
const ASKED_EVERY_MS = 60_000;
/** One endpoint asks about a session at a time: what it is asked again with may be good once. */
const TURN_MS = 15_000;
const LOOK_EVERY_MS = 100;
/** As `secret` of the parts makes them. Nothing else is looked for. */
export const SECRET = /^[\w-]{43}$/;
const NOBODY: Caller = { name: '', scope: 'read' };

// A command on another machine signs in without a browser. INVARIANT: what it has then is of another form than a cookie, and its hash is made of all
// of it: neither opens anything in the place of the other.
const LOGIN = 'login-';
const LOGIN_SECRET = /^login-[\w-]{43}$/;
const LOGIN_CODE = /^([\w-]{43})\.([\x21-\x7e]{1,2000})$/;
/** Many of them push out nobody's beginning in a browser. */
const LOGINS: Caller = { ...NOBODY, token: hashOfToken('sign-ins of commands') };
/** That were begun at this endpoint and wait for a person: of one network, and of all. Others are refused, and push out none. */
const LOGINS_MAX = { network: 50, all: 500 };
/** A request may take a while, and the next one not. */
const EARLY_MS = 500;
const SLOWER_S = 5;

/** Whether a bearer token is a session that `trustward login` made. */
export function isLogin(bearer: string | undefined): bearer is string {
  return bearer !== undefined && LOGIN_SECRET.test(bearer);
}

interface WaitingLogin {
  network: string;
  untilMs: number;
  intervalS: number;
  nextMs: number;
}

interface PersonsParts {
  provider: Provider;
  store: SignInStore;
  /** 256 random bits as text. */
  secret(): string;
  clock: Clock;
  log: Log;
  /** Of all pages, as the provider knows this Trustward, without a slash at its end. */
  base(): string;
}

/** A session that is open. */
export interface PersonCaller {
  caller: Caller;
  person: PersonSession;
}

export class Persons {
  /** By a hash of what its command has. */
  private readonly logins = new Map<string, WaitingLogin>();

  constructor(private readonly parts: PersonsParts) {}

  /** Of the provider, for people. */
  get host(): string {
    return this.parts.provider.host;
  }

  /** Whole, since the provider leads back to one address, and only there the browser has the cookie of the beginning. */
  beginAt(to: string): string {
    return `${this.parts.base()}${TO_PROVIDER_PATH}?to=${encodeURIComponent(to)}`;
  }

  /** In: where to lead the person then. Out: the provider's page, and the value of the cookie that binds this browser to it. Errors: Problem 503. */
  async begin(to: string): Promise<{ url: string; value: string }> {
    const { provider, store, secret } = this.parts;
    const value = secret();
    const url = await provider.addressFor(this.begunWith(value));
    await store.add('begun', hashOfToken(value), NOBODY);
    return { url, value: `${value}.${Buffer.from(to).toString('base64url')}` };
  }

  /** `value`: of that cookie; `query`: what the provider sent. Errors: Problem 401, 403, 503. */
  async back(value: string, query: string): Promise<{ caller: Caller; value: string; to: string }> {
    const { provider, store, secret } = this.parts;
    const [own = '', to = ''] = value.split('.');
    const begun = this.begunWith(own);
    // What another page made up must not use up a beginning: so its state first.
    const isOurs = SECRET.test(own) && new URLSearchParams(query).get('state') === begun.state;
    if (!isOurs || !(await store.remove('begun', hashOfToken(own)))) throw notBegun();
    const cookie = secret();
    const caller = await this.opened(await provider.signedIn(query, begun), cookie);
    return { caller, value: cookie, to: Buffer.from(to, 'base64url').toString() };
  }

  /** Of a command. Out: what its person enters where, and what it asks with whether they did. Errors: Problem 404, 429, 503. */
  async beginLogin(network: string): Promise<DeviceGrant> {
    const { provider, store, secret, clock } = this.parts;
    const waiting = this.demandPlace(network);
    const own = secret();
    this.logins.set(own, waiting); // before the provider is asked: many at once have one bound
    try {
      const grant = await provider.beginDevice();
      const code = `${own}.${grant.code}`;
      await store.add('begun', loginHash(code), LOGINS);
      const expiresInS = Math.min(grant.expiresInS, LASTS_MS.begun / 1_000);
      const nowMs = clock.monotonicMs();
      const { intervalS } = grant;
      const untilMs = nowMs + expiresInS * 1_000;
      this.logins.set(loginHash(code), { ...waiting, untilMs, intervalS, nextMs: nowMs });
      return { ...grant, code, expiresInS };
    } finally {
      this.logins.delete(own);
    }
  }

  /** `code`: what `beginLogin` gave. An interval: nobody has said yes or no. Errors: Problem 401, 403, 429, 503. */
  async polledLogin(code: string): Promise<{ caller: Caller; session: string } | { intervalS: number }> {
    const { provider, store, secret } = this.parts;
    const [, , given] = LOGIN_CODE.exec(code) ?? [];
    const hash = loginHash(code);
    const [begun] = given === undefined ? [] : await store.find('begun', [hash]);
    if (given === undefined || !begun) throw noSuchLogin();
    const waiting = this.demandPace(hash);
    let vouched: Awaited<ReturnType<Provider['polledDevice']>>;
    try {
      vouched = await provider.polledDevice(given);
    } catch (error) {
      if (error instanceof Problem && error.status < 500) await this.forgetLogin(hash);
      throw error;
    }
    if (vouched === 'slower') waiting.intervalS += SLOWER_S;
    if (typeof vouched === 'string') return { intervalS: waiting.intervalS };
    if (!(await this.forgetLogin(hash))) throw noSuchLogin();
    const session = `${LOGIN}${secret()}`;
    return { caller: await this.opened(vouched, session), session };
  }

  /** Whether it was there. */
  async endLogin(session: string): Promise<boolean> {
    return isLogin(session) && this.parts.store.remove('session', hashOfToken(session));
  }

  private forgetLogin(hash: string): Promise<boolean> {
    this.logins.delete(hash);
    return this.parts.store.remove('begun', hash);
  }

  /** Errors: Problem 429. */
  private demandPlace(network: string): WaitingLogin {
    const nowMs = this.parts.clock.monotonicMs();
    for (const [key, { untilMs }] of this.logins) if (untilMs <= nowMs) this.logins.delete(key);
    const ofNetwork = [...this.logins.values()].filter((one) => one.network === network).length;
    if (ofNetwork < LOGINS_MAX.network && this.logins.size < LOGINS_MAX.all)
      return { network, untilMs: nowMs + LASTS_MS.begun, intervalS: 0, nextMs: nowMs };
    throw tooOften('too many sign-ins of commands wait for a person', 30_000);
  }

  /** Another endpoint may have begun it. Errors: Problem 429. */
  private demandPace(hash: string): WaitingLogin {
    const nowMs = this.parts.clock.monotonicMs();
    const begunElsewhere = { network: '', untilMs: nowMs + LASTS_MS.begun, intervalS: SLOWER_S, nextMs: nowMs };
    const waiting = this.logins.get(hash) ?? begunElsewhere;
    if (nowMs < waiting.nextMs - EARLY_MS)
      throw tooOften(`a command may ask every ${waiting.intervalS} s`, waiting.nextMs - nowMs);
    waiting.nextMs = nowMs + waiting.intervalS * 1_000;
    this.logins.set(hash, waiting);
    return waiting;
  }

  private async opened(vouched: Vouched, secret: string): Promise<Caller> {
    const caller = { name: vouched.name, scope: 'read', token: holderOf(vouched) } as const;
    const { issuer, sub } = vouched;
    const person = { ...{ issuer, sub, seen: [], begunAt: this.parts.clock.nowMs() }, ...this.heldBy(vouched, secret) };
    await this.parts.store.add('session', hashOfToken(secret), caller, person);
    return caller;
  }

  /** `cookie`: the value that opens the session. Undefined: it opens nothing there. Errors: Problem 403, 503. */
  async callerOf(
    { hash, caller: { name } }: KeptSignIn,
    kept: PersonSession,
    { cookie, organization, wants }: { cookie: string; organization: string | undefined; wants: Wants },
  ): Promise<PersonCaller | undefined> {
    const { provider, store } = this.parts;
    const person = this.isToBeAsked(kept, wants) ? await this.now(hash, { ...kept, name }, cookie, wants) : kept;
    if (!person) return undefined;
    const refusal = () => inNoGroup(actorText(name), provider.host);
    if (!provider.isKnown(person.groups)) {
      await store.remove('session', hash);
      throw refusal();
    }
    const scope = provider.scopeOf(person.groups, organization);
    if (scope) return { caller: { name, scope, groups: person.groups }, person };
    if (wants === 'read') return undefined;
    throw refusal();
  }

  isGood(person: PersonSession): boolean {
    return this.parts.provider.vouchedFor(person);
  }

  /** For an answer that lasts: whether the session opens it still, without asking anybody. */
  isOpen({ groups, endsAt }: PersonSession, organization: string | undefined): boolean {
    const { provider, clock } = this.parts;
    return clock.nowMs() < endsAt && provider.scopeOf(groups, organization) !== undefined;
  }

  /** What the session may see, whether or not it is there. */
  opens({ groups }: PersonSession, organization: string): boolean {
    return this.parts.provider.scopeOf(groups, organization) !== undefined;
  }

  /** The audit of an organization has each session that reached it, before the first answer. */
  async noteSeen(
    hash: string,
    { caller: { name, scope }, person }: PersonCaller,
    organization: string,
    append: (notes: AuditNote[]) => Promise<unknown>,
  ): Promise<void> {
    const { issuer, sub, seen } = person;
    if (seen.includes(organization) || !(await this.parts.store.see(hash, organization))) return;
    const groups = person.groups.filter((group) => this.parts.provider.isKnown([group]));
    try {
      await append([{ kind: 'session.began', body: { by: name, issuer, sub, scope, groups } }]);
    } catch (error) {
      await this.parts.store.remove('session', hash); // no session without its entry
      throw error;
    }
  }

  /** Ends what ended at the provider. Errors: Problem 400 for what does not say so, or has said so before; 503. */
  async end(token: string): Promise<void> {
    const { provider, store, log } = this.parts;
    const ended = await provider.endedBy(token);
    const id = hashOfToken(`${ended.issuer} ${ended.jti}`);
    if (!(await store.add('ended', id, NOBODY)))
      throw new Problem(400, 'no-logout-token', 'Nothing was ended', 'the token was used before');
    try {
      const count = await store.endOfPerson(ended);
      log.info({ count }, `${count} sessions ended at the identity provider`);
    } catch (error) {
      await store.remove('ended', id); // it may come again
      throw error;
    }
  }

  private begunWith(value: string): Begun {
    const [state, nonce, verifier] = ['state', 'nonce', 'verifier'].map((what) => hashOfToken(`${what} ${value}`));
    const redirectUri = `${this.parts.base()}${FROM_PROVIDER_PATH}`;
    return { redirectUri, state: state as string, nonce: nonce as string, verifier: verifier as string };
  }

  private isToBeAsked({ endsAt, askedAt }: PersonSession, wants: Wants): boolean {
    const nowMs = this.parts.clock.nowMs();
    const ageMs = nowMs - askedAt;
    const isRecent = ageMs >= 0 && ageMs < ASKED_EVERY_MS; // not by a clock that was set back
    return nowMs >= endsAt || (wants !== 'read' && !isRecent);
  }

  /** Undefined: it is over. Errors: Problem 503 for a write, when the provider cannot be asked. */
  private async now(hash: string, person: PersonSession & { name: string }, cookie: string, wants: Wants) {
    try {
      return await this.askedInTurn(hash, person, cookie);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (wants !== 'write') return person;
      throw new Problem(error.status, error.slug, error.title, `nothing was done, since ${error.problemDetail}`);
    }
  }

  private async askedInTurn(hash: string, person: PersonSession & { name: string }, cookie: string) {
    const { store, clock } = this.parts;
    for (let waitedMs = 0; waitedMs <= TURN_MS; waitedMs += LOOK_EVERY_MS) {
      const nowMs = clock.nowMs();
      if (await store.takeTurn(hash, nowMs, nowMs + TURN_MS)) return this.asked(hash, cookie, person.name);
      await clock.sleep(LOOK_EVERY_MS);
      const [kept] = await store.find('session', [hash]);
      if (!kept?.person) return undefined;
      if (kept.person.askedAt !== person.askedAt) return kept.person;
    }
    const detail =
      'the identity provider is being asked about this session and has not answered: try again in a moment';
    throw new Problem(503, 'provider-silent', 'The identity provider cannot be asked', detail);
  }

  private async asked(hash: string, cookie: string, name: string): Promise<PersonSession | undefined> {
    const { provider, store, clock } = this.parts;
    // What another one was given a moment ago counts, and not what this request found.
    const [kept] = await store.find('session', [hash]);
    if (!kept?.person) return undefined;
    const { person } = kept;
    try {
      // Undefined: it was changed, or is of another cookie.
      const opened = openSealed(keyOf(cookie), person.sealed);
      const tokens = opened === undefined ? undefined : (JSON.parse(opened) as ProviderTokens);
      const isOver = tokens?.refresh === undefined && clock.nowMs() >= person.endsAt;
      const vouched = tokens && !isOver ? await provider.again({ ...person, name }, tokens) : undefined;
      if (vouched) {
        const changes = this.heldBy(vouched, cookie);
        await store.keep(hash, changes);
        return { ...person, ...changes };
      }
      await store.remove('session', hash);
      return undefined;
    } catch (error) {
      await store.keep(hash, { askingUntil: 0 });
      throw error;
    }
  }

  private heldBy({ sid, groups, endsAt, tokens }: Vouched, cookie: string) {
    const nonce = Buffer.from(this.parts.secret(), 'base64url').subarray(0, NONCE_BYTES);
    const askedAt = this.parts.clock.nowMs();
    return {
      sid,
      groups,
      endsAt,
      askedAt,
      askingUntil: 0,
      sealed: sealText(keyOf(cookie), JSON.stringify(tokens), nonce),
    };
  }
}

function loginHash(code: string): string {
  return hashOfToken(`login ${code}`);
}

function noSuchLogin(): Problem {
  const detail = 'this sign-in of a command is unknown, was used already, or is older than ten minutes: begin again';
  return new Problem(401, 'not-begun', 'You are not signed in', detail);
}

function notBegun(): Problem {
  const detail =
    'this sign-in was not begun in this browser, was used already, or is older than ten minutes: begin again';
  return new Problem(401, 'not-begun', 'You are not signed in', detail);
}

/** Only the browser's cookie makes it. */
function keyOf(cookie: string): Uint8Array {
  return sealingKey(cookie, '', 'trustward tokens of a provider, 1');
}
