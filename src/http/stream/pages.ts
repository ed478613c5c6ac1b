// http: the audit in pages of written events. In: a position and the head. Out: the events between them, at most one page. Streams
// at the same position share one reading: what 500 of them need costs little more than what one needs.
import type { AuditEntry } from '../../domain/audit-entry.ts';
import type { AuditReader } from '../../domain/audit-store.ts';
import { TURN_MAX } from '../../domain/give-way.ts';
import { entryFrame } from './frames.ts';
import type { KindFilter } from './kind-filter.ts';

const ENTRIES_MAX = 100;
const KEPT_MAX = 8;

export class Page {
  private readonly written = new Map<string, Uint8Array>();

  constructor(
    /** The number of its last entry. */
    readonly upTo: number,
    private readonly events: readonly { kind: string; text: string }[],
  ) {}

  /** Empty when the filter shows nothing of it. */
  bytes(filter: KindFilter): Uint8Array {
    const known = this.written.get(filter.key);
    if (known) return known;
    const shown = this.events.filter(({ kind }) => filter.has(kind)).map(({ text }) => text);
    const bytes = Buffer.from(shown.join(''));
    this.written.set(filter.key, bytes);
    return bytes;
  }
}

export class Pages {
  /** INVARIANT: entries are never changed, so a page between two positions stays right. */
  private readonly kept = new Map<string, Promise<Page | undefined>>();

  constructor(
    private readonly reader: Pick<AuditReader, 'audit'>,
    private readonly view: (entry: AuditEntry) => object,
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
    const events: { kind: string; text: string }[] = [];
    let upTo = seq;
    let length = 0;
    for (const entry of entries) {
      const text = entryFrame(entry.seq, entry.kind, this.view(entry));
      if (events.length > 0 && length + text.length > TURN_MAX) break;
      events.push({ kind: entry.kind, text });
      length += text.length;
      upTo = entry.seq;
    }
    return new Page(upTo, events);
  }
}
