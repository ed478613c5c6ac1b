// domain: streams by which others hear what was done and undone (Shared Signals, SSF 1.0): who may have one, what it carries, and what waits in it. In:
// an outcome that is known. Out: the events that it is to a receiver, and whether a subject was left out of a stream. Pure.
import type { EffectDevice, KnownTraits } from './action.ts';
import type { AuditNote } from './audit-entry.ts';
import { type Facts, isFacts } from './facts.ts';
import type { LiveEvent } from './live-event.ts';
import { SIGNAL_EVENTS } from './signal.ts';

/** What a stream can carry, by the names that the settings have. */
export const SENT_EVENTS = ['device-compliance-change', 'session-revoked'] as const;
const [COMPLIANCE_EVENT, SESSION_EVENT] = SENT_EVENTS.map((name) => SIGNAL_EVENTS.get(name) as string) as [
  string,
  string,
];

export const PUSH = 'urn:ietf:rfc:8935';
export const POLL = 'urn:ietf:rfc:8936';

export const STREAM_STATUSES = ['enabled', 'paused', 'disabled'] as const;
export type StreamStatus = (typeof STREAM_STATUSES)[number];

/** Who may have a stream, as the settings have it. */
export interface SignalReceiver {
  /** Of its token. */
  name: string;
  /** The only hosts that SETs are pushed to. */
  hosts: readonly string[];
  audience: readonly string[];
  /** Types of events, each with the rules whose outcomes it is sent for; undefined: of all rules. */
  events: ReadonlyMap<string, readonly string[] | undefined>;
  device: { by: 'serial' | 'device_id'; format: 'iss_sub' | 'opaque' };
  timeoutMs: number;
  /** Loopback and private addresses may be connected to. */
  allowPrivate: boolean;
  /** A private certificate authority, as PEM. */
  ca: string | undefined;
}

/** What the receiver asked for. */
export interface StreamSettings {
  method: typeof PUSH | typeof POLL;
  /** Of a stream that is pushed. */
  endpoint?: string | undefined;
  /** What we show there. INVARIANT: never in an answer, a log or the audit. */
  authorization?: string | undefined;
  /** Undefined: all that there are. */
  requested?: string[] | undefined;
  description?: string | undefined;
  status: StreamStatus;
  reason?: string | undefined;
  /** Subjects that it asked to leave out. */
  removed: Facts[];
}

export interface SignalStream extends StreamSettings {
  id: string;
  /** The name of the receiver's token. */
  receiver: string;
  /** The last entry of the audit that was looked at for it. */
  seq: number;
  /** When SETs are pushed again, epoch ms: a time to come is also a process's claim. */
  dueAt: number;
  /** Attempts in a row that failed, and what the last one showed. */
  failures: number;
  note?: string | undefined;
  deliveredAt?: number | undefined;
  /** When it last asked for a verification, epoch ms. */
  verifiedAt?: number | undefined;
}

/** A stream takes no more while so many wait in it: what comes later waits in the audit. */
export const WAITING_MAX = 1_000;

/** Signed, and not yet taken by its receiver. INVARIANT: its text never changes. */
export interface WaitingSet {
  jti: string;
  seq: number;
  /** When it was signed, epoch ms. */
  at: number;
  text: string;
}

/** How a stream is, for people. */
export interface StreamState extends SignalStream {
  waiting: number;
  /** When the oldest that waits was signed, epoch ms. */
  oldestAt: number | undefined;
}

/** Private keys as JWK, the newest last. */
export interface KeptKey {
  jwk: string;
  madeAt: number;
}

/** Of the stream as it is when it is changed. */
export type StreamChanges = Partial<SignalStream> | ((stream: SignalStream) => Partial<SignalStream>);

/** Each method is one unit of work. Errors: AppError `store_failed`. */
export interface StreamStore {
  streams(): Promise<StreamState[]>;
  /** Begins at the end of the audit. False: the receiver has one already. */
  add(id: string, receiver: string, settings: StreamSettings, notes: AuditNote[]): Promise<boolean>;
  /** `fromNow`: what happened so far is not for it, and nothing waits any more. */
  change(id: string, changes: StreamChanges, notes: AuditNote[], fromNow?: boolean): Promise<void>;
  remove(id: string, notes: AuditNote[]): Promise<void>;
  /** These wait from now on, and its position is `upTo`. False, and nothing changes, when it is no longer `from`: another process has done it. */
  collect(id: string, from: number, upTo: number, sets: readonly WaitingSet[]): Promise<boolean>;
  /** The oldest first. */
  waiting(id: string, limit: number): Promise<WaitingSet[]>;
  /** What its receiver took, or (with `notes`) will never take. Out: those of them that waited. */
  taken(id: string, jtis: readonly string[], at: number, notes?: AuditNote[]): Promise<string[]>;
  /** The right to push until then. False: another process has it. */
  claim(stream: Pick<SignalStream, 'id' | 'dueAt'>, untilMs: number): Promise<boolean>;
  keys(): Promise<KeptKey[]>;
  /** Out: those that are kept by then: another process may have been first. */
  keepKeys(known: readonly KeptKey[], keys: readonly KeptKey[]): Promise<KeptKey[]>;
}

/** With PostgreSQL, addresses have the name of the organization in them. */
export function addressesOf(publicUrl: string, organization: string | undefined) {
  const within = organization === undefined ? '' : `/orgs/${organization}`;
  return {
    issuer: `${publicUrl}${within}`,
    api: `${publicUrl}/api${within}/signals`,
    keysAt: `${publicUrl}/.well-known/jwks.json${within}`,
  };
}

