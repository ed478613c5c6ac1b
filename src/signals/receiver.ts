// signals: SETs that come in, pushed or polled. In: their texts, the transmitters of the rules in force. Out: what is stored, or why it is refused. INVARIANT:
// acknowledged is only what is committed, with its id; of a flood, what is cheap to refuse is refused first, and the rest waits within bounds.
import { createHash, timingSafeEqual } from 'node:crypto';
import { giveWay } from '../base/turns.ts';
import { lineOf } from '../domain/errors.ts';
import { SIGNAL_ID, type TrustEvent } from '../domain/event.ts';
import { type Facts, isFacts, ownText } from '../domain/facts.ts';
import type { IdentityReader } from '../domain/identity.ts';
import type { Clock, Log } from '../domain/ports.ts';
import { eventWithoutSecrets, type SecretPlace } from '../domain/secrets.ts';
import {
  NO_TRANSMITTER,
  type ReceivedSignal,
  type SetRefusal,
  SIGNALS_WAITING_MAX,
  type SignalAnswer,
  type SignalBatch,
  type SignalBox,
  type SignalReceiving,
  STREAM_UPDATED_EVENT,
  type StreamState,
  type Transmitter,
  VERIFICATION_EVENT,
  type VerifiedSet,
} from '../domain/signal.ts';
import { NotYet, SET_TYPE, type SetChecks, SKEW_MS, TransmitterKeys, verifySet } from './set.ts';
import { namesOf } from './subject-names.ts';

export interface ReceiverParts {
  /** Of the rules in force. */
  transmitters(): readonly Transmitter[];
  box: SignalBox;
  reader: Pick<IdentityReader, 'identitiesNamed'>;
  /** The text of a JWKS. Errors: AppError. */
  readKeys(transmitter: Transmitter): Promise<string>;
  /** What the place of a secret has; undefined: it cannot be read. */
  secretOf(place: SecretPlace): Promise<string | undefined>;
  clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  log: Log;
  /** Signals were committed that nothing has taken up. It returns at once. */
  arrived(): void;
}

/** Signatures checked at a time, SETs that wait for that, and those of one transmitter that wait for their commit. */
const VERIFYING_MAX = 8;
const WAITING_MAX = 2_000;
const COMMITTED_AT_ONCE = 500;
/** Refusals are counted for people: at the latest then. */
const COUNTED_AFTER_MS = 10_000;
const FULL_AGAIN_MS = 5_000;
const RETRY_S = 5;

/** What one SET leads to. */
export type Taken = 'committed' | { refused: SetRefusal } | { later: number };

interface Waiting {
  set: VerifiedSet;
  resolve(taken: Taken): void;
}

export class Receiver implements SignalReceiving {
  private readonly inlets = new Map<string, { of: string; inlet: Inlet }>();
  private readonly turns = new Turns();

  constructor(private readonly parts: ReceiverParts) {}

  async receive(
    name: string,
    text: string,
    { authorization, type = '', address = '' }: Parameters<SignalReceiving['receive']>[2],
  ): Promise<SignalAnswer> {
    const transmitter = this.parts.transmitters().find((one) => one.name === name && one.delivery.method === 'push');
    if (!transmitter) return { status: 404, ...NO_TRANSMITTER };
    const inlet = this.inletOf(transmitter);
    if (transmitter.pushBearer && !(await this.isBearer(transmitter.pushBearer, authorization))) {
      inlet.count('bearer');
      return refusal(401, 'authentication_failed', 'the request has not the bearer token of this transmitter');
    }
    if (type.split(';')[0]?.trim().toLowerCase() !== `application/${SET_TYPE}`) {
      inlet.count('form');
      return refusal(400, 'invalid_request', `the content type must be application/${SET_TYPE}`);
    }
    const taken = await this.take(transmitter, text, address);
    if (taken === 'committed') return { status: 202 };
    if ('later' in taken) return { status: 503, retryAfterS: Math.max(1, Math.ceil(taken.later / 1_000)) };
    return refusal(400, taken.refused.err, taken.refused.description);
  }

