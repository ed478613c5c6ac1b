// signals: security event tokens (RFC 8417) in the profile of SSF 1.0, and the keys that they are signed by. In: a text, hostile until its signature is
// checked, or claims and a key. Out: the one event that it names, or why it is refused; a signed text. INVARIANT: only asymmetric signatures count, by
// a key of the transmitter that is named, and what is cheap to refuse is refused before a signature is checked.
import type { CryptoKey, JSONWebKeySet, JWK, JWTHeaderParameters } from 'jose';
import { AppError } from '../domain/errors.ts';
import { type Fact, type Facts, isFacts, own, ownText } from '../domain/facts.ts';
import type { Clock } from '../domain/ports.ts';
import { TOKEN_ALGORITHMS } from '../domain/secrets.ts';
import {
  COMPLEX_MEMBERS,
  isStandardEvent,
  type SetErrorCode,
  type SetRefusal,
  type SetRefusalReason,
  SUBJECT_FORMATS,
  type VerifiedSet,
} from '../domain/signal.ts';
import { parseExact, stringifyExact } from '../platform/contract/exact-json.ts';

/** Of the whole text. */
export const SET_BYTES_MAX = 64 * 1024;
export const SET_TYPE = 'secevent+jwt';
/** Clocks of both sides may differ so much. */
export const SKEW_MS = 5 * 60_000;
export const OLDEST_MS = 7 * 24 * 3_600_000;
const JTI_MAX = 255;
const NAME_MAX = 500;
const IDENTIFIERS_MAX = 20;
const EVENT_NAMES_MAX = 5;
/** Times of events in milliseconds, which drafts of CAEP had, are beyond this as seconds. */
const SECONDS_MAX = 100_000_000_000;

export interface SetChecks {
  issuer: string;
  /** One of them must be named. */
  audience: readonly string[];
  keys: Pick<TransmitterKeys, 'keysFor'>;
  nowMs: number;
  oldestMs?: number | undefined;
  /** Checking a signature waits for its turn. Absent: at once. */
  inTurn?: (<T>(check: () => Promise<T>) => Promise<T>) | undefined;
}

export type SetVerdict = { set: VerifiedSet } | { refused: SetRefusal };

class Refused extends Error {
  constructor(readonly refusal: SetRefusal) {
    super(refusal.description);
  }
}

function refuse(reason: SetRefusalReason, description: string, err: SetErrorCode = 'invalid_request'): never {
  throw new Refused({ reason, err, description });
}

/** Errors: NotYet, and those of reading the keys, which say nothing about the SET: it can be sent again. */
export async function verifySet(text: string, checks: SetChecks): Promise<SetVerdict> {
  try {
    const { header, claims } = partsOf(text);
    const set = setOf(claims, checks);
    // Keys that are waited for hold up nobody's turn.
    const keys = await checks.keys.keysFor(header);
    const check = () => demandSignature(text, keys);
    await (checks.inTurn?.(check) ?? check());
    return { set };
  } catch (error) {
    if (error instanceof Refused) return { refused: error.refusal };
    throw error;
  }
}

function partsOf(text: string): { header: JWTHeaderParameters; claims: Facts } {
  if (text.length > SET_BYTES_MAX) refuse('form', `the SET is longer than ${SET_BYTES_MAX} bytes`);
  const [first = '', second = '', third = '', ...more] = text.split('.');
  if (third === '' && more.length === 0 && second !== '') {
    const alone = decoded(first);
    if (alone && ownText(alone, 'alg') === 'none') refuse('algorithm', 'the SET is not signed', 'invalid_key');
  }
  if (more.length > 0 || ![first, second, third].every((part) => /^[\w-]+$/.test(part)))
    refuse('form', 'the body is not one signed JWT in compact form (encrypted ones are not taken)');
  const header = decoded(first);
  const claims = decoded(second);
  if (!header || !claims) refuse('form', 'the SET is not a JWT: its header or its claims are not JSON objects');
  const typ = ownText(header, 'typ')?.toLowerCase();
  if (typ !== SET_TYPE && typ !== `application/${SET_TYPE}`)
    refuse('form', `\`typ\` of the header must be ${SET_TYPE}`);
  const alg = ownText(header, 'alg') ?? '';
  if (!TOKEN_ALGORITHMS.includes(alg))
    refuse(
      'algorithm',
      `\`alg\` of the header must be an asymmetric signature: ${TOKEN_ALGORITHMS.join(', ')}`,
      'invalid_key',
    );
  if (Object.hasOwn(header, 'crit') || Object.hasOwn(header, 'b64'))
    refuse('form', 'the header has extensions, which are not taken');
  const kid = own(header, 'kid');
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > NAME_MAX)) refuse('form', '`kid` is no short text');
  return { header: { alg, ...(kid !== undefined && { kid: kid as string }) }, claims };
}

