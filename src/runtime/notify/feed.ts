// notify: sends decisions and outcomes to one webhook, in order, several in a delivery. In: the audit after a stored position. Out: signed
// deliveries, and the position behind the last that was accepted. At least once: a crash in between delivers again, and each event has the
// number of its entry. One process at a time delivers. It never gives up, never skips, and holds one delivery in memory.

import { jsonPieces } from '../../base/json.ts';
import { isoTime, timeText } from '../../base/time.ts';
import { giveWay } from '../../base/turns.ts';
import type { AuditEntry } from '../../domain/audit-entry.ts';
import { lineOf } from '../../domain/errors.ts';
import { type EventSchema, type LiveEvent, type LiveReader, liveEventsOf } from '../../domain/live-event.ts';
import type { Alert, FeedClaim, FeedPositions } from '../../domain/notification.ts';
import type { Clock, Ids, Log, Random } from '../../domain/ports.ts';
import type { AuditReader } from '../../domain/store-ports.ts';
import { claimMsOf, pauseAfter, type Sent, send } from './delivery.ts';
import type { FeedSettings, Webhook } from './settings.ts';

// The events of one delivery, as they are collected.

const BYTES_MAX = 1024 * 1024;

class Batch {
  readonly texts: string[] = [];
  /** When its first event was found, on the monotonic clock. */
  foundAtMs = 0;
  /** The time of its first event, epoch ms. */
  oldestAt: number | undefined;
  readonly gaps: { from: number; to: number }[] = [];
  private readonly seqs: number[] = [];
  private length = 0;

  constructor(
    private readonly settings: FeedSettings,
    private readonly view: FeedDeps['view'],
  ) {}

  get isEmpty(): boolean {
    return this.texts.length === 0 && this.gaps.length === 0;
  }

  get isFull(): boolean {
    return this.texts.length >= this.settings.most || this.length >= BYTES_MAX;
  }

  /** The numbers of its first and last event, and what is missing. */
  get head(): object {
    const { seqs, gaps } = this;
    return { first: seqs[0] ?? null, last: seqs.at(-1) ?? null, ...(gaps.length > 0 && { gaps }) };
  }

  /** @returns the number of the last entry that it took: not all of them when it is full. */
  async take(reader: LiveReader, entries: readonly AuditEntry[], after: number, nowMs: number): Promise<number> {
    const live = await liveEventsOf(reader, entries);
    let upTo = after;
    for (const entry of entries) {
      if (this.isFull) return upTo;
      if (entry.seq > upTo + 1)
        this.found(entry.at, nowMs, () => this.gaps.push({ from: upTo + 1, to: entry.seq - 1 }));
      const event = live.get(entry.seq);
      if (event && this.isWanted(event)) this.found(entry.at, nowMs, () => this.add(event));
      upTo = entry.seq;
    }
    return upTo;
  }

  private found(at: number, nowMs: number, add: () => void): void {
    if (this.isEmpty) {
      this.foundAtMs = nowMs;
      this.oldestAt = at;
    }
    add();
  }

  private add(event: LiveEvent): void {
    const text = [...jsonPieces(this.view(event, this.settings.schema))].join('');
    this.texts.push(text);
    this.seqs.push(event.entry.seq);
    this.length += text.length;
  }

  private isWanted({ event, rules }: LiveEvent): boolean {
    const { events, rules: wanted } = this.settings;
    return events.includes(event) && (wanted === undefined || rules.some((rule) => wanted.includes(rule)));
  }
}

export type FedWebhook = Webhook & { feed: FeedSettings };

export interface FeedDeps {
  reader: Pick<AuditReader, 'audit' | 'auditHead'> & LiveReader;
  positions: FeedPositions;
  /** Any process delivers, and none lasts: what fails is known by how long the next event waits in the record. */
  isShared?: boolean;
  /** How an event is shown; without a schema, in our own. */
  view(live: LiveEvent, schema?: EventSchema): object;
  clock: Clock;
  ids: Ids;
  random: Random;
  log: Log;
  send?: typeof send;
}

const PAUSE_MAX_MS = 300_000;
/** Commits come faster than this while a run acts. */
const LOOK_EVERY_MS = 250;
/** A look without a wake-up, for a clock that jumps or a store that failed. */
const LOOK_AGAIN_MS = 60_000;
/** Entries that are not for it, before its position is stored again. */
const IDLE_ENTRIES = 1_000;
const ENTRIES_AT_ONCE = 100;

class Feed {
  private wake = new AbortController();
  /** The last entry that was looked at. */
  private scanned = 0;
  private saved = 0;
  /** As it is stored: another process may move it. */
  private stored = 0;
  private batch: Batch;
  /** Of the batch; set at its first attempt, so that all attempts are one delivery. */
  private delivery: Sent | undefined;
  private failures = 0;

