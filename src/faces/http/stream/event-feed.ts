// http: what open streams have in common: the head of the audit, the progress of the work under way, the beat, and how many there may
// be. In: wake-ups. Out: streams that look for themselves what is new to them. It holds no event for anybody.

import { giveWay, TURN_MAX } from '../../../base/turns.ts';
import { type AuditEntry, familyOf } from '../../../domain/audit-entry.ts';
import { AppError, lineOf } from '../../../domain/errors.ts';
import { type EventSchema, type LiveEvent, type LiveReader, liveEventsOf } from '../../../domain/live-event.ts';
import type { Clock, Log } from '../../../domain/ports.ts';
import type { WorkProgress } from '../../../domain/replay.ts';
import type { AuditReader } from '../../../domain/store-ports.ts';
import type { HttpDeps, Views } from '../deps.ts';
import { Problem } from '../problem.ts';
import {
  beatFrame,
  entryFrame,
  type KindFilter,
  liveFrame,
  openingFrame,
  progressFrame,
  resetFrame,
} from './kind-filter.ts';

// The audit in pages of written events.

const ENTRIES_MAX = 100;
const KEPT_MAX = 8;
/** Of one page; more are written anew for each stream. */
const WRITTEN_MAX = 16;

type PageViews = Pick<Views, 'auditEntry' | 'liveEvent' | 'eventIn'>;
type WrittenEntry = { entry: AuditEntry; text: string };
type PageRecords = ReadonlyMap<number, LiveEvent>;

class Page {
  private readonly written = new Map<string, Promise<Uint8Array>>();
  private records: Promise<PageRecords> | undefined;

  constructor(
    /** The number of its last entry. */
    readonly upTo: number,
    private readonly entries: readonly WrittenEntry[],
    private readonly reader: LiveReader,
    private readonly views: PageViews,
  ) {}

  /** Empty when the filter shows nothing of it. Errors: AppError `store_failed`, `store_damaged`. */
  bytes(filter: KindFilter): Promise<Uint8Array> {
    const known = this.written.get(filter.key);
    if (known) return known;
    const bytes = this.write(filter);
    if (this.written.size < WRITTEN_MAX) this.written.set(filter.key, bytes);
    bytes.catch(() => this.written.delete(filter.key));
    return bytes;
  }

  private async write(filter: KindFilter): Promise<Uint8Array> {
    const records: PageRecords = filter.hasRecords ? await this.readRecords() : new Map();
    const shown: string[] = [];
    let length = 0;
    for (const one of this.entries) {
      const text = this.textOf(one, records.get(one.entry.seq), filter);
      shown.push(text);
      length += text.length;
      if (length < TURN_MAX) continue;
      length = 0;
      await giveWay();
    }
    return Buffer.from(shown.join(''));
  }

  private readRecords(): Promise<PageRecords> {
    this.records ??= liveEventsOf(
      this.reader,
      this.entries.map(({ entry }) => entry),
    ).catch((error: unknown) => {
      this.records = undefined;
      throw error;
    });
    return this.records;
  }

  /** INVARIANT: the last frame of an entry has its number: who is cut between two frames gets both again, and misses none. */
  private textOf({ entry, text }: WrittenEntry, live: LiveEvent | undefined, filter: KindFilter): string {
    const { seq, kind } = entry;
    if (filter.schema) return this.textIn(filter.schema, entry, live, filter);
    const isEntryShown = filter.has(kind) && filter.hasRule([]);
    if (live?.event === 'decision') {
      const data = { ...this.views.auditEntry(entry), ...this.views.liveEvent(live) };
      return filter.has(kind) && filter.hasRule(live.rules) ? liveFrame(seq, 'decision', data) : '';
    }
    const isOutcome = live !== undefined && filter.has('outcome') && filter.hasRule(live.rules);
    const outcome = isOutcome ? liveFrame(isEntryShown ? undefined : seq, 'outcome', this.views.liveEvent(live)) : '';
    return `${outcome}${isEntryShown ? text : ''}`;
  }

