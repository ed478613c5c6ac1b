// http: the audit in pages of written events. In: a position and the head. Out: the events between them, at most one page. Streams
// at the same position share one reading: what 500 of them need costs little more than what one needs.
import type { AuditEntry } from '../../domain/audit-entry.ts';
import type { AuditReader } from '../../domain/audit-store.ts';
import { giveWay, TURN_MAX } from '../../domain/give-way.ts';
import { type LiveEvent, type LiveReader, liveEventsOf } from '../../domain/live-event.ts';
import type { Views } from '../deps.ts';
import { entryFrame, liveFrame } from './frames.ts';
import type { KindFilter } from './kind-filter.ts';

const ENTRIES_MAX = 100;
const KEPT_MAX = 8;
/** Of one page; more are written anew for each stream. */
const WRITTEN_MAX = 16;

type PageViews = Pick<Views, 'auditEntry' | 'liveEvent'>;
type WrittenEntry = { entry: AuditEntry; text: string };
type PageRecords = ReadonlyMap<number, LiveEvent>;

export class Page {
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
    const isEntryShown = filter.has(kind) && filter.hasRule([]);
    if (live?.event === 'decision') {
      const data = { ...this.views.auditEntry(entry), ...this.views.liveEvent(live) };
      return filter.has(kind) && filter.hasRule(live.rules) ? liveFrame(seq, 'decision', data) : '';
    }
    const isOutcome = live !== undefined && filter.has('outcome') && filter.hasRule(live.rules);
    const outcome = isOutcome ? liveFrame(isEntryShown ? undefined : seq, 'outcome', this.views.liveEvent(live)) : '';
    return `${outcome}${isEntryShown ? text : ''}`;
  }
}

export class Pages {
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