  constructor(
    private readonly deps: FeedDeps,
    readonly webhook: FedWebhook,
  ) {
    this.batch = new Batch(webhook.feed, deps.view);
  }

  /** A webhook that is new gets what comes from now on. Errors: AppError `store_failed`. */
  async begin(): Promise<void> {
    const { positions, reader } = this.deps;
    const { name } = this.webhook;
    if ((await positions.positionOf(name)) === undefined) await positions.beginAt(name, (await reader.auditHead()).seq);
    await this.readPosition();
  }

  private async readPosition(): Promise<void> {
    const { positions, reader } = this.deps;
    const [{ seq: head }, known] = [await reader.auditHead(), await positions.positionOf(this.webhook.name)];
    this.stored = known ?? head;
    this.scanned = this.saved = Math.min(this.stored, head);
    this.delivery = undefined;
    this.failures = 0;
    this.batch = new Batch(this.webhook.feed, this.deps.view);
  }

  /** What another process delivered meanwhile is not delivered again. */
  private async catchUp(): Promise<void> {
    if ((await this.deps.positions.positionOf(this.webhook.name)) !== this.stored) await this.readPosition();
  }

  poke(): void {
    this.wake.abort();
  }

  /** Since when the oldest event waits that could not be delivered, epoch ms; undefined: the last delivery was accepted. */
  failingSince(): number | undefined {
    return this.failures === 0 && !this.deps.isShared ? undefined : this.batch.oldestAt;
  }

  /** Reads what waits, without delivering it. Errors: AppError `store_failed`. */
  async look(signal: AbortSignal): Promise<void> {
    await this.catchUp();
    if (this.delivery === undefined) await this.collect(signal);
  }

  /** The number of the last entry that needs no delivery any more. */
  get position(): number {
    return this.batch.isEmpty ? this.scanned : this.saved;
  }

  /** Until `signal` aborts. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const rest = async (ms: number, until: AbortSignal) => {
      if (!until.aborted) await this.deps.clock.sleep(ms, until).catch(() => {}); // woken, or stopped
    };
    while (!signal.aborted) {
      this.wake = new AbortController();
      const step = await this.step(signal, false);
      if (step === 'failed') await rest(this.pauseMs(), signal);
      if (typeof step !== 'number') continue;
      await rest(Math.min(step, LOOK_EVERY_MS), signal);
      if (step > LOOK_EVERY_MS) await rest(step - LOOK_EVERY_MS, AbortSignal.any([signal, this.wake.signal]));
    }
  }

  /** Delivers what there is, without waiting for more; the first failure ends it. Never throws. */
  async flush(signal: AbortSignal): Promise<void> {
    try {
      await this.catchUp();
    } catch (error) {
      return this.noteFault(error);
    }
    while (!signal.aborted && (await this.step(signal, true)) === 'delivered');
  }

  /** `delivered`, `failed`, or for how many ms there is nothing to do. */
  private async step(signal: AbortSignal, isLast: boolean): Promise<'delivered' | 'failed' | number> {
    const { clock } = this.deps;
    try {
      if (this.delivery === undefined) await this.collect(signal);
      if (this.batch.isEmpty) {
        if (this.scanned - this.saved >= IDLE_ENTRIES) await this.passOver();
        return LOOK_AGAIN_MS;
      }
      const waitMs = this.batch.foundAtMs + this.webhook.feed.waitMs - clock.monotonicMs();
      if (!isLast && !this.batch.isFull && waitMs > 0) return waitMs;
      return (await this.deliver(signal)) ? 'delivered' : 'failed';
    } catch (error) {
      this.noteFault(error);
      return LOOK_AGAIN_MS;
    }
  }

  private noteFault(error: unknown): void {
    const { name } = this.webhook;
    this.deps.log.error({ to: name }, `events for ${name} cannot be delivered: ${lineOf(error)}`);
  }

  private async collect(signal: AbortSignal): Promise<void> {
    const { reader, clock } = this.deps;
    while (!this.batch.isFull && !signal.aborted) {
      const entries = await reader.audit({ afterSeq: this.scanned, limit: ENTRIES_AT_ONCE });
      if (entries.length === 0) return;
      this.scanned = await this.batch.take(reader, entries, this.scanned, clock.monotonicMs());
      await giveWay();
    }
  }

  private async deliver(signal: AbortSignal): Promise<boolean> {
    const { clock, log, positions } = this.deps;
    const { name } = this.webhook;
    const claim = await this.claim();
    if (!claim) {
      await this.catchUp();
      return false;
    }
    this.delivery ??= this.written();
    const result = await (this.deps.send ?? send)(this.webhook, this.delivery, clock.nowMs(), signal);
    if (result.ok) {
      this.failures = 0;
      this.delivery = undefined;
      this.batch = new Batch(this.webhook.feed, this.deps.view);
      await this.save(claim);
      return true;
    }
    await positions.savePosition(claim, claim.seq);
    if (signal.aborted) return false; // aborted by us: not its failure
    this.failures += 1;
    log.warn({ to: name, attempts: this.failures }, `events for ${name} were not delivered: ${result.note}`);
    return false;
  }