  /** `from`: who shares a turn with others from there; of what was polled, its transmitter. Never rejects. */
  async take(transmitter: Transmitter, text: string, from = transmitter.name): Promise<Taken> {
    const inlet = this.inletOf(transmitter);
    if (inlet.isFull()) return { later: RETRY_S * 1_000 };
    try {
      const verdict = await inlet.verify(text, (check) => this.turns.take(from, check));
      if ('refused' in verdict) {
        inlet.count(verdict.refused.reason);
        return verdict;
      }
      return await inlet.commit(verdict.set);
    } catch (error) {
      const later = error instanceof NotYet ? error.retryAfterMs : RETRY_S * 1_000;
      if (!(error instanceof NotYet)) inlet.failed(error);
      return { later };
    }
  }

  /** What a contact proves, or shows of the stream. Errors: those of the store. */
  async contact(
    transmitter: Transmitter,
    shown: Pick<SignalBatch, 'proven'> & { stream?: StreamState | undefined },
  ): Promise<void> {
    await this.inletOf(transmitter).store([], shown);
  }

  private async isBearer(place: SecretPlace, authorization = ''): Promise<boolean> {
    const expected = await this.parts.secretOf(place);
    const [, given] = /^bearer +(\S+)$/i.exec(authorization) ?? [];
    if (expected === undefined || expected === '' || given === undefined) return false;
    return timingSafeEqual(hashed(expected), hashed(given));
  }

  /** Another issuer, audience or place of keys makes another one: keys of the one before count no longer. */
  private inletOf(transmitter: Transmitter): Inlet {
    const { name, issuer, jwks } = transmitter;
    const of = JSON.stringify([issuer, jwks]);
    const known = this.inlets.get(name);
    if (known?.of === of) {
      known.inlet.transmitter = transmitter;
      return known.inlet;
    }
    const inlet = new Inlet(this.parts, transmitter);
    this.inlets.set(name, { of, inlet });
    return inlet;
  }
}

/** INVARIANT: senders take turns, and what is too much leaves the one who has most waiting: a flood from one address keeps no other out. */
class Turns {
  private underWay = 0;
  private waiting = 0;
  /** By sender, who is next first. */
  private readonly lines = new Map<string, ((isTurn: boolean) => void)[]>();

  /** Errors: NotYet, and those of the work. */
  async take<T>(sender: string, work: () => Promise<T>): Promise<T> {
    if (this.underWay < VERIFYING_MAX) this.underWay += 1;
    else if (!(await this.turn(sender))) throw new NotYet();
    try {
      return await work();
    } finally {
      this.pass();
    }
  }

  private turn(sender: string): Promise<boolean> {
    return new Promise((resolve) => {
      const line = this.lines.get(sender) ?? [];
      line.push(resolve);
      this.lines.set(sender, line);
      this.waiting += 1;
      if (this.waiting <= WAITING_MAX) return;
      const [most, longest] = [...this.lines].reduce((top, one) => (one[1].length >= top[1].length ? one : top));
      longest.pop()?.(false);
      if (longest.length === 0) this.lines.delete(most);
      this.waiting -= 1;
    });
  }

  private pass(): void {
    const [first] = this.lines;
    if (!first) {
      this.underWay -= 1;
      return;
    }
    const [sender, line] = first;
    const next = line.shift();
    // The others come first.
    this.lines.delete(sender);
    if (line.length > 0) this.lines.set(sender, line);
    this.waiting -= 1;
    next?.(true);
  }
}