function decoded(part: string): Facts | undefined {
  try {
    const value = parseExact(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(part, 'base64url')));
    return isFacts(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

async function demandSignature(text: string, candidates: readonly CryptoKey[]): Promise<void> {
  const jose = await import('jose');
  if (candidates.length === 0) refuse('key', 'the transmitter has no key that the SET names', 'invalid_key');
  for (const key of candidates) {
    try {
      await jose.compactVerify(text, key, { algorithms: TOKEN_ALGORITHMS });
      return;
    } catch (error) {
      if (!(error instanceof jose.errors.JOSEError || error instanceof TypeError)) throw error;
    }
  }
  refuse('signature', 'the signature does not hold', 'authentication_failed');
}

function setOf(claims: Facts, { issuer, audience, nowMs, oldestMs = OLDEST_MS }: SetChecks): VerifiedSet {
  if (ownText(claims, 'iss') !== issuer)
    refuse('issuer', '`iss` is not the issuer of this transmitter', 'invalid_issuer');
  const named = [own(claims, 'aud') ?? []].flat();
  if (!named.some((one) => typeof one === 'string' && audience.includes(one)))
    refuse('audience', '`aud` does not name this receiver', 'invalid_audience');
  for (const claim of ['sub', 'exp'])
    if (Object.hasOwn(claims, claim)) refuse('claims', `\`${claim}\` must not be in a SET of SSF 1.0`);
  const jti = ownText(claims, 'jti');
  if (jti === undefined || jti === '' || jti.length > JTI_MAX || !jti.isWellFormed())
    refuse('claims', `\`jti\` must be a text of 1 to ${JTI_MAX} characters`);
  const issuedAtMs = timeOf(own(claims, 'iat'));
  if (issuedAtMs === undefined) refuse('claims', '`iat` must be a time in seconds');
  if (issuedAtMs > nowMs + SKEW_MS) refuse('future', '`iat` is in the future: compare the clocks');
  if (issuedAtMs < nowMs - oldestMs) refuse('old', `\`iat\` is more than ${Math.floor(oldestMs / 60_000)} minutes ago`);
  const events = own(claims, 'events');
  const types = isFacts(events) ? Object.keys(events) : [];
  // More than one are other names of the same event.
  const event = types.find((type) => isStandardEvent(type)) ?? types[0];
  if (event === undefined || types.length > EVENT_NAMES_MAX) refuse('claims', '`events` must have one event');
  const body = own(events, event);
  if (!isFacts(body) || event.length > NAME_MAX)
    refuse('claims', 'the event must be an object, by an address as its name');
  const subject = subjectOf(own(claims, 'sub_id') ?? own(body, 'subject'));
  const fault = subjectFault(subject, '`sub_id`', true);
  if (fault !== undefined) refuse('subject', fault);
  const happenedAtMs = happenedAt(body, claims, issuedAtMs);
  if (happenedAtMs > nowMs + SKEW_MS) refuse('future', 'the event is in the future: compare the clocks');
  const txn = ownText(claims, 'txn')?.slice(0, NAME_MAX);
  return { jti, issuer, issuedAtMs, happenedAtMs, txn, event, body, subject: subject as Facts };
}

function timeOf(value: Fact | undefined): number | undefined {
  return typeof value === 'number' && value >= 0 && value < SECONDS_MAX ? Math.round(value * 1_000) : undefined;
}

/** INVARIANT: a time that cannot be read leads to one that was checked, never to one that a stranger chose. */
function happenedAt(body: Facts, claims: Facts, issuedAtMs: number): number {
  const written = own(body, 'event_timestamp');
  const inMs =
    typeof written === 'number' && written >= SECONDS_MAX && written < SECONDS_MAX * 1_000
      ? Math.round(written)
      : undefined;
  return timeOf(written) ?? inMs ?? timeOf(own(claims, 'toe')) ?? issuedAtMs;
}

/**
 * Transmitters of before the standards were final, Google among them, have the subject in the event, its format as `subject_type` with hyphens, and none for
 * a complex one. What they mean is what counts from here on.
 */
function subjectOf(given: Fact | undefined): Fact | undefined {
  if (!isFacts(given) || Object.hasOwn(given, 'format')) return given;
  const { subject_type: type, ...members } = given;
  if (typeof type === 'string') return { ...members, format: type.replaceAll('-', '_') };
  const parts = COMPLEX_MEMBERS.filter((member) => Object.hasOwn(given, member));
  if (parts.length === 0) return given;
  return {
    ...given,
    format: 'complex',
    ...Object.fromEntries(parts.map((one) => [one, subjectOf(given[one]) as Fact])),
  };
}

/** Why it is no subject of RFC 9493 or SSF 1.0; undefined: it is one. Formats that nobody knows are subjects that nobody has. */
function subjectFault(subject: Fact | undefined, where: string, isTop: boolean): string | undefined {
  if (!isFacts(subject)) return `${where} must be there, and a subject: an object with a \`format\``;
  const format = ownText(subject, 'format');
  if (format === undefined || format === '' || format.length > NAME_MAX) return `${where} must have a \`format\``;
  if (format === 'complex') {
    if (!isTop) return `${where} cannot be complex`;
    const members = COMPLEX_MEMBERS.filter((member) => Object.hasOwn(subject, member));
    if (members.length === 0) return `${where} is complex and has none of ${COMPLEX_MEMBERS.join(', ')}`;
    return members.map((member) => subjectFault(subject[member], `\`${member}\` of ${where}`, false)).find(Boolean);
  }
  if (format === 'aliases') {
    const all = own(subject, 'identifiers');
    if (!Array.isArray(all) || all.length === 0 || all.length > IDENTIFIERS_MAX)
      return `${where} must have 1 to ${IDENTIFIERS_MAX} \`identifiers\``;
    const nested = all.find((one) => ownText(one, 'format') === 'aliases');
    if (nested) return `${where} has aliases within aliases`;
    return all.map((one) => subjectFault(one, `each of \`identifiers\` of ${where}`, false)).find(Boolean);
  }
  const required = Object.hasOwn(SUBJECT_FORMATS, format) ? (SUBJECT_FORMATS[format] as readonly string[]) : [];
  const wrong = required.find((member) => {
    const value = own(subject, member);
    const texts = format === 'ip-addresses' && Array.isArray(value) ? value : [value];
    return !texts.every((one) => typeof one === 'string' && one !== '' && one.length <= NAME_MAX && one.isWellFormed());
  });
  return wrong === undefined ? undefined : `${where} must have \`${wrong}\`, a text of up to ${NAME_MAX} characters`;
}

// Keys.

const AGAIN_MS = 60_000;
const KNOWN_MS = 3_600_000;
const KEYS_MAX = 100;
/** Of one reading. */
const AWAITING_MAX = 500;
const BUSY_MS = 5_000;

/** It cannot be checked now, and can be sent again. */
export class NotYet extends Error {
  constructor(readonly retryAfterMs: number = BUSY_MS) {
    super('the SET cannot be checked now');
  }
}

/** The public keys of one transmitter. An unknown one makes them be read again, at most once a minute, whoever asks. */
export class TransmitterKeys {
  private known: { keys: JWK[]; atMs: number } | undefined;
  private triedAtMs = Number.NEGATIVE_INFINITY;
  private reading: Promise<void> | undefined;
  private awaiting = 0;

  /** `read`: the text of the JWKS. */
  constructor(
    private readonly read: () => Promise<string>,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
  ) {}

  /** Those that may have signed it. Errors: NotYet, and those of reading. */
  async keysFor(header: JWTHeaderParameters): Promise<CryptoKey[]> {
    const before = this.known;
    let fault: unknown;
    if (before === undefined) await this.readAgain();
    // Those that are known go on while they cannot be read.
    else if (this.isOld() && this.mayRead())
      await this.readAgain().catch((error) => {
        fault = error;
      });
    const found = this.matching(header);
    if (found.length > 0) return imported(found, header.alg);
    if (fault !== undefined) throw fault;
    if (this.known === before) await this.readAgain();
    return imported(this.matching(header), header.alg);
  }

  private isOld(): boolean {
    return this.clock.monotonicMs() - (this.known?.atMs ?? 0) > KNOWN_MS;
  }

  private mayRead(): boolean {
    return this.clock.monotonicMs() - this.triedAtMs >= AGAIN_MS;
  }

  private async readAgain(): Promise<void> {
    if (!this.reading && !this.mayRead()) throw new NotYet(AGAIN_MS - (this.clock.monotonicMs() - this.triedAtMs));
    this.reading ??= this.readNow().finally(() => {
      this.reading = undefined;
    });
    if (this.awaiting >= AWAITING_MAX) throw new NotYet();
    this.awaiting += 1;
    await this.reading.finally(() => {
      this.awaiting -= 1;
    });
  }

  private async readNow(): Promise<void> {
    this.triedAtMs = this.clock.monotonicMs();
    const value = parseExact(await this.read()) as Partial<JSONWebKeySet> | null;
    if (!Array.isArray(value?.keys))
      throw new AppError('api_answer', 'the keys of the transmitter are no JSON Web Key Set');
    // A symmetric key would be a secret that is public.
    const keys = value.keys.filter((key) => isFacts(key) && ['RSA', 'EC', 'OKP'].includes(String(key.kty)));
    this.known = { keys: keys.slice(0, KEYS_MAX), atMs: this.clock.monotonicMs() };
  }

  private matching({ kid, alg }: JWTHeaderParameters): JWK[] {
    const type = /^[RP]S/.test(alg) ? 'RSA' : alg.startsWith('ES') ? 'EC' : 'OKP';
    return (this.known?.keys ?? []).filter(
      (key) =>
        key.kty === type &&
        (kid === undefined || key.kid === kid) &&
        (key.alg === undefined || key.alg === alg) &&
        (key.use === undefined || key.use === 'sig'),
    );
  }
}

const KEYS_TRIED_MAX = 4;

async function imported(keys: JWK[], alg: string): Promise<CryptoKey[]> {
  const jose = await import('jose');
  const read = await Promise.all(
    keys.slice(0, KEYS_TRIED_MAX).map((key) => jose.importJWK(key, alg).catch(() => undefined)),
  );
  return read.filter((key): key is CryptoKey => key !== undefined && !(key instanceof Uint8Array));
}

// What we sign.

export interface SigningKey {
  kid: string;
  alg: string;
  key: CryptoKey;
  /** For the JWKS: without its private half. */
  publicKey: JWK;
}

/** `text`: a private key as JWK, or as PEM (PKCS #8) of an RSA, P-256, P-384, P-521 or Ed25519 key. Errors: TypeError or an error of `jose`, which repeat nothing of it. */
export async function readSigningKey(text: string): Promise<SigningKey> {
  const jose = await import('jose');
  const given = text.trim();
  const { createPrivateKey } = await import('node:crypto');
  const jwk = (given.startsWith('{') ? JSON.parse(given) : createPrivateKey(given).export({ format: 'jwk' })) as JWK;
  if (typeof jwk.d !== 'string') throw new TypeError('the key has no private half');
  const alg = jwk.alg ?? algorithmOf(jwk);
  if (alg === undefined || !TOKEN_ALGORITHMS.includes(alg))
    throw new TypeError('the key is for no asymmetric signature');
  const { d: _, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, oth: _oth, key_ops: _ops, ...shown } = jwk;
  const kid = jwk.kid ?? (await jose.calculateJwkThumbprint(shown));
  const key = (await jose.importJWK(jwk, alg)) as CryptoKey;
  return { kid, alg, key, publicKey: { ...shown, kid, alg, use: 'sig' } };
}

function algorithmOf({ kty, crv }: JWK): string | undefined {
  const byCurve: Record<string, string> = { 'P-256': 'ES256', 'P-384': 'ES384', 'P-521': 'ES512', Ed25519: 'EdDSA' };
  return kty === 'RSA' ? 'RS256' : byCurve[String(crv)];
}

/** The claims as they are: `iss`, `aud`, `iat`, `jti`, `sub_id`, `events`. */
export async function signSet(claims: Facts, { kid, alg, key }: SigningKey): Promise<string> {
  const jose = await import('jose');
  const bytes = new TextEncoder().encode(stringifyExact(claims));
  return new jose.CompactSign(bytes).setProtectedHeader({ alg, kid, typ: SET_TYPE }).sign(key);
}