  private written(): Sent {
    const { ids, clock } = this.deps;
    const id = ids.next();
    const { schema, most } = this.webhook.feed;
    if (schema) return { id, ...writtenIn(schema, this.batch, most) };
    const head = { version: 1, delivery: id, kind: 'events', at: isoTime(clock.nowMs()), ...this.batch.head };
    const text = [...jsonPieces(head)].join('');
    return { id, body: `${text.slice(0, -1)},"events":[${this.batch.texts.join(',')}]}` };
  }

  private claim(): Promise<FeedClaim | undefined> {
    return this.deps.positions.claim(this.webhook.name, this.stored, claimMsOf([this.webhook]));
  }

  private async passOver(): Promise<void> {
    const claim = await this.claim();
    if (claim) await this.save(claim);
    else await this.catchUp();
  }

  private async save(claim: FeedClaim): Promise<void> {
    await this.deps.positions.savePosition(claim, this.scanned);
    this.saved = this.stored = this.scanned;
  }

  private pauseMs(): number {
    return Math.min(pauseAfter(Math.max(this.failures, 1), this.deps.random), PAUSE_MAX_MS);
  }
}

/** Others' schemas have no place for what is missing: a header names it. One event alone where no delivery has more. */
function writtenIn(schema: EventSchema, { texts, gaps }: Batch, most: number): Omit<Sent, 'id'> {
  const isOne = most === 1 && texts.length === 1 && schema !== 'ocsf';
  const type = schema === 'ocsf' ? 'application/json' : `application/cloudevents${isOne ? '' : '-batch'}+json`;
  const missing = gaps.map(({ from, to }) => `${from}-${to}`).join(', ');
  const headers = { 'Content-Type': type, ...(missing !== '' && { 'X-Trustward-Gaps': missing }) };
  return { body: isOne ? texts.join('') : `[${texts.join(',')}]`, headers };
}

// All webhooks that receive decisions and outcomes.

export interface FeedState {
  webhook: string;
  /** Audit entries that it has not got, or that are not for it. */
  behind: number;
  /** The time of the oldest event that could not be delivered, epoch ms; undefined: the last delivery was accepted. */
  failingSince: number | undefined;
}

/** A receiver that is down for this long needs a person. */
const ALERT_AFTER_MS = 15 * 60_000;

/** Reading the audit takes no longer, or goes on at the next look. */
const LOOK_MS = 5_000;

export class Feeds {
  private readonly feeds: Feed[];

  constructor(
    private readonly deps: FeedDeps,
    webhooks: Iterable<Webhook>,
  ) {
    this.feeds = [...webhooks].filter(isFed).map((webhook) => new Feed(deps, webhook));
  }

  /** INVARIANT: before anything else is written: a new webhook gets what comes from then on. Errors: AppError `store_failed`. */
  async begin(): Promise<void> {
    for (const feed of this.feeds) await feed.begin();
  }

  /** The audit has grown. */
  poke(): void {
    for (const feed of this.feeds) feed.poke();
  }

  /** Until `signal` aborts. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.feeds.map((feed) => feed.run(signal)));
  }

  /** Delivers once what there is, for a process that ends. Never throws. */
  async flush(signal: AbortSignal): Promise<void> {
    await Promise.all(this.feeds.map((feed) => feed.flush(signal)));
  }

  async states(): Promise<FeedState[]> {
    if (this.feeds.length === 0) return [];
    const { seq } = await this.deps.reader.auditHead();
    return this.feeds.map((feed) => ({
      webhook: feed.webhook.name,
      behind: Math.max(seq - feed.position, 0),
      failingSince: feed.failingSince(),
    }));
  }

  async alerts(): Promise<Alert[]> {
    const nowMs = this.deps.clock.nowMs();
    if (this.deps.isShared) for (const feed of this.feeds) await feed.look(AbortSignal.timeout(LOOK_MS));
    return (await this.states()).flatMap(({ webhook, behind, failingSince }): Alert[] => {
      if (failingSince === undefined || nowMs - failingSince < ALERT_AFTER_MS) return [];
      const text = `webhook ${webhook} has accepted no decision or outcome since ${timeText(failingSince)}: ${behind} audit entries wait, and none is lost while they are not archived`;
      const about = { webhook, behind, since: isoTime(failingSince) };
      return [{ key: `webhook ${webhook}`, code: 'webhook_behind', text, about }];
    });
  }
}

function isFed(webhook: Webhook): webhook is FedWebhook {
  return webhook.feed !== undefined;
}