  /** In others' schemas an entry is one event: an outcome that is asked for by the kind of its entry is the outcome, too. */
  private textIn(schema: EventSchema, entry: AuditEntry, live: LiveEvent | undefined, filter: KindFilter): string {
    const { seq, kind } = entry;
    const event = live?.event ?? familyOf(kind);
    if (!(filter.has(kind) || filter.has(event)) || !filter.hasRule(live?.rules ?? [])) return '';
    const view = this.views.eventIn(schema, entry, live);
    return view ? liveFrame(seq, event, view) : '';
  }
}

class Pages {
  /** INVARIANT: entries are never changed, so a page between two positions stays right. */
  private readonly kept = new Map<string, Promise<Page | undefined>>();

  constructor(
    private readonly reader: Pick<AuditReader, 'audit'> & LiveReader,
    private readonly views: PageViews,
  ) {}

  /** Undefined when entries after `seq` are archived. Errors: AppError `store_failed`, `store_damaged`. */
  after(seq: number, head: number): Promise<Page | undefined> {
    const limit = Math.min(ENTRIES_MAX, head - seq);
    const key = `${seq} ${limit}`;
    const known = this.kept.get(key);
    if (known) return known;
    const page = this.read(seq, limit);
    this.kept.set(key, page);
    page.catch(() => this.kept.delete(key));
    const [oldest] = this.kept.keys();
    if (this.kept.size > KEPT_MAX && oldest !== undefined) this.kept.delete(oldest);
    return page;
  }

  private async read(seq: number, limit: number): Promise<Page | undefined> {
    const entries = await this.reader.audit({ afterSeq: seq, limit });
    const [first] = entries;
    if (first?.seq !== seq + 1) return undefined;
    const some: WrittenEntry[] = [];
    let upTo = seq;
    let length = 0;
    for (const entry of entries) {
      const text = entryFrame(entry.seq, entry.kind, this.views.auditEntry(entry));
      if (some.length > 0 && length + text.length > TURN_MAX) break;
      some.push({ entry, text });
      length += text.length;
      upTo = entry.seq;
    }
    return new Page(upTo, some, this.reader, this.views);
  }
}

export const STREAMS_MAX = 500;
const STREAMS_OF_TOKEN_MAX = 50;
const RETRY_AFTER_S = 15;
const BEAT_MS = 15_000;
/** Streams are woken at most this often: commits come faster while a run acts. */
const WAKE_EVERY_MS = 100;
const PROGRESS_EVERY_MS = 250;
/** Many streams are woken less often: what they cost together leaves most of the time to other requests. */
const WAKE_EVERY_MS_EACH = 2;
/** Woken in one turn. */
const WOKEN_MAX = 50;

interface FedStream {
  /** The name of its token. */
  token: string;
  /** There may be something new. */
  wake(): void;
  /** Called every 15 seconds. */
  beat(): void;
  end(): void;
}

export class EventFeed {
  readonly pages: Pages;
  /** The number of the last entry, as last seen. */
  head = 0;
  /** The last progress that is shown; `count` rises with each. */
  progress = { count: 0, kind: '', bytes: new Uint8Array() };
  private latest: WorkProgress | undefined;
  private readonly open = new Set<FedStream>();
  private beating: AbortController | undefined;
  private readonly entries: Throttle;
  private readonly steps: Throttle;

  constructor(
    private readonly deps: Pick<HttpDeps, 'reader' | 'views' | 'clock' | 'log' | 'stream' | 'streamsMax' | 'metrics'>,
  ) {
    const { reader, views, clock, stream } = deps;
    this.pages = new Pages(reader, views);
    const everyMs = (leastMs: number) => () => Math.max(leastMs, WAKE_EVERY_MS_EACH * this.open.size);
    this.entries = new Throttle(clock, everyMs(WAKE_EVERY_MS), () => this.lookAtHead());
    this.steps = new Throttle(clock, everyMs(PROGRESS_EVERY_MS), () => this.showProgress());
    stream.onAudited(() => this.open.size > 0 && this.entries.ask(this.beating?.signal));
    stream.onProgress((progress) => {
      this.latest = progress;
      if (progress && this.open.size > 0) this.steps.ask(this.beating?.signal);
    });
    stream.ending.addEventListener('abort', () => {
      for (const each of [...this.open]) each.end();
    });
  }

