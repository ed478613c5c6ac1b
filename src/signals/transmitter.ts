// signals: the transmitter: outcomes that are known go out as security event tokens, each once for each stream, in order. In: the audit after the position
// of a stream, and what its receiver asked for. Out: signed SETs that wait in the stream until the receiver takes them, pushed (RFC 8935) or fetched
// (RFC 8936). INVARIANT: a SET is committed with the position that passed its outcome, so a crash sends the same text again and never another one.
import { hash } from 'node:crypto';
import { isoTime, timeText } from '../base/time.ts';
import { giveWay } from '../base/turns.ts';
import type { KnownTraits } from '../domain/action.ts';
import type { Database } from '../domain/database.ts';
import { lineOf } from '../domain/errors.ts';
import type { Facts } from '../domain/facts.ts';
import { type LiveReader, liveEventsOf } from '../domain/live-event.ts';
import type { Alert } from '../domain/notification.ts';
import type { Clock, Ids, Log, Random } from '../domain/ports.ts';
import { VERIFICATION_EVENT } from '../domain/signal.ts';
import {
  addressesOf,
  doneIn,
  PUSH,
  type SignalReceiver,
  type SignalStream,
  type SignalsOut,
  type StreamState,
  type StreamStore,
  sentEventsOf,
  WAITING_MAX,
  type WaitingSet,
} from '../domain/signal-stream.ts';
import type { AuditReader } from '../domain/store-ports.ts';
import { BATCH, claimMsOf, DeliveryLoop, pauseAfter } from '../runtime/notify/delivery.ts';
import { type Delivery, endpointOf, type NotifySettings, sendChecked } from '../runtime/notify/settings.ts';
import { OwnKeys } from './own-keys.ts';
import { SET_TYPE, signSet } from './set.ts';

const ENTRIES_AT_ONCE = 100;
/** Entries that are not for it, before its position is stored again. */
const IDLE_ENTRIES = 1_000;
/** A SET that its receiver refuses so often with 400, which RFC 8935 has for a SET that it will not take, is given up. */
const REFUSALS_MAX = 10;
/** One claim is for so long; who pushes for longer asks for another one. */
const PUSHING_MS = 30_000;
/** No pause is as long: such a claim is of a clock that was set back. */
const CLAIM_MAX_MS = 2 * 3_600_000;
/** A receiver that takes nothing for this long needs a person. */
const ALERT_AFTER_MS = 15 * 60_000;

export interface TransmitterDeps extends Pick<SignalsOut, 'issuer' | 'api' | 'keysAt'> {
  actions: KnownTraits;
  receivers: ReadonlyMap<string, SignalReceiver>;
  store: StreamStore;
  reader: Pick<AuditReader, 'audit'> & LiveReader;
  keys: OwnKeys;
  /** Several processes work on the streams. */
  isShared: boolean;
  clock: Clock;
  ids: Ids;
  random: Random;
  log: Log;
  send?: typeof sendChecked;
}

export class Transmitter extends DeliveryLoop implements SignalsOut {
  /** For who delivers elsewhere. */
  onChanged: (() => void) | undefined;
  readonly issuer: string;
  readonly api: string;
  readonly keysAt: string;
  readonly receivers: ReadonlyMap<string, SignalReceiver>;
  readonly store: StreamStore;
  /** By stream: up to which entry nothing after its stored position is for it. */
  private readonly scanned = new Map<string, { from: number; upTo: number }>();
  /** By stream: how often its first SET was answered that it is wrong. Forgotten with the process, which asks again then. */
  private readonly refusals = new Map<string, { jti: string; count: number }>();
  private heard = new AbortController();
  /** By stream: ends the request that waits for it. */
  private readonly polls = new Map<string, AbortController>();

  constructor(private readonly deps: TransmitterDeps) {
    super({ clock: deps.clock, log: deps.log, what: 'signals' });
    this.issuer = deps.issuer;
    this.api = deps.api;
    this.keysAt = deps.keysAt;
    this.receivers = deps.receivers;
    this.store = deps.store;
  }

