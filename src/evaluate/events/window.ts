// evaluate: one event operator's window over all subjects. In: events that passed its filter, for sure or perhaps.
// Out: a count, or the bounds of one. A subject's events are found by its id or by its second key, each event once.
import type { EventCount } from '../language/expression.ts';
import { Span, type Value } from '../language/three-valued.ts';
import { Track } from './track.ts';

/** The two names a subject's events are found by: DeviceID and serial number, ServiceID and name; a user has its e-mail. */
export interface SubjectKeys {
  first: string | undefined;
  second: string | undefined;
}

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

class Tracks {
  private readonly first = new Map<string, Track>();
  private readonly second = new Map<string, Track>();
  /** Events that have both keys, so that they are not counted twice. */
  private readonly both = new Map<string, Track>();

  add(keys: SubjectKeys, timeMs: number, value: string): void {
    if (keys.first !== undefined) trackIn(this.first, keys.first).add(timeMs, value);
    if (keys.second !== undefined) trackIn(this.second, keys.second).add(timeMs, value);
    if (keys.first !== undefined && keys.second !== undefined) trackIn(this.both, bothKey(keys)).add(timeMs, value);
  }

  find(keys: SubjectKeys, view: WindowView): (Track | undefined)[] {
    const first = keys.first === undefined ? undefined : this.first.get(keys.first);
    const second = keys.second === undefined ? undefined : this.second.get(keys.second);
    const both = first && second ? this.both.get(bothKey(keys)) : undefined;
    for (const track of [first, second, both]) track?.slide(view.fromMs, view.toMs);
    return [first, second, both];
  }

  forget(beforeMs: number): void {
    for (const tracks of [this.first, this.second, this.both]) {
      for (const [key, track] of tracks) if (!track.forget(beforeMs)) tracks.delete(key);
    }
  }
}

const bothKey = (keys: SubjectKeys): string => `${keys.first}\u0000${keys.second}`;

function trackIn(tracks: Map<string, Track>, key: string): Track {
  let track = tracks.get(key);
  if (!track) {
    track = new Track();
    tracks.set(key, track);
  }
  return track;
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
    const low = this.empty ? 0 : this.amount(this.sure.find(keys, view));
    const more = this.hasDoubts ? sizeOf(this.perhaps.find(keys, view)) : 0;
    const high = view.whole ? low + more : Number.POSITIVE_INFINITY;
    return low === high ? low : new Span(low, high);
  }

  private amount(tracks: (Track | undefined)[]): number {
    return this.spec.what === 'event_distinct' ? distinctOf(tracks) : sizeOf(tracks);
  }

  /** Seconds since the newest event; with none, at least as long as the window. */
  private since(keys: SubjectKeys, view: WindowView): Value {
    const seconds = (timeMs: number): number => Math.max(0, view.nowMs - timeMs) / 1_000;
    const newest = newestOf(this.sure.find(keys, view));
    const perhaps = this.hasDoubts ? newestOf(this.perhaps.find(keys, view)) : undefined;
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