  /** Errors: Problem 429; AppError `stopped` while the process ends. */
  demandPlace(token: string): void {
    if (this.deps.stream.ending.aborted) throw new AppError('stopped', 'Trustward is shutting down');
    const ofToken = [...this.open].filter((each) => each.token === token).length;
    const most = this.deps.streamsMax?.() ?? STREAMS_MAX;
    const { size } = this.open;
    if (size >= STREAMS_MAX) throw tooMany(`${STREAMS_MAX} streams are open`);
    if (size >= most)
      throw tooMany(`${size} streams of this organization are open, and ${most} more places are left here`);
    if (ofToken >= STREAMS_OF_TOKEN_MAX) {
      throw tooMany(`${STREAMS_OF_TOKEN_MAX} streams of the token \`${token}\` are open`);
    }
  }

  add(stream: FedStream): void {
    this.open.add(stream);
    this.deps.metrics.streams(this.open.size);
    if (this.beating) return;
    this.beating = new AbortController();
    void this.beat(this.beating.signal);
  }

  remove(stream: FedStream): void {
    if (!this.open.delete(stream)) return;
    this.deps.metrics.streams(this.open.size);
    if (this.open.size > 0) return;
    this.beating?.abort();
    this.beating = undefined;
  }

  async readHead(): Promise<number> {
    const { seq } = await this.deps.reader.auditHead();
    this.head = Math.max(this.head, seq);
    return this.head;
  }

  private async beat(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await waited(this.deps.clock.sleep(BEAT_MS, signal)))) {
      await this.lookAtHead();
      for (const each of [...this.open]) each.beat();
      await this.wakeAll();
    }
  }

  private async lookAtHead(): Promise<void> {
    try {
      await this.readHead();
    } catch (error) {
      this.deps.log.warn({}, `streams cannot read the audit: ${lineOf(error)}`);
    }
    await this.wakeAll();
  }

  private async showProgress(): Promise<void> {
    if (this.latest === undefined) return; // it has ended meanwhile
    const kind = `${this.latest.plan === undefined ? 'run' : 'plan'}.progress`;
    this.progress = { count: this.progress.count + 1, kind, bytes: Buffer.from(progressFrame(this.latest)) };
    await this.wakeAll();
  }

  private async wakeAll(): Promise<void> {
    let woken = 0;
    for (const each of [...this.open]) {
      each.wake();
      woken += 1;
      if (woken % WOKEN_MAX === 0) await giveWay();
    }
  }
}

/** At once, and then at most once in a while; what is asked meanwhile becomes one time. */
class Throttle {
  private isAsked = false;
  private lastMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly clock: HttpDeps['clock'],
    private readonly everyMs: () => number,
    private readonly work: () => Promise<void>,
  ) {}

  ask(signal: AbortSignal | undefined): void {
    if (this.isAsked) return;
    this.isAsked = true;
    void this.later(signal);
  }

  private async later(signal: AbortSignal | undefined): Promise<void> {
    const restMs = this.lastMs + this.everyMs() - this.clock.monotonicMs();
    if (restMs > 0) await waited(this.clock.sleep(restMs, signal));
    else await giveWay();
    // INVARIANT: before the work, so that what comes during it is not lost.
    this.isAsked = false;
    this.lastMs = this.clock.monotonicMs();
    await this.work();
  }
}

/** False when the wait was broken off. */
function waited(sleep: Promise<void>): Promise<boolean> {
  return sleep.then(
    () => true,
    () => false,
  );
}

function tooMany(what: string): Problem {
  return new Problem(429, 'too-many-requests', 'Too many at once', `${what}: close some, or connect again later`, {
    headers: { 'Retry-After': String(RETRY_AFTER_S) },
  });
}

// One open stream.

const UNREAD_MAX_MS = 60_000;

interface StreamParts {
  feed: EventFeed;
  /** The last entry that the client has; undefined: it begins at the head. */
  after: number | undefined;
  filter: KindFilter;
  token: string;
  /** Whether the caller may still read. Rejects when nobody can say. */
  isAllowed(): boolean | Promise<boolean>;
  /** Closes the connection without waiting for the client. */
  cut(): void;
  clock: Clock;
  log: Log;
}