  /** What a process that died was pushing is due again. Errors: AppError `store_failed`. */
  async begin(): Promise<void> {
    if (this.deps.isShared) return;
    for (const { id, dueAt } of await this.store.streams())
      if (dueAt > 0) await this.store.change(id, { dueAt: 0 }, []);
  }

  override poke(): void {
    super.poke();
    this.heard.abort();
    this.heard = new AbortController();
  }

  newId(): string {
    return this.deps.ids.next();
  }

  async publicKeys(): Promise<object[]> {
    return this.deps.keys.published();
  }

  endpointFault(receiver: SignalReceiver, endpoint: string): string | undefined {
    const found = endpointOf(endpoint, receiver);
    return typeof found === 'string' ? found : undefined;
  }

  protected async attempt(signal: AbortSignal): Promise<'more' | 'done'> {
    const streams = await this.served();
    const rounds = await Promise.allSettled(streams.map((stream) => this.serve(stream, signal)));
    for (const round of rounds) if (round.status === 'rejected') throw round.reason;
    return rounds.some((round) => round.status === 'fulfilled' && round.value) ? 'more' : 'done';
  }

  /** Those of receivers that the settings no longer have wait, as paused ones do. */
  private async served(): Promise<StreamState[]> {
    const streams = await this.store.streams();
    return streams.filter(({ status, receiver }) => status === 'enabled' && this.receivers.has(receiver));
  }

  /** Whether more is due at once. */
  private async serve(stream: StreamState, signal: AbortSignal): Promise<boolean> {
    const waiting = await this.collect(stream);
    if (waiting === 0 || stream.method !== PUSH || !this.isDue(stream)) return false;
    return this.push(stream, signal);
  }

  private isDue({ dueAt }: SignalStream): boolean {
    const nowMs = this.deps.clock.nowMs();
    return dueAt <= nowMs || dueAt > nowMs + CLAIM_MAX_MS;
  }

  protected async nextDueAt(): Promise<number | undefined> {
    const due = (await this.served()).filter(({ method, waiting }) => method === PUSH && waiting > 0);
    return due.length === 0 ? undefined : Math.min(...due.map(({ dueAt }) => dueAt));
  }

  /** Signs what is new for the stream. Out: how many wait in it then. Errors: AppError `store_failed`. */
  private async collect(stream: StreamState): Promise<number> {
    const { reader, log } = this.deps;
    const receiver = this.receivers.get(stream.receiver);
    if (!receiver) return stream.waiting;
    const known = this.scanned.get(stream.id);
    let stored = stream.seq;
    let upTo = known?.from === stored ? known.upTo : stored;
    let { waiting } = stream;
    while (waiting < WAITING_MAX) {
      const entries = await reader.audit({ afterSeq: upTo, limit: ENTRIES_AT_ONCE });
      const [first] = entries;
      if (!first) break;
      if (first.seq > upTo + 1)
        log.error(
          { to: receiver.name },
          `signals of entries ${upTo + 1} to ${first.seq - 1} are lost: they were archived before ${receiver.name} took them`,
        );
      const live = await liveEventsOf(reader, entries);
      const sets: WaitingSet[] = [];
      for (const one of live.values()) {
        const txn = doneIn(one)?.id;
        for (const { type, subject, body } of sentEventsOf(one, this.deps.actions, receiver, stream, this.issuer)) {
          // One outcome, one stream, one kind of event: one name, whoever signs it and however often.
          const jti = hash('sha256', [stream.id, txn, type].join('\n'), 'base64url');
          sets.push(await this.signed(receiver, one.entry.seq, { jti, txn, subject, type, body }));
        }
      }
      upTo = entries.at(-1)?.seq ?? upTo;
      if (sets.length > 0 || upTo - stored >= IDLE_ENTRIES) {
        // Another process was first: the next look reads what it stored.
        if (!(await this.store.collect(stream.id, stored, upTo, sets))) return waiting;
        stored = upTo;
        waiting += sets.length;
      }
      this.scanned.set(stream.id, { from: stored, upTo });
      await giveWay();
    }
    return waiting;
  }

