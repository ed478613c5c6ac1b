// http: the organization's identity provider (OpenID Connect): where a browser signs in, whom a code names, which groups they are in now, and which
// sessions ended there. In: settings, and what browsers and the provider send. Out: a person who is vouched for, or a Problem. INVARIANT: every text of
// the provider is hostile until its signature, issuer, audience and nonce are checked, and no token is logged or part of an error.
import { asPerson, personOf } from '../../domain/actor.ts';
import {
  type EndedSession,
  type GroupScope,
  type PersonSession,
  SCOPES,
  type Scope,
} from '../../domain/endpoint-token.ts';
import { mailboxFault } from '../../domain/notice.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import { TOKEN_ALGORITHMS } from '../../domain/secrets.ts';
import { Problem } from './problem.ts';

type Library = typeof import('openid-client');
type Configuration = InstanceType<Library['Configuration']>;
type Granted = Awaited<ReturnType<Library['refreshTokenGrant' | 'authorizationCodeGrant']>>;

export interface ProviderSettings {
  /** `https://id.example.com/realms/acme`; `http:` on loopback alone. */
  issuer: string;
  clientId: string;
  secret: string;
  /** What it is asked for, of what it offers: `openid`, and scopes that bring the address and the groups. */
  asks: readonly string[];
  /** The claim that names a person's groups. */
  groupsClaim: string;
  scopes: readonly GroupScope[];
}

/** What the groups are asked for again with: never stored or logged as they are. */
export interface ProviderTokens {
  access: string;
  refresh: string | undefined;
}

export interface Vouched extends Pick<PersonSession, 'issuer' | 'sub' | 'sid' | 'groups' | 'endsAt'> {
  /** As records name them. */
  name: string;
  tokens: ProviderTokens;
}

/** What a command on another machine is let in by, once the person said yes at the provider (RFC 8628). */
export interface DeviceGrant {
  /** The provider's, which this client alone can use. */
  code: string;
  userCode: string;
  verificationUri: string;
  /** The same with the code in it. */
  completeUri: string | undefined;
  expiresInS: number;
  intervalS: number;
}

/** What a sign-in that a browser began is known by. */
export interface Begun {
  redirectUri: string;
  state: string;
  nonce: string;
  verifier: string;
}

const ANSWER_S = 5;
const BYTES_MAX = 1024 * 1024;
/** Clocks of the provider and of this machine may differ so much. */
const TOLERANCE_S = 60;
/** After that the addresses of the provider are read again; while it does not answer, those that are known stay. */
const KNOWN_MS = 60 * 60_000;
/** Before somebody is sent there it must have answered so lately: strangers who ask again and again make no more requests of that. */
const CALLED_MS = 1_000;
/** After it did not answer it is asked nothing for a while, so that nobody waits for it again and again. */
const QUIET_MS = 5_000;
/** Of one person, beside those that the settings or the rules name. */
const GROUPS_MAX = 200;
const GROUP_CHARACTERS_MAX = 200;
const SUB_MAX = 255;
const TOKENS_CHARACTERS_MAX = 32_768;
/** A token that says that a session ended is as old as this at most. Its id is remembered for longer. */
const ENDED_AGE_S = 300;
const ENDED_EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const DEVICE_CODE = /^[\x21-\x7e]{1,2000}$/;
const USER_CODE = /^[\x20-\x7e]{1,64}$/;
/** Of RFC 8628, where the provider names none; more seconds would keep a person waiting. */
const INTERVAL_S = { byDefault: 5, most: 60 };

interface ProviderParts {
  settings: ProviderSettings;
  clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  log: Log;
  /** Groups that the rules in force name. */
  named?: (() => Iterable<string>) | undefined;
}

export class Provider {
  private known: { metadata: ReturnType<Configuration['serverMetadata']>; atMs: number } | undefined;
  private quiet: { error: Problem; untilMs: number } | undefined;
  private keys: ReturnType<typeof import('jose').createRemoteJWKSet> | undefined;

  constructor(private readonly parts: ProviderParts) {}

  /** For people: `id.example.com`. */
  get host(): string {
    return new URL(this.parts.settings.issuer).host;
  }