export class EventStream implements FedStream {
  readonly token: string;
  readonly body: ReadableStream<Uint8Array>;
  private after: number;
  private shownProgress: number;
  private isBeatDue = false;
  private isOver = false;
  /** Since when the client has not taken what it was given. */
  private unreadSinceMs: number | undefined;
  private wakeUp = () => {};
  private next: Uint8Array | undefined;

  /** @param head the present one. */
  constructor(
    private readonly parts: StreamParts,
    head: number,
  ) {
    const { feed, after = head, token, clock } = parts;
    this.token = token;
    // A position beyond the head is of another database, or of this one before a restore.
    this.after = Math.min(after, head);
    this.next = Buffer.from(openingFrame(this.after) + (after > head ? resetFrame(head) : ''));
    this.shownProgress = feed.progress.count;
    this.unreadSinceMs = clock.monotonicMs();
    this.body = new ReadableStream(
      { pull: (controller) => this.pull(controller), cancel: () => this.end() },
      { highWaterMark: 0 },
    );
    feed.add(this);
  }

  wake(): void {
    this.wakeUp();
  }

  beat(): void {
    this.isBeatDue = true;
    const unreadMs = this.unreadSinceMs === undefined ? 0 : this.parts.clock.monotonicMs() - this.unreadSinceMs;
    if (unreadMs >= UNREAD_MAX_MS) this.end();
    else void this.endUnlessAllowed();
  }

  /** Where nobody can say, nothing new can be read either: the next beat asks again. */
  private async endUnlessAllowed(): Promise<void> {
    try {
      if (!(await this.parts.isAllowed())) this.end();
    } catch (error) {
      this.parts.log.warn({}, `it is not known whether a stream may go on: ${lineOf(error)}`);
    }
  }

  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.parts.feed.remove(this);
    if (this.unreadSinceMs !== undefined) this.parts.cut();
    this.wakeUp();
  }

  private async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    this.unreadSinceMs = undefined;
    const bytes = await this.take();
    if (this.isOver || bytes === undefined) {
      this.end();
      close(controller);
      return;
    }
    this.unreadSinceMs = this.parts.clock.monotonicMs();
    controller.enqueue(bytes);
  }

  /** Waits for the next bytes; undefined when there are no more. */
  private async take(): Promise<Uint8Array | undefined> {
    try {
      while (!this.isOver) {
        const found = this.look();
        if (found === undefined) {
          await this.untilWoken();
          continue;
        }
        const bytes = await found;
        if (bytes.length > 0) return bytes;
        await giveWay(); // the filter shows nothing of a page
      }
    } catch (error) {
      this.parts.log.warn({}, `a stream ended, since the audit cannot be read: ${lineOf(error)}`);
    }
    return undefined;
  }

  /** INVARIANT: it returns undefined at once when nothing is new: no wake-up is lost between the look and the wait. */
  private look(): Uint8Array | Promise<Uint8Array> | undefined {
    const { feed, filter } = this.parts;
    if (this.next) {
      const bytes = this.next;
      this.next = undefined;
      return bytes;
    }
    if (this.after < feed.head) return this.page();
    if (feed.progress.count > this.shownProgress && (filter.has('progress') || filter.has(feed.progress.kind))) {
      this.shownProgress = feed.progress.count;
      return feed.progress.bytes;
    }
    if (!this.isBeatDue) return undefined;
    this.isBeatDue = false;
    return Buffer.from(beatFrame(this.after));
  }

  private async page(): Promise<Uint8Array> {
    const { feed, filter } = this.parts;
    const page = await feed.pages.after(this.after, feed.head);
    if (page) {
      this.after = page.upTo;
      return page.bytes(filter);
    }
    this.after = feed.head;
    return Buffer.from(resetFrame(this.after));
  }

  private untilWoken(): Promise<void> {
    return new Promise((resolve) => {
      this.wakeUp = resolve;
    });
  }
}

/** A client that is gone has closed it already. */
function close(controller: ReadableStreamDefaultController<Uint8Array>): void {
  try {
    controller.close();
  } catch {
    // closed
  }
}
