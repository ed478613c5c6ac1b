// notify: the events of one delivery, as they are collected. In: audit entries in order. Out: those that the webhook receives, written, and
// the stretches of the audit that were archived before they could be sent. Its size is bounded in number and in bytes.
import type { AuditEntry } from '../domain/audit-entry.ts';
import { jsonPieces } from '../domain/json-pieces.ts';
import { type LiveEvent, type LiveReader, liveEventsOf } from '../domain/live-event.ts';
import type { FeedSettings } from './feed-settings.ts';

const BYTES_MAX = 1024 * 1024;

export class Batch {
  readonly texts: string[] = [];
  /** When its first event was found, on the monotonic clock. */
  foundAtMs = 0;
  /** The time of its first event, epoch ms. */
  oldestAt: number | undefined;
  private readonly gaps: { from: number; to: number }[] = [];
  private readonly seqs: number[] = [];
  private length = 0;

  constructor(
    private readonly settings: FeedSettings,
    private readonly view: (live: LiveEvent) => object,
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
    const text = [...jsonPieces(this.view(event))].join('');
    this.texts.push(text);
    this.seqs.push(event.entry.seq);
    this.length += text.length;
  }

  private isWanted({ event, rules }: LiveEvent): boolean {
    const { events, rules: wanted } = this.settings;
    return events.includes(event) && (wanted === undefined || rules.some((rule) => wanted.includes(rule)));
  }
}
