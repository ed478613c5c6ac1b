// domain: signals that others send (Shared Signals, SSF 1.0): who may send which, and the names that events and subjects have in the standards. A received
// signal is a `TrustEvent` of a log of its own. In: what `signals.yaml` says, and the tables of CAEP 1.0, RISC 1.0, SSF 1.0 and RFC 9493.
import { timeText } from '../base/time.ts';
import type { TrustEvent } from './event.ts';
import type { Facts } from './facts.ts';
import type { SecretPlace } from './secrets.ts';
import type { Coverage } from './snapshot.ts';

const BASE = 'https://schemas.openid.net/secevent';

/** Names within their family; the event type is the family's address with the name at its end. No name is in two families. */
const FAMILIES = {
  caep: [
    'session-revoked',
    'token-claims-change',
    'credential-change',
    'assurance-level-change',
    'device-compliance-change',
    'session-established',
    'session-presented',
    'risk-level-change',
  ],
  risc: [
    'account-credential-change-required',
    'account-purged',
    'account-disabled',
    'account-enabled',
    'identifier-changed',
    'identifier-recycled',
    'credential-compromise',
    'opt-in',
    'opt-out-initiated',
    'opt-out-cancelled',
    'opt-out-effective',
    'recovery-activated',
    'recovery-information-changed',
    'sessions-revoked',
  ],
  ssf: ['verification', 'stream-updated'],
} as const;

/** The type of each event by its short name. */
export const SIGNAL_EVENTS: ReadonlyMap<string, string> = new Map(
  Object.entries(FAMILIES).flatMap(([family, names]) =>
    names.map((name) => [name, `${BASE}/${family}/event-type/${name}`] as const),
  ),
);

/** About the stream itself: every transmitter may send them, and no rule reads them. */
export const VERIFICATION_EVENT = `${BASE}/ssf/event-type/verification`;
export const STREAM_UPDATED_EVENT = `${BASE}/ssf/event-type/stream-updated`;

/** The full type of an event that is named by its short name, or by the type itself (any address); undefined: neither. */
export function signalEventOf(name: string): string | undefined {
  const known = SIGNAL_EVENTS.get(name);
  if (known !== undefined) return known;
  return /^(https?:\/\/|urn:)[\x21-\x7e]+$/i.test(name) && URL.canParse(name) ? name : undefined;
}

const SHORT = new Map([...SIGNAL_EVENTS].map(([name, type]) => [type, name]));

export function isStandardEvent(type: string): boolean {
  return SHORT.has(type);
}

/** As people read it: the short name, where there is one. */
export function shownSignalEvent(type: string): string {
  return SHORT.get(type) ?? type;
}

/** The formats of one subject with the members that each must have (RFC 9493, SSF 1.0); those of `aliases` and `complex` are subjects. */
export const SUBJECT_FORMATS: Readonly<Record<string, readonly string[]>> = {
  account: ['uri'],
  did: ['url'],
  email: ['email'],
  'ip-addresses': ['ip-addresses'],
  iss_sub: ['iss', 'sub'],
  jwt_id: ['iss', 'jti'],
  opaque: ['id'],
  phone_number: ['phone_number'],
  saml_assertion_id: ['issuer', 'assertion_id'],
  uri: ['uri'],
  aliases: ['identifiers'],
  complex: [],
};

/** What a complex subject may have. Each is a subject of its own. */
export const COMPLEX_MEMBERS = ['user', 'device', 'session', 'application', 'tenant', 'org_unit', 'group'] as const;

/** What a name that a transmitter gives is, where its format leaves it open. `map`: only what the file's own table says. */
export const NAME_KINDS = ['email', 'serial', 'device_id', 'service_id', 'map'] as const;
export type NameKind = (typeof NAME_KINDS)[number];

/** The types that `signals.yaml` gives members of events that are in no standard. A time is in seconds. */
export const MEMBER_TYPES = ['text', 'number', 'boolean', 'time_s', 'texts'] as const;
export type MemberType = (typeof MEMBER_TYPES)[number];

/** One sender of signals, as `signals.yaml` has it. */
export interface Transmitter {
  name: string;
  /** As its SETs name it, exactly. */
  issuer: string;
  /** One of these must be the SET's. */
  audience: readonly string[];
  /** Its public keys; undefined: where its configuration document says. */
  jwks: { url: string } | { file: string } | undefined;
  /** Full types; undefined: every type. Others are acknowledged, counted and not stored. */
  events: readonly string[] | undefined;
  /** `poll`: `url` undefined is where its stream says. */
  delivery: { method: 'push' } | { method: 'poll'; url: string | undefined };
  /** What it shows when it pushes. Undefined: its signature is enough. */
  pushBearer: SecretPlace | undefined;
  /** What we show when we poll, and where streams are managed. */
  bearer: SecretPlace | undefined;
  /** The stream is set up, watched and verified by its management API. `endpoint`: where it pushes to; `subjects`: added to a new one. */
  stream: { endpoint: string | undefined; subjects: readonly Facts[] } | undefined;
  /** How often proof of life is asked for, or expected. */
  heartbeatMs: number;
  /** By the full type of an event: its members, where no standard has them. Absent: none are declared. */
  members?: Readonly<Record<string, Readonly<Record<string, MemberType>>>> | undefined;
  /** For how long it keeps what it could not deliver. A longer silence is a gap. */
  keepsMs: number;
  /** A SET that was issued longer ago is refused. */
  oldestMs: number;
  subjects: SubjectMapping;
}