  private async signed(
    { audience }: SignalReceiver,
    seq: number,
    {
      jti,
      txn,
      subject,
      type,
      body,
    }: { jti: string; txn: string | undefined; subject: Facts; type: string; body: Facts },
  ): Promise<WaitingSet> {
    const at = this.deps.clock.nowMs();
    const aud = audience.length === 1 ? (audience[0] as string) : [...audience];
    const claims = {
      iss: this.issuer,
      iat: Math.floor(at / 1_000),
      jti,
      aud,
      sub_id: subject,
      events: { [type]: body },
    };
    const key = await this.deps.keys.current();
    return { jti, seq, at, text: await signSet(txn === undefined ? claims : { ...claims, txn }, key) };
  }

  /** Whether more is due at once. */
  private async push(stream: StreamState, signal: AbortSignal): Promise<boolean> {
    const { clock, log, random } = this.deps;
    const { id, receiver: name } = stream;
    const receiver = this.receivers.get(name) as SignalReceiver;
    if (!(await this.store.claim(stream, clock.nowMs() + claimMsOf([receiver]) + PUSHING_MS))) return false;
    const endsAtMs = clock.monotonicMs() + PUSHING_MS;
    const sets = await this.store.waiting(id, BATCH);
    for (const set of sets) {
      const { ok, note, status } = await this.deliver(stream, receiver, set, signal);
      if (ok) {
        await this.store.taken(id, [set.jti], clock.nowMs());
        stream.failures = 0;
      } else if (signal.aborted)
        break; // aborted by us: not its failure
      else {
        const failures = stream.failures + 1;
        log.warn({ to: name, attempts: failures }, `a signal was not taken by ${name}: ${note}`);
        const known = this.refusals.get(id);
        const refused = (known?.jti === set.jti ? known.count : 0) + (status === 400 ? 1 : 0);
        this.refusals.set(id, { jti: set.jti, count: refused });
        if (status === 400 && refused >= REFUSALS_MAX) {
          await this.store.taken(id, [set.jti], clock.nowMs(), [refusedNote(name, set.jti, note)]);
          return this.store.change(id, { dueAt: 0, note }, []).then(() => true);
        }
        await this.store.change(id, { failures, note, dueAt: clock.nowMs() + pauseAfter(failures, random) }, []);
        return false;
      }
      if (clock.monotonicMs() > endsAtMs) break;
    }
    await this.store.change(id, { dueAt: 0 }, []);
    return !signal.aborted && sets.length > 0;
  }

  private async deliver(
    { endpoint = '', authorization }: SignalStream,
    receiver: SignalReceiver,
    { text }: WaitingSet,
    signal: AbortSignal,
  ): Promise<Delivery> {
    // The settings may be others by now.
    const url = endpointOf(endpoint, receiver);
    if (typeof url === 'string') return { ok: false, note: url };
    const headers = {
      'Content-Type': `application/${SET_TYPE}`,
      'Content-Length': String(Buffer.byteLength(text)),
      Accept: 'application/json',
      'User-Agent': 'trustward',
      ...(authorization !== undefined && { Authorization: authorization }),
    };
    return (this.deps.send ?? sendChecked)({ ...receiver, url }, { method: 'POST', headers, body: text }, signal);
  }

  async poll(
    id: string,
    { max, waitMs, signal }: { max: number; waitMs: number; signal: AbortSignal },
  ): Promise<{ sets: WaitingSet[]; more: boolean }> {
    const { clock } = this.deps;
    const untilMs = clock.monotonicMs() + waitMs;
    // A receiver that asks again has given up the request before.
    this.polls.get(id)?.abort();
    const mine = new AbortController();
    this.polls.set(id, mine);
    const ended = AbortSignal.any([signal, mine.signal]);
    try {
      for (;;) {
        const heard = this.heard.signal;
        const stream = (await this.store.streams()).find((one) => one.id === id);
        const isOpen = stream?.status === 'enabled';
        if (stream && isOpen) await this.collect(stream);
        const found = isOpen ? await this.store.waiting(id, max + 1) : [];
        const leftMs = untilMs - clock.monotonicMs();
        if (found.length > 0 || leftMs <= 0 || ended.aborted || !stream)
          return { sets: found.slice(0, max), more: found.length > max };
        await clock.sleep(leftMs, AbortSignal.any([ended, heard])).catch(() => {}); // something was committed, or it is over
      }
    } finally {
      if (this.polls.get(id) === mine) this.polls.delete(id);
    }
  }