function hashed(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function refusal(
  status: 400 | 401 | 404,
  err: SetRefusal['err'],
  description: string,
): Extract<SignalAnswer, { err: unknown }> {
  return { status, err, description };
}

/** SETs of one transmitter. */
class Inlet {
  private readonly keys: TransmitterKeys;
  private readonly waiting: Waiting[] = [];
  private isCommitting = false;
  private fullUntilMs = Number.NEGATIVE_INFINITY;
  private refused: Record<string, number> = {};
  private countedAtMs = 0;
  private fault = '';

  constructor(
    private readonly parts: ReceiverParts,
    public transmitter: Transmitter,
  ) {
    this.keys = new TransmitterKeys(() => parts.readKeys(this.transmitter), parts.clock);
  }

  isFull(): boolean {
    return this.waiting.length >= WAITING_MAX || this.parts.clock.monotonicMs() < this.fullUntilMs;
  }

  async verify(text: string, inTurn: SetChecks['inTurn']): ReturnType<typeof verifySet> {
    const { issuer, audience, oldestMs } = this.transmitter;
    const nowMs = this.parts.clock.nowMs();
    return verifySet(text, { issuer, audience, oldestMs, nowMs, keys: this.keys, inTurn });
  }

  /** The log has a fault once, until another one comes. */
  failed(error: unknown): void {
    const text = lineOf(error);
    if (text !== this.fault)
      this.parts.log.warn({ transmitter: this.transmitter.name }, `SETs are not taken now: ${text}`);
    this.fault = text;
  }

  count(reason: string): void {
    this.refused[reason] = (this.refused[reason] ?? 0) + 1;
    const nowMs = this.parts.clock.monotonicMs();
    if (nowMs - this.countedAtMs < COUNTED_AFTER_MS) return;
    this.countedAtMs = nowMs;
    void this.store([], { proven: undefined }).catch((error) => this.failed(error));
  }

  commit(set: VerifiedSet): Promise<Taken> {
    return new Promise((resolve) => {
      this.waiting.push({ set, resolve });
      if (!this.isCommitting) void this.commitAll();
    });
  }

  private async commitAll(): Promise<void> {
    this.isCommitting = true;
    while (this.waiting.length > 0) {
      const some = this.waiting.splice(0, COMMITTED_AT_ONCE);
      try {
        await this.commitSome(some);
      } catch (error) {
        this.failed(error);
        for (const { resolve } of some) resolve({ later: RETRY_S * 1_000 });
      }
      await giveWay();
    }
    this.isCommitting = false;
  }

  private async commitSome(some: readonly Waiting[]): Promise<void> {
    const state = new StreamChange(
      this.transmitter,
      some.some(({ set }) => isOfStream(set)) ? await this.stateOf() : undefined,
    );
    const signals: ReceivedSignal[] = [];
    const committed: Waiting[] = [];
    for (const one of some) {
      const refused = state.accept(one.set);
      if (refused) {
        this.count(refused.reason);
        one.resolve({ refused });
      } else {
        signals.push(await this.received(one.set));
        committed.push(one);
      }
    }
    await this.store(signals, { proven: state.proven, stream: state.changed });
    this.fault = '';
    for (const { resolve } of committed) resolve('committed');
  }

  private async stateOf(): Promise<StreamState> {
    const all = await this.parts.box.states();
    return all.find(({ name }) => name === this.transmitter.name)?.stream ?? { status: 'unknown' };
  }

  async store(
    signals: readonly ReceivedSignal[],
    { proven, stream }: Pick<SignalBatch, 'proven'> & { stream?: StreamState | undefined },
  ): Promise<void> {
    const { box, clock, arrived } = this.parts;
    const refused = this.refused;
    this.refused = {};
    const { name: transmitter } = this.transmitter;
    const batch = { transmitter, atMs: clock.nowMs(), signals, proven, refused, stream };
    const { waiting } = await box.receive(batch).catch((error) => {
      for (const [reason, count] of Object.entries(refused)) this.refused[reason] = (this.refused[reason] ?? 0) + count;
      throw error;
    });
    if (waiting >= SIGNALS_WAITING_MAX) this.fullUntilMs = clock.monotonicMs() + FULL_AGAIN_MS;
    if (signals.some(({ event }) => event !== undefined)) arrived();
  }

  private async received(set: VerifiedSet): Promise<ReceivedSignal> {
    const { oldestMs, events, subjects } = this.transmitter;
    const kept = { jti: set.jti, untilMs: set.issuedAtMs + oldestMs + SKEW_MS };
    const isWanted = !isOfStream(set) && (events === undefined || events.includes(set.event));
    if (!isWanted) return { ...kept, event: undefined, isUnknown: false };
    const { isKnown, ...names } = await namesOf(set.subject, subjects, this.parts.reader);
    return { ...kept, event: this.eventOf(set, names), isUnknown: !isKnown };
  }

  private eventOf(
    { jti, event: type, body, subject, txn, happenedAtMs }: VerifiedSet,
    names: Pick<TrustEvent, 'deviceId' | 'serialNumber' | 'email' | 'serviceId'>,
  ): TrustEvent {
    const { name: transmitter } = this.transmitter;
    const { value } = eventWithoutSecrets({ ...body, sub_id: subject, ...(txn !== undefined && { txn }) });
    return {
      id: `${SIGNAL_ID}${transmitter}:${jti}`,
      transmitter,
      createdAtMs: happenedAtMs,
      ...names,
      serviceName: undefined,
      ...{ type, subType: '', action: '', severity: '', result: '' },
      body: isFacts(value) ? (JSON.parse(JSON.stringify(value, digits)) as Facts) : {},
    };
  }
}

/** Stored bodies have big integers as text. */
function digits(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}` : value;
}

function isOfStream({ event }: VerifiedSet): boolean {
  return event === VERIFICATION_EVENT || event === STREAM_UPDATED_EVENT;
}

export function digestOfState(state: string): string {
  return hashed(state).toString('base64url');
}

/** What SETs about the stream itself change of what is known of it. */
class StreamChange {
  proven: SignalBatch['proven'];
  changed: StreamState | undefined;

  constructor(
    private readonly transmitter: Transmitter,
    private state: StreamState | undefined,
  ) {}

  /** Why it is refused; undefined: it is not. */
  accept(set: VerifiedSet): SetRefusal | undefined {
    if (!this.state || !isOfStream(set)) return undefined;
    const { id } = this.state;
    if (id !== undefined && (ownText(set.subject, 'format') !== 'opaque' || ownText(set.subject, 'id') !== id))
      return { reason: 'subject', err: 'invalid_request', description: 'the event is about another stream' };
    return set.event === VERIFICATION_EVENT ? this.verified(set, this.state) : this.updated(set, this.state);
  }

  private verified({ body, issuedAtMs }: VerifiedSet, state: StreamState): SetRefusal | undefined {
    const given = ownText(body, 'state');
    const { keepsMs, stream } = this.transmitter;
    if (given === undefined) {
      // Sent unasked: it proves something only where nothing can be asked for.
      if (!stream) this.proves({ fromMs: issuedAtMs - keepsMs, toMs: issuedAtMs });
      return undefined;
    }
    if (state.asked?.state !== digestOfState(given)) {
      const description = 'the state is not the one that was asked for last';
      return { reason: 'state', err: 'invalid_state', description };
    }
    this.proves({ fromMs: state.asked.atMs - keepsMs, toMs: state.asked.atMs });
    this.change({ ...state, asked: undefined });
    return undefined;
  }

  private updated({ body, issuedAtMs }: VerifiedSet, state: StreamState): undefined {
    const status = ownText(body, 'status');
    if (status !== 'enabled' && status !== 'paused' && status !== 'disabled') return;
    if (status === 'enabled' && (state.status === 'paused' || state.status === 'disabled'))
      this.proven = { fromMs: issuedAtMs, toMs: issuedAtMs, isAnew: true };
    this.change({ ...state, status });
  }

  /** While the stream is paused or disabled, nothing is. */
  private proves(proven: NonNullable<SignalBatch['proven']>): void {
    if (this.state?.status !== 'paused' && this.state?.status !== 'disabled') this.proven ??= proven;
  }

  private change(state: StreamState): void {
    this.state = state;
    this.changed = state;
  }
}