  /** The most that one of the groups may do there; undefined: nothing. `organization`: undefined means all of them. */
  scopeOf(groups: readonly string[], organization: string | undefined): Scope | undefined {
    const held = this.parts.settings.scopes
      .filter((one) => groups.includes(one.group))
      .filter((one) => one.organization === undefined || one.organization === organization)
      .map(({ scope }) => scope);
    return SCOPES.findLast((scope) => held.includes(scope));
  }

  /** Whether it is the one that vouched: settings may name another one now. */
  vouchedFor({ issuer }: Pick<PersonSession, 'issuer'>): boolean {
    return new URL(issuer).href === new URL(this.parts.settings.issuer).href;
  }

  /** Whether the groups may do anything anywhere. */
  isKnown(groups: readonly string[]): boolean {
    return this.parts.settings.scopes.some(({ group }) => groups.includes(group));
  }

  /** Where the browser is sent. The provider is asked before, so that nobody is sent where nobody answers; not for each of many. Errors: Problem 503. */
  addressFor({ redirectUri, state, nonce, verifier }: Begun): Promise<string> {
    return this.asked(async (oidc, config) => {
      const url = oidc.buildAuthorizationUrl(config, {
        ...{ redirect_uri: redirectUri, scope: this.scopeAsked(config), state, nonce },
        ...{ code_challenge: await oidc.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' },
      });
      return url.href;
    }, CALLED_MS);
  }

  /** `query`: what the browser brought back. Errors: Problem 401, 403 for who may do nothing here, 503. */
  async signedIn(query: string, { redirectUri, state, nonce, verifier }: Begun): Promise<Vouched> {
    const vouched = await this.asked(async (oidc, config) => {
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
      const granted = await oidc.authorizationCodeGrant(config, new URL(`${redirectUri}${query}`), checks);
      const claims = await this.claimsOf(oidc, config, granted, granted.claims()?.sub ?? '');
      return this.vouchedBy(config, granted, claims, undefined);
    });
    return this.demandKnown(vouched);
  }

  /** Begins a sign-in without a browser here. Errors: Problem 404 where the provider has no such grant for this client, 503. */
  beginDevice(): Promise<DeviceGrant> {
    return this.asked(async (oidc, config) => {
      if (config.serverMetadata().device_authorization_endpoint === undefined) throw noDeviceGrant(this.host);
      const grant = await oidc
        .initiateDeviceAuthorization(config, { scope: this.scopeAsked(config) })
        .catch((error) => {
          throw codeOf(error) === 'unauthorized_client' ? noDeviceGrant(this.host) : error;
        });
      const { device_code: code, user_code: userCode, verification_uri_complete: complete } = grant;
      const verificationUri = addressIn(grant.verification_uri);
      if (!DEVICE_CODE.test(code) || !USER_CODE.test(userCode) || verificationUri === undefined)
        throw refused('no-device-code', 'not-believed');
      const intervalS = Math.min(Math.max(grant.interval ?? INTERVAL_S.byDefault, 1), INTERVAL_S.most);
      const completeUri = complete === undefined ? undefined : addressIn(complete);
      return { code, userCode, verificationUri, completeUri, expiresInS: grant.expires_in, intervalS };
    }, CALLED_MS);
  }

  /** `slower`: it is asked too often. Errors: Problem 401, 403 for a no, for a code that is over, and for who may do nothing here; 503. */
  async polledDevice(code: string): Promise<Vouched | 'waiting' | 'slower'> {
    const vouched = await this.asked(async (oidc, config) => {
      try {
        const granted = await oidc.genericGrantRequest(config, DEVICE_GRANT, { device_code: code });
        const sub = granted.claims()?.sub;
        if (sub === undefined) throw refused('no-id-token', 'not-believed');
        return this.vouchedBy(config, granted, await this.claimsOf(oidc, config, granted, sub), undefined);
      } catch (error) {
        const said = isWord(error) ? codeOf(error) : '';
        if (said === 'authorization_pending') return 'waiting';
        if (said === 'slow_down') return 'slower';
        if (said === 'access_denied' || said === 'expired_token') throw notLetIn(said, this.host);
        throw error;
      }
    });
    return typeof vouched === 'string' ? vouched : this.demandKnown(vouched);
  }

  /** The same person now; undefined: the provider vouches for them no longer. Errors: Problem 401, 503 when it cannot be asked or believed. */
  async again(person: PersonSession & { name: string }, tokens: ProviderTokens): Promise<Vouched | undefined> {
    try {
      return await this.asked(async (oidc, config) => {
        const { access, refresh } = tokens;
        const granted = refresh === undefined ? undefined : await oidc.refreshTokenGrant(config, refresh);
        const sub = granted?.claims()?.sub ?? person.sub;
        if (sub !== person.sub) throw refused('another-person');
        const claims = granted
          ? await this.claimsOf(oidc, config, granted, sub)
          : { ...(await oidc.fetchUserInfo(config, access, sub)) };
        if (!(this.parts.settings.groupsClaim in claims)) return undefined;
        return this.vouchedBy(config, granted, claims, { ...person, tokens });
      });
    } catch (error) {
      if (error instanceof Problem && error.slug === 'not-vouched-for') return undefined;
      throw error;
    }
  }

  /** Errors: Problem 400 for what is no such token, or not for us; 503. Whether it came before is not known here. */
  async endedBy(token: string): Promise<EndedSession & { jti: string }> {
    const jose = await import('jose');
    const { metadata } = await this.asked(async (_, config) => ({ metadata: config.serverMetadata() }));
    this.keys ??= jose.createRemoteJWKSet(new URL(metadata.jwks_uri ?? ''), {
      ...{ cooldownDuration: QUIET_MS, timeoutDuration: ANSWER_S * 1_000, [jose.customFetch]: bounded },
    });
    try {
      const { payload } = await jose.jwtVerify(token, this.keys, {
        ...{ issuer: metadata.issuer, audience: this.parts.settings.clientId, algorithms: TOKEN_ALGORITHMS },
        ...{ clockTolerance: TOLERANCE_S, maxTokenAge: ENDED_AGE_S, requiredClaims: ['jti', 'events'] },
        currentDate: new Date(this.parts.clock.nowMs()),
      });
      const { jti, sub, sid, events, nonce } = payload;
      const event = (events as Record<string, unknown> | null)?.[ENDED_EVENT];
      const isOne = typeof event === 'object' && event !== null && nonce === undefined && typeof jti === 'string';
      const named = [sub, sid].filter((one) => one !== undefined);
      if (!isOne || named.length === 0 || named.some((one) => typeof one !== 'string'))
        throw refused('no-logout-token');
      return { issuer: metadata.issuer, sub, sid: sid as string | undefined, jti };
    } catch (error) {
      this.parts.log.warn({ code: codeOf(error) }, 'a token that ends sessions was refused');
      const detail = 'the token is not one of the identity provider that ends a session here';
      throw new Problem(400, 'no-logout-token', 'Nothing was ended', detail);
    }
  }

  private demandKnown(vouched: Vouched): Vouched {
    if (!this.isKnown(vouched.groups)) throw inNoGroup(personOf(vouched.name)?.email ?? '', this.host);
    return vouched;
  }

  private scopeAsked(config: Configuration): string {
    const offered = config.serverMetadata().scopes_supported;
    return this.parts.settings.asks.filter((one) => one === 'openid' || (offered?.includes(one) ?? true)).join(' ');
  }

  /** Of its signed token, and what that lacks of its answer about the person. */
  private async claimsOf(oidc: Library, config: Configuration, granted: Granted, sub: string) {
    const claims = { ...granted.claims() };
    const isWhole = this.parts.settings.groupsClaim in claims && 'email' in claims && 'email_verified' in claims;
    if (isWhole || !config.serverMetadata().userinfo_endpoint) return claims;
    return { ...(await oidc.fetchUserInfo(config, granted.access_token, sub)), ...claims };
  }

  /** `before`: of a person who is signed in, whose address was verified then. */
  private vouchedBy(
    config: Configuration,
    granted: Granted | undefined,
    claims: { readonly [name: string]: unknown },
    before: (PersonSession & { name: string; tokens: ProviderTokens }) | undefined,
  ): Vouched {
    const { issuer } = config.serverMetadata();
    const groups = this.keptOf(claims[this.parts.settings.groupsClaim]);
    const tokens = {
      access: granted?.access_token ?? before?.tokens.access ?? '',
      refresh: granted?.refresh_token ?? before?.tokens.refresh,
    };
    if (tokens.access.length + (tokens.refresh?.length ?? 0) > TOKENS_CHARACTERS_MAX) throw refused('long-tokens');
    const nowMs = this.parts.clock.nowMs();
    const expiresAt = granted?.claims()?.exp ?? nowMs / 1_000 + (granted?.expiresIn() ?? 0);
    if (before) {
      const endsAt = granted ? expiresAt * 1_000 : before.endsAt;
      return { ...{ name: before.name, issuer, sub: before.sub, sid: before.sid }, groups, endsAt, tokens };
    }
    const { sub, sid, email, email_verified: isVerified } = claims;
    if (typeof sub !== 'string' || sub === '' || sub.length > SUB_MAX || !sub.isWellFormed()) throw refused('no-sub');
    if (typeof email !== 'string' || mailboxFault(email) !== undefined) throw noAddress(this.host);
    if (isVerified !== true) throw notVerified(email, this.host);
    const name = asPerson({ email, sub, issuer });
    if (personOf(name)?.email !== email) throw noAddress(this.host);
    return {
      ...{ name, issuer, sub, sid: typeof sid === 'string' ? sid : undefined },
      ...{ groups, endsAt: expiresAt * 1_000, tokens },
    };
  }

  private keptOf(claim: unknown): string[] {
    const all = [claim].flat().filter((one) => typeof one === 'string' && one !== '');
    const short = [...new Set(all as string[])].filter(
      (one) => one.length <= GROUP_CHARACTERS_MAX && one.isWellFormed(),
    );
    const named = new Set(this.parts.named?.());
    const isOwn = (one: string) => named.has(one) || this.isKnown([one]);
    return [...short.filter(isOwn), ...short.filter((one) => !isOwn(one)).slice(0, GROUPS_MAX)];
  }

  /** INVARIANT: a configuration of its own for each use, which reads the keys of the provider anew: one that it took back vouches for nobody. */
  private async asked<T>(
    work: (oidc: Library, config: Configuration) => T | Promise<T>,
    knownMs = KNOWN_MS,
  ): Promise<T> {
    const { clock, log } = this.parts;
    if (this.quiet && clock.monotonicMs() < this.quiet.untilMs) throw this.quiet.error;
    try {
      const oidc = await import('openid-client');
      return await work(oidc, await this.configuration(oidc, knownMs));
    } catch (error) {
      if (error instanceof Problem) throw error;
      const problem = this.problemOf(error);
      log.warn({ code: codeOf(error) }, `the identity provider ${this.host} did not vouch for a person`);
      // Words come from browsers, too: nobody may silence the provider for others.
      if (problem.status === 503 && !isWord(error))
        this.quiet = { error: problem, untilMs: clock.monotonicMs() + QUIET_MS };
      throw problem;
    }
  }

  private async configuration(oidc: Library, knownMs: number): Promise<Configuration> {
    const { issuer, clientId, secret } = this.parts.settings;
    const isPlain = new URL(issuer).protocol === 'http:';
    const nowMs = this.parts.clock.monotonicMs();
    if (!this.known || nowMs - this.known.atMs >= knownMs) {
      const options = { timeout: ANSWER_S, [oidc.customFetch]: bounded };
      const execute = isPlain ? [oidc.allowInsecureRequests] : [];
      const found = oidc.discovery(new URL(issuer), clientId, undefined, oidc.None(), { ...options, execute });
      const metadata = await found
        .then((one) => one.serverMetadata())
        .catch((error) => {
          if (knownMs < KNOWN_MS || !this.known) throw error;
          return this.known.metadata;
        });
      if (metadata.jwks_uri !== this.known?.metadata.jwks_uri) this.keys = undefined;
      this.known = { metadata, atMs: nowMs };
    }
    const methods = this.known.metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const isBasic = methods.includes('client_secret_basic');
    const authentication = (isBasic ? oidc.ClientSecretBasic : oidc.ClientSecretPost)(secret);
    const { known } = this;
    const config = new oidc.Configuration(
      known.metadata,
      clientId,
      { [oidc.clockTolerance]: TOLERANCE_S },
      authentication,
    );
    config.timeout = ANSWER_S;
    config[oidc.customFetch] = bounded;
    oidc.enableNonRepudiationChecks(config);
    if (isPlain) oidc.allowInsecureRequests(config);
    return config;
  }

  private problemOf(error: unknown): Problem {
    const code = codeOf(error);
    if (code === CHALLENGED || (isWord(error) && !FAULTS.includes(code))) return refused(code);
    if (!isWord(error) && UNBELIEVED.test(code)) return refused(code, 'not-believed');
    const detail = `the identity provider \`${this.host}\` cannot be asked now, or does not answer as it should (${code}): try again in a moment; everything else goes on`;
    return new Problem(503, 'provider-silent', 'The identity provider cannot be asked', detail);
  }
}

/** What is not to be believed. All else may pass: it does not answer, or not in its form. */
const UNBELIEVED =
  /^(OAUTH_JWT_[A-Z_]*|OAUTH_INVALID_RESPONSE|OAUTH_KEY_SELECTION[A-Z_]*|OAUTH_UNSUPPORTED_OPERATION|OAUTH_JSON_ATTRIBUTE_COMPARISON[A-Z_]*)$/;
/** Its own word for what is no fault of the person. Any other word of it is a no. */
const FAULTS = ['invalid_client', 'unauthorized_client', 'server_error', 'temporarily_unavailable'];

function isWord(error: unknown): boolean {
  return typeof (error as { error?: unknown }).error === 'string';
}

const CHALLENGED = 'invalid_token';

/** What errors of the library are told apart by. It is a text of the provider, so it has the characters of a code or is none. */
function codeOf(error: unknown): string {
  const { error: said, code, cause, status } = error as { [member: string]: unknown };
  // The answer about a person has no more than a status.
  const challenged = !isWord(error) && (status === 401 || status === 403) ? CHALLENGED : undefined;
  const inner = (cause as { code?: unknown } | undefined)?.code;
  const found = [said, challenged, code, inner].find((one) => typeof one === 'string');
  return /^\w{1,60}$/.exec(String(found))?.[0] ?? 'no code';
}

/** Its word ends a session; what is not to be believed ends none. */
function refused(code: string, slug = 'not-vouched-for'): Problem {
  const detail = `the identity provider did not vouch for you, or its answer is not to be believed (${code}): begin again; if that stays, compare the issuer, the client id and the clocks`;
  return new Problem(401, slug, 'You are not signed in', detail);
}

function noDeviceGrant(host: string): Problem {
  const detail = `\`${host}\` lets no command sign in (it has no device authorization grant, or not for this client): use a token in TRUSTWARD_TOKEN, made with \`trustward tokens add NAME --scope SCOPE\`, or ask whoever manages clients there`;
  return new Problem(404, 'no-device-grant', 'Commands cannot sign in', detail);
}

function notLetIn(said: 'access_denied' | 'expired_token', host: string): Problem {
  const isNo = said === 'access_denied';
  const what = isNo ? `somebody said no at \`${host}\`` : `nobody entered the code at \`${host}\` in time`;
  return new Problem(403, isNo ? 'denied' : 'code-expired', 'You are not signed in', `${what}: begin again`);
}

/** A page that a person can be sent to; not one of another kind of address. */
function addressIn(text: string): string | undefined {
  const url = text.length <= 2_000 && URL.canParse(text) ? new URL(text) : undefined;
  return url && ['https:', 'http:'].includes(url.protocol) && url.username === '' ? url.href : undefined;
}

function noAddress(host: string): Problem {
  const detail = `\`${host}\` names no e-mail address for you that records can have, such as ana@example.com: ask whoever manages accounts there`;
  return new Problem(403, 'no-address', 'You are not signed in', detail);
}

function notVerified(email: string, host: string): Problem {
  const detail = `\`${host}\` does not say that the address \`${email}\` is yours (\`email_verified\`): verify it there, then sign in again`;
  return new Problem(403, 'address-not-verified', 'You are not signed in', detail);
}

export function inNoGroup(email: string, host: string): Problem {
  const detail = `\`${email}\` is in none of the groups that may do anything here: ask whoever manages the groups at \`${host}\`, or who set TRUSTWARD_OIDC_SCOPES`;
  return new Problem(403, 'no-group', 'You may do nothing here', detail);
}

/** INVARIANT: no answer is longer than memory can bear, and none leads elsewhere. */
async function bounded(url: string, options: object): Promise<Response> {
  const answer = await fetch(url, { ...options, redirect: 'manual' });
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of answer.body ?? []) {
    bytes += part.byteLength;
    if (bytes > BYTES_MAX) throw new TypeError('the answer is too long');
    parts.push(part);
  }
  const isEmpty = answer.status === 204 || answer.status === 304 || answer.status < 200;
  return new Response(isEmpty ? null : Buffer.concat(parts), { status: answer.status, headers: answer.headers });
}