export interface SubjectMapping {
  /** What `sub` is in the format `iss_sub`. */
  issSub: NameKind;
  /** What `id` is in the format `opaque`. */
  opaque: NameKind;
  /** What either is in the member `device` of a complex subject. */
  device: NameKind;
  /** Their names (of any format) to names that the engine knows. Asked first. */
  map: Readonly<Record<string, string>>;
}

/** A SET whose signature and claims hold. */
export interface VerifiedSet {
  jti: string;
  issuer: string;
  issuedAtMs: number;
  /** Of what happened: the event's own time, `toe`, or when it was issued. */
  happenedAtMs: number;
  txn: string | undefined;
  /** The full type. */
  event: string;
  /** Members of the event. */
  body: Facts;
  subject: Facts;
}

/** Codes of RFC 8935 and of SSF 1.0. */
export type SetErrorCode =
  | 'invalid_request'
  | 'invalid_key'
  | 'invalid_issuer'
  | 'invalid_audience'
  | 'authentication_failed'
  | 'access_denied'
  | 'invalid_state';

/** Why SETs are refused, as they are counted. */
export const SET_REFUSALS = [
  'form',
  'algorithm',
  'key',
  'signature',
  'issuer',
  'audience',
  'claims',
  'subject',
  'future',
  'old',
  'state',
  'bearer',
] as const;
export type SetRefusalReason = (typeof SET_REFUSALS)[number];

export interface SetRefusal {
  reason: SetRefusalReason;
  err: SetErrorCode;
  /** For the transmitter: it repeats nothing of what it sent. */
  description: string;
}

// What is kept of them.

export interface ReceivedSignal {
  /** Undefined: it is of a type that nobody asked for, or about the stream. */
  event: TrustEvent | undefined;
  /** Its `jti`. */
  jti: string;
  /** Until when the same could be sent again and be accepted, epoch ms. */
  untilMs: number;
  /** It names nobody whom the engine knows. */
  isUnknown: boolean;
}

/** What commits together. */
export interface SignalBatch {
  transmitter: string;
  /** By our clock. */
  atMs: number;
  signals: readonly ReceivedSignal[];
  /** Of this stretch nothing is missing. `isAnew`: nothing before its end is known. */
  proven: { fromMs: number; toMs: number; isAnew?: boolean } | undefined;
  /** SETs that were refused since the last batch, by reason. */
  refused: Readonly<Record<string, number>>;
  /** Undefined: as it was. */
  stream?: StreamState | undefined;
}

export interface StreamState {
  id?: string | undefined;
  /** Where it is polled. */
  pollAt?: string | undefined;
  status: 'enabled' | 'paused' | 'disabled' | 'unknown';
  /** The last verification that was asked for, by a digest of its state. */
  asked?: { state: string; atMs: number } | undefined;
  /** When its management API was last asked. */
  tendedAt?: number | undefined;
  /** Why the last contact failed. */
  fault?: { text: string; sinceMs: number } | undefined;
}

export interface TransmitterState {
  name: string;
  contactAt: number | undefined;
  known: { fromMs: number; toMs: number } | undefined;
  /** `accepted`, `repeated`, `unknown`, and refusals by reason. */
  counts: Readonly<Record<string, number>>;
  stream: StreamState | undefined;
}

/** For so long after its last proof it counts as known that nothing is missing. */
export function signalLagMs({ heartbeatMs }: Pick<Transmitter, 'heartbeatMs'>): number {
  return 2 * heartbeatMs;
}

/** Why its signals of now may be missing, so that rules over them are unknown; undefined: they are all there, or it only pushes, and nobody asks it. */
export function transmitterDoubt(
  { stream, delivery, ...transmitter }: Transmitter,
  state: TransmitterState | undefined,
  nowMs: number,
): string | undefined {
  if (delivery.method === 'push' && !stream) return undefined;
  const { known, stream: { fault, status } = {} } = state ?? {};
  if (status === 'paused' || status === 'disabled') return `its stream is ${status}`;
  if (known && nowMs - known.toMs <= signalLagMs(transmitter)) return undefined;
  if (fault) return `it cannot be asked since ${timeText(fault.sinceMs)}: ${fault.text}`;
  return `nothing proves${known ? ` since ${timeText(known.toMs)}` : ''} that none is missing`;
}

/** What no run or look has taken up yet, and the stretches of which nothing is missing then. */
export interface NewSignals {
  events: TrustEvent[];
  coverage: Coverage[];
}

/** More are not received until some were taken up: transmitters keep them. */
export const SIGNALS_WAITING_MAX = 200_000;

export interface SignalBox {
  /** `waiting`: how many no run or look has taken up, up to `SIGNALS_WAITING_MAX`. */
  receive(batch: SignalBatch): Promise<{ repeated: number; waiting: number }>;
  states(): Promise<TransmitterState[]>;
}

/** The answer to one pushed SET (RFC 8935). */
export type SignalAnswer =
  | { status: 202 }
  | { status: 400 | 401 | 404; err: SetErrorCode; description: string }
  /** Nothing is said about the SET: it can be sent again. */
  | { status: 503; retryAfterS: number };

/** Whether there is none of the name, or no organization, shows in nothing. */
export const NO_TRANSMITTER: { err: SetErrorCode; description: string } = {
  err: 'access_denied',
  description: 'there is no transmitter of this name that pushes',
};

/** Where SETs are pushed to. */
export interface SignalReceiving {
  receive(
    name: string,
    text: string,
    from: { authorization?: string | undefined; type?: string | undefined; address?: string | undefined },
  ): Promise<SignalAnswer>;
}