  async verify(id: string, state: string | undefined): Promise<void> {
    for (let again = true; again; ) {
      const stream = (await this.store.streams()).find((one) => one.id === id);
      const receiver = stream && this.receivers.get(stream.receiver);
      if (!stream || !receiver) return;
      const subject = { format: 'opaque', id };
      const body: Facts = state === undefined ? {} : { state };
      const event = { subject, type: VERIFICATION_EVENT, body, jti: this.newId(), txn: undefined };
      const set = await this.signed(receiver, stream.seq, event);
      again = !(await this.store.collect(id, stream.seq, stream.seq, [set]));
    }
    this.changed();
  }

  changed(): void {
    this.poke();
    this.onChanged?.();
  }

  /** Delivers once what there is, for a process that ends. Never throws. */
  async flush(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.round(signal)) === 'more');
  }

  async alerts(): Promise<Alert[]> {
    const nowMs = this.deps.clock.nowMs();
    return (await this.served()).flatMap((stream): Alert[] => {
      const { receiver, waiting, oldestAt, note } = stream;
      if (oldestAt === undefined || nowMs - oldestAt < ALERT_AFTER_MS) return [];
      const full = waiting < WAITING_MAX ? '' : ', and the stream takes no more: what comes later waits in the audit';
      const why = note === undefined ? '' : ` (${note})`;
      const text = `${receiver} has not taken signals of ${timeText(oldestAt)}${why}: ${waiting} wait${full}`;
      return [
        {
          key: `signals ${receiver}`,
          code: 'signals_behind',
          text,
          about: { receiver, waiting, since: isoTime(oldestAt) },
        },
      ];
    });
  }

  /** For anybody, one line for each stream; the log and the alert say why one fails. What cannot be read has a check of its own. */
  async lines(): Promise<{ receiver: string; text: string }[]> {
    const streams = await this.store.streams().catch((error: unknown) => {
      this.deps.log.warn({}, `streams of signals could not be read: ${lineOf(error)}`);
      return [];
    });
    return streams.map(({ receiver, method, status, waiting, seq, deliveredAt, failures }) => {
      const taken = deliveredAt === undefined ? 'nothing taken yet' : `last taken ${timeText(deliveredAt)}`;
      const failing = failures === 0 ? [] : [`not taken ${failures} times in a row`];
      const parts = [
        method === PUSH ? 'push' : 'poll',
        status,
        taken,
        ...failing,
        `${waiting} wait`,
        `at entry ${seq}`,
      ];
      const isKnown = this.receivers.has(receiver);
      return { receiver, text: [...parts, ...(isKnown ? [] : ['no longer in TRUSTWARD_SIGNAL_RECEIVERS'])].join('; ') };
    });
  }
}

interface ComposedParts
  extends Omit<TransmitterDeps, 'issuer' | 'api' | 'keysAt' | 'keys' | 'isShared' | 'store' | 'reader' | 'receivers'> {
  store: TransmitterDeps['reader'] & { signalStreams(): StreamStore };
}

/** Undefined: nobody may have a stream. */
export function transmitterOf(
  {
    database,
    notify: { publicUrl = '', receivers },
  }: { database: Database; notify: Pick<NotifySettings, 'publicUrl' | 'receivers'> },
  { store: reader, ...parts }: ComposedParts,
) {
  if (receivers.size === 0) return undefined;
  const isShared = database.kind === 'postgres';
  const addresses = addressesOf(publicUrl, isShared ? database.organization : undefined);
  const store = reader.signalStreams();
  return new Transmitter({
    ...parts,
    ...addresses,
    receivers,
    store,
    reader,
    isShared,
    keys: new OwnKeys(store, parts.clock),
  });
}

/** What a receiver will never take is over. */
export function refusedNote(receiver: string, jti: string, note: string) {
  return { kind: 'stream.refused', body: { receiver, jti, note } } as const;
}
