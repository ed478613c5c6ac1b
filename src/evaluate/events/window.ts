// evaluate: one event operator's window over all subjects. In: events that passed its filter, for sure or perhaps.
// Out: a count, or the bounds of one. A subject's events are found by its id or by its second key, each event once.
import type { EventCount } from '../language/expression.ts';
import { Span, type Value } from '../language/three-valued.ts';
import type { Track } from './track.ts';
import { type SubjectKeys, Tracks } from './tracks.ts';

/** What part of time a window sees. */
export interface WindowView {
  nowMs: number;
  fromMs: number;
  toMs: number;
  /** No gap: the counts are exact. */
  whole: boolean;
  /** Since when the log has no gap. */
  knownSinceMs: number;
}

export class EventWindow {
  private readonly sure = new Tracks();
  private readonly perhaps = new Tracks();
  /** No event has come yet: there is nothing to look up. */
  private empty = true;
  private hasDoubts = false;

  constructor(readonly spec: EventCount) {}

  /** `value` is what event_distinct counts. An event that may or may not belong here widens the bounds. */
  add(keys: SubjectKeys, timeMs: number, value: string, isSure: boolean): void {
    this.empty = false;
    if (!isSure) this.hasDoubts = true;
    (isSure ? this.sure : this.perhaps).add(keys, timeMs, value);
  }

  forget(beforeMs: number): void {
    this.sure.forget(beforeMs);
    this.perhaps.forget(beforeMs);
  }

  read(keys: SubjectKeys, view: WindowView): Value {
    if (this.spec.what === 'since_last_event') return this.since(keys, view);
    const low = this.empty ? 0 : this.amount(this.sure.find(keys, view.fromMs, view.toMs));
    const more = this.hasDoubts ? sizeOf(this.perhaps.find(keys, view.fromMs, view.toMs)) : 0;
    const high = view.whole ? low + more : Number.POSITIVE_INFINITY;
    return low === high ? low : new Span(low, high);
  }

  private amount(tracks: (Track | undefined)[]): number {
    return this.spec.what === 'event_distinct' ? distinctOf(tracks) : sizeOf(tracks);
  }

  /** Seconds since the newest event; with none, at least as long as the window. */
  private since(keys: SubjectKeys, view: WindowView): Value {
    const seconds = (timeMs: number): number => Math.max(0, view.nowMs - timeMs) / 1_000;
    const newest = newestOf(this.sure.find(keys, view.fromMs, view.toMs));
    const perhaps = this.hasDoubts ? newestOf(this.perhaps.find(keys, view.fromMs, view.toMs)) : undefined;
    const high = newest === undefined ? Number.POSITIVE_INFINITY : seconds(newest);
    let low = newest === undefined ? this.spec.withinMs / 1_000 : high;
    if (perhaps !== undefined) low = Math.min(low, seconds(perhaps));
    if (!view.whole) low = Math.min(low, seconds(view.knownSinceMs));
    return low === high ? low : new Span(low, high);
  }
}

function sizeOf([first, second, both]: (Track | undefined)[]): number {
  return (first?.size ?? 0) + (second?.size ?? 0) - (both?.size ?? 0);
}

function distinctOf([first, second, both]: (Track | undefined)[]): number {
  if (!first || !second) return (first ?? second)?.distinct.size ?? 0;
  if (both && both.size === second.size) return first.distinct.size;
  if (both && both.size === first.size) return second.distinct.size;
  let count = first.distinct.size;
  for (const value of second.distinct.keys()) if (!first.distinct.has(value)) count++;
  return count;
}

function newestOf([first, second]: (Track | undefined)[]): number | undefined {
  const [a, b] = [first?.newestMs, second?.newestMs];
  return a === undefined ? b : b === undefined ? a : Math.max(a, b);
}