/** What the endpoint offers to receivers. */
export interface SignalsOut {
  issuer: string;
  /** What the addresses of its endpoints begin with, and where its public keys are. */
  api: string;
  keysAt: string;
  receivers: ReadonlyMap<string, SignalReceiver>;
  store: StreamStore;
  newId(): string;
  /** The public halves, for a JWKS. */
  publicKeys(): Promise<object[]>;
  /** Why SETs cannot be pushed there; undefined: they can. */
  endpointFault(receiver: SignalReceiver, endpoint: string): string | undefined;
  /** What waits, once something does or the time is over; `more`: beyond `max`. */
  poll(
    id: string,
    asked: { max: number; waitMs: number; signal: AbortSignal },
  ): Promise<{ sets: WaitingSet[]; more: boolean }>;
  /** A SET that shows that the stream works waits in it from now on. */
  verify(id: string, state: string | undefined): Promise<void>;
  /** A stream was changed: what waits in it may be due. */
  changed(): void;
}

// What an outcome is to a receiver.

export interface SentEvent {
  type: string;
  subject: Facts;
  body: Facts;
}

/** The intent of an outcome that a receiver may hear of. INVARIANT: it is known to be done: no doubt, no dry run and no failure is told. */
export function doneIn(live: LiveEvent) {
  if (live.event !== 'outcome' || live.isDryRun || !live.intent) return undefined;
  return live.result === 'succeeded' || live.result === 'confirmed' ? live.intent : undefined;
}

/**
 * Of actions on devices: what is taken away and can be given back is compliance; what takes away ends sessions, too. `issuer`: of names that are
 * ours. Empty for what is no outcome, or not for this receiver.
 */
export function sentEventsOf(
  live: LiveEvent,
  actions: KnownTraits,
  { events, device }: Pick<SignalReceiver, 'events' | 'device'>,
  { requested, removed }: Pick<StreamSettings, 'requested' | 'removed'>,
  issuer: string,
): SentEvent[] {
  const intent = doneIn(live);
  if (!intent) return [];
  const { action, target, effect } = intent;
  const subject = subjectOf(effect.devices, target, device, issuer);
  if (removed.some((one) => isSameSubject(one, subject))) return [];
  const wanted = (type: string) =>
    (requested?.includes(type) ?? true) &&
    events.has(type) &&
    (events.get(type)?.some((rule) => live.rules.includes(rule)) ?? true);
  const seconds = Math.floor(live.entry.at / 1_000);
  const reason_admin: Facts = { en: live.rules.length === 0 ? action : `${action}: ${live.rules.join(', ')}` };
  const shared: Facts = { event_timestamp: seconds, initiating_entity: 'policy', reason_admin };
  const { givesAccess = false, inverse, target: kind } = actions.get(action) ?? {};
  if (kind?.serialOf === undefined) return [];
  const states = ['compliant', 'not-compliant'];
  const [current_status, previous_status] = givesAccess ? states : states.reverse();
  const found: SentEvent[] = [];
  if (inverse !== undefined && wanted(COMPLIANCE_EVENT))
    found.push({ type: COMPLIANCE_EVENT, subject, body: { ...shared, previous_status, current_status } as Facts });
  if (!givesAccess && wanted(SESSION_EVENT)) found.push({ type: SESSION_EVENT, subject, body: shared });
  return found;
}

/** The user is named where the device has one owner: otherwise it is about the device, whoever uses it. */
function subjectOf(
  devices: readonly EffectDevice[],
  target: string,
  { by, format }: SignalReceiver['device'],
  issuer: string,
): Facts {
  const ids = by === 'device_id' ? devices.map(({ id }) => id) : [];
  const serial = devices[0]?.serial ?? target;
  const named = (ids.length > 0 ? ids : [serial]).map(
    (id): Facts => (format === 'iss_sub' ? { format, iss: issuer, sub: id } : { format, id }),
  );
  const [only, ...others] = named as [Facts, ...Facts[]];
  const device: Facts = others.length === 0 ? only : { format: 'aliases', identifiers: named };
  const owners = new Set(devices.flatMap(({ owners: all = [] }) => all.map((owner) => owner.toLowerCase())));
  const [email] = owners;
  return {
    format: 'complex',
    device,
    ...(owners.size === 1 && email !== undefined && { user: { format: 'email', email } }),
  };
}

/** As SSF 1.0 has it: of complex ones each member that both have is the same; what one leaves out is any. */
export function isSameSubject(one: Facts, other: Facts): boolean {
  if (one.format !== 'complex' && other.format !== 'complex') return isSameName(one, other);
  if (one.format !== 'complex') return members(other).some(([, subject]) => isSameName(one, subject));
  if (other.format !== 'complex') return isSameSubject(other, one);
  const shared = members(one).flatMap(([name, subject]) =>
    isFacts(other[name]) ? [isSameName(subject, other[name])] : [],
  );
  return shared.length > 0 && shared.every(Boolean);
}

function members(subject: Facts): [string, Facts][] {
  return Object.entries(subject).flatMap(([name, value]) => (isFacts(value) ? [[name, value]] : []));
}

function isSameName(one: Facts, other: Facts): boolean {
  const names = [namesOf(one), namesOf(other)] as const;
  return names[0].some((name) => names[1].includes(name));
}

/** Addresses are the same in any case. */
function namesOf(subject: Facts): string[] {
  const { format, identifiers } = subject;
  if (format === 'aliases' && Array.isArray(identifiers)) return identifiers.filter(isFacts).flatMap(namesOf);
  const text = JSON.stringify(Object.entries(subject).sort(([a], [b]) => (a < b ? -1 : 1)));
  return [format === 'email' ? text.toLowerCase() : text];
}
