// rules: all event windows of a rule set. In: events, once each, in any order, and the time. Out: counts per subject.
// It never asks for events: what it was not given is a gap, and a gap makes a count a lower bound.
import type { TrustEvent } from '../domain/event.ts';
import { isBeyondTypes } from '../domain/facts.ts';
import { EVENT_SEVERITIES } from '../domain/platform-values.ts';
import type { Coverage } from '../domain/snapshot.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import { newCompiler } from './compile/expressions.ts';
import { newFrame } from './compile/program.ts';
import { FactReader } from './facts/fact-reader.ts';
import {
  type EventCount,
  type Expression,
  FALSE,
  ownAt,
  Span,
  TRUE,
  type Truth,
  type Value,
} from './language/expression.ts';

// One event operator's filter: which events it counts.

type EventFilter = (event: TrustEvent) => 'no' | { sure: boolean; value: string };

const SURE = { sure: true, value: '' };
const PERHAPS = { sure: false, value: '' };

function compileFilter(spec: EventCount): EventFilter {
  const where = spec.where && compileWhere(spec.where);
  const least = spec.severityMin === undefined ? -1 : rankOf(spec.severityMin);
  const passes = (wanted: readonly string[] | undefined, found: string): boolean =>
    wanted === undefined || wanted.includes(found);
  return (event) => {
    if (!passes(spec.types, event.type) || !passes(spec.subTypes, event.subType)) return 'no';
    if (!passes(spec.actions, event.action) || !passes(spec.results, event.result)) return 'no';
    const rank = least < 0 ? 0 : rankOf(event.severity);
    if (rank >= 0 && rank < least) return 'no';
    const truth = where ? where(event) : TRUE;
    if (truth === FALSE) return 'no';
    // A severity that is not among the known ones may be above the least or below it.
    const sure = truth === TRUE && rank >= 0;
    if (!spec.of) return sure ? SURE : PERHAPS;
    const value = ownAt(event.body, spec.of);
    const isKnown = ['string', 'number', 'bigint', 'boolean'].includes(typeof value) && !isBeyondTypes(value);
    return isKnown ? { sure, value: `${typeof value === 'string' ? 's' : 'n'}${value}` } : PERHAPS;
  };
}

const rankOf = (severity: string): number => (EVENT_SEVERITIES as readonly string[]).indexOf(severity);

/** `where` over the event's body, with a frame of its own. */
function compileWhere(where: Expression): (event: TrustEvent) => Truth {
  const compiler = newCompiler();
  const condition = compiler.condition(where);
  const reader = new FactReader([...compiler.slots.values()], [], 0);
  const never = (): never => {
    throw new Error('an event has no windows and no joined records');
  };
  const readers = { readVirtual: never, readPast: never, showPast: never };
  const frame = newFrame({ rules: 0, slots: compiler.slots.size, truths: compiler.sharedCount }, 0, readers);
  return (event) => {
    frame.record = event.body;
    frame.turn++;
    reader.read(event.body, frame);
    return condition(frame);
  };
}

// The events of one subject in one window, by time.

class Track {
  private times: number[] = [];
  /** Beside the times; undefined as long as no entry has a value: most windows only count. */
  private values: string[] | undefined;
  /** The window: entries from `first` up to, not including, `end`. */
  private first = 0;
  private end = 0;
  private byValue: Map<string, number> | undefined;

  /** `value`: empty for none. */
  add(timeMs: number, value: string): void {
    if (value !== '') this.values ??= new Array<string>(this.times.length).fill('');
    const last = this.times.length - 1;
    if (last < 0 || timeMs >= (this.times[last] as number)) {
      this.times.push(timeMs);
      this.values?.push(value);
      return;
    }
    const index = this.placeOf(timeMs);
    this.times.splice(index, 0, timeMs);
    this.values?.splice(index, 0, value);
    if (index < this.first) this.first++;
    else if (index < this.end) this.count(index, 1);
    if (index < this.end) this.end++;
  }

  /** Slides the window to the entries of `fromMs` to `toMs`, both inclusive; forward or back. Grows before it shrinks. */
  slide(fromMs: number, toMs: number): void {
    const { times } = this;
    while (this.end < times.length && (times[this.end] as number) <= toMs) this.count(this.end++, 1);
    while (this.first > 0 && (times[this.first - 1] as number) >= fromMs) this.count(--this.first, 1);
    while (this.end > this.first && (times[this.end - 1] as number) > toMs) this.count(--this.end, -1);
    while (this.first < this.end && (times[this.first] as number) < fromMs) this.count(this.first++, -1);
  }

  /** The same entries, with a window that is still to be set. */
  copy(): Track {
    const track = new Track();
    track.times = [...this.times];
    track.values = this.values && [...this.values];
    return track;
  }

  get isEmpty(): boolean {
    return this.times.length === 0;
  }
  get size(): number {
    return this.end - this.first;
  }
  get distinct(): ReadonlyMap<string, number> {
    return this.byValue ?? NO_VALUES;
  }
  get newestMs(): number | undefined {
    return this.end > this.first ? this.times[this.end - 1] : undefined;
  }

  /** Drops older entries. Returns whether any are left. */
  forget(beforeMs: number): boolean {
    const drop = this.placeOf(beforeMs - 1);
    if (drop > 0) {
      while (this.first < Math.min(drop, this.end)) this.count(this.first++, -1);
      this.times = this.times.slice(drop);
      this.values = this.values?.slice(drop);
      this.first = Math.max(0, this.first - drop);
      this.end = Math.max(0, this.end - drop);
    }
    return this.times.length > 0;
  }

  /** The value of an entry that enters or leaves the window. */
  private count(index: number, by: 1 | -1): void {
    const value = this.values?.[index];
    if (value === undefined || value === '') return;
    this.byValue ??= new Map();
    const now = (this.byValue.get(value) ?? 0) + by;
    if (now === 0) this.byValue.delete(value);
    else this.byValue.set(value, now);
  }

  /** The first index whose time is after `timeMs`. */
  private placeOf(timeMs: number): number {
    let [low, high] = [0, this.times.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.times[middle] as number) <= timeMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const NO_VALUES: ReadonlyMap<string, number> = new Map();

// The tracks of all subjects in one window, by the two names that a subject has.

/** The two names a subject's events are found by: DeviceID and serial number, ServiceID and name; a user has its e-mail. */
export interface SubjectKeys {
  first: string | undefined;
  second: string | undefined;
}

class Tracks {
  private readonly first = new Map<string, Track>();
  private readonly second = new Map<string, Track>();
  /** Events that have both keys, so that they are not counted twice; not of keys that share a track. */
  private readonly both = new Map<string, Track>();
  /** The keys of each track that two keys share. INVARIANT: every event of one of them has both. */
  private readonly shared = new Map<Track, { first: string; second: string }>();

  add({ first, second }: SubjectKeys, timeMs: number, value: string): void {
    const byFirst = first === undefined ? undefined : this.first.get(first);
    const bySecond = second === undefined ? undefined : this.second.get(second);
    if (first !== undefined && second !== undefined) {
      if (byFirst === bySecond) {
        (byFirst ?? this.beginShared(first, second)).add(timeMs, value);
        return;
      }
      this.part(byFirst);
      this.part(bySecond);
      trackIn(this.both, bothKey(first, second)).add(timeMs, value);
    } else this.part(byFirst ?? bySecond);
    if (first !== undefined) trackIn(this.first, first).add(timeMs, value);
    if (second !== undefined) trackIn(this.second, second).add(timeMs, value);
  }

  /** The events of the first key, of the second one, and of both. */
  find(keys: SubjectKeys, fromMs: number, toMs: number): (Track | undefined)[] {
    const first = keys.first === undefined ? undefined : this.first.get(keys.first);
    const second = keys.second === undefined ? undefined : this.second.get(keys.second);
    first?.slide(fromMs, toMs);
    if (first === second) return [first];
    second?.slide(fromMs, toMs);
    const both = first && second ? this.both.get(bothKey(keys.first, keys.second)) : undefined;
    both?.slide(fromMs, toMs);
    return [first, second, both];
  }

  forget(beforeMs: number): void {
    for (const tracks of [this.first, this.second, this.both]) {
      for (const [key, track] of tracks) if (!track.forget(beforeMs)) tracks.delete(key);
    }
    for (const track of this.shared.keys()) if (track.isEmpty) this.shared.delete(track);
  }

  private beginShared(first: string, second: string): Track {
    const track = new Track();
    this.first.set(first, track);
    this.second.set(second, track);
    this.shared.set(track, { first, second });
    return track;
  }

  /** Gives the keys of a shared track one each: an event has one of them without the other. */
  private part(track: Track | undefined): void {
    const keys = track && this.shared.get(track);
    if (!keys) return;
    this.shared.delete(track);
    this.second.set(keys.second, track.copy());
    this.both.set(bothKey(keys.first, keys.second), track.copy());
  }
}

const bothKey = (first: string | undefined, second: string | undefined): string => `${first}\u0000${second}`;

function trackIn(tracks: Map<string, Track>, key: string): Track {
  let track = tracks.get(key);
  if (!track) {
    track = new Track();
    tracks.set(key, track);
  }
  return track;
}

// One event operator's window over all subjects.

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

/** Events up to this far in the future count, since clocks differ. */
export const SKEW_MAX_MS = 300_000;
/** How long events are kept after they leave their window, in case a clock is set back. */
const KEPT_BACK_MS = 3_600_000;
/** The log is read a little before a run's time: up to this much at the end of a window is no gap. */
const READ_LAG_MAX_MS = 60_000;

interface Entry {
  window: EventWindow;
  filter: EventFilter;
}

export class Windows {
  private readonly entries = new Map<string, Entry>();
  private readonly byKind: Record<SubjectKind, Entry[]> = { device: [], user: [], service: [] };
  private readonly seen = new Map<string, number>();
  private longestMs = 0;
  private nowMs = Number.NEGATIVE_INFINITY;
  private sweptMs = Number.NEGATIVE_INFINITY;
  /** Older events have been forgotten. */
  private forgottenMs = Number.NEGATIVE_INFINITY;

  /** Adds a window for an operator unless an equal one exists. */
  register(key: string, spec: EventCount): EventWindow {
    const known = this.entries.get(key);
    if (known) return known.window;
    const entry = { window: new EventWindow(spec), filter: compileFilter(spec) };
    this.entries.set(key, entry);
    this.byKind[spec.subject].push(entry);
    this.longestMs = Math.max(this.longestMs, spec.withinMs);
    return entry.window;
  }

  /** Takes events in. An id counts once for as long as it can be in a window. */
  observe(events: readonly TrustEvent[]): void {
    if (this.entries.size === 0) return;
    for (const event of events) {
      if (event.createdAtMs < this.forgottenMs || this.seen.has(event.id)) continue;
      this.seen.set(event.id, event.createdAtMs);
      for (const kind of ['device', 'user', 'service'] as const) this.add(event, kind);
    }
  }

  private add(event: TrustEvent, kind: SubjectKind): void {
    const entries = this.byKind[kind];
    const keys = entries.length > 0 ? eventKeys(event, kind) : undefined;
    if (!keys) return;
    for (const { window, filter } of entries) {
      const passed = filter(event);
      if (passed !== 'no') window.add(keys, event.createdAtMs, passed.value, passed.sure);
    }
  }

  /** Moves the end of all windows. An earlier time than before is allowed: events that are still kept come back. */
  advance(nowMs: number): void {
    this.nowMs = nowMs;
    if (nowMs < this.sweptMs) {
      this.sweptMs = nowMs;
      return;
    }
    if (nowMs - this.sweptMs < Math.max(60_000, this.longestMs / 8)) return;
    this.sweptMs = nowMs;
    const oldest = nowMs - this.longestMs - KEPT_BACK_MS;
    this.forgottenMs = Math.max(this.forgottenMs, oldest);
    for (const [id, timeMs] of this.seen) if (timeMs < oldest) this.seen.delete(id);
    for (const { window } of this.entries.values()) window.forget(oldest);
  }

  /** What a window of this length sees, given the stretches of time the log was read for. */
  view(withinMs: number, coverage: readonly Coverage[]): WindowView {
    const { nowMs } = this;
    const fromMs = nowMs - withinMs;
    const knownSinceMs = Math.max(logKnownSince(coverage, withinMs, nowMs), this.forgottenMs);
    return { nowMs, fromMs, toMs: nowMs + SKEW_MAX_MS, whole: knownSinceMs <= fromMs, knownSinceMs };
  }

  read(window: EventWindow, keys: SubjectKeys, view: WindowView): Value {
    return window.read(keys, view);
  }
}

/** Since when the log is known without a gap up to now, for a window of this length; now itself when it is not. */
export function logKnownSince(coverage: readonly Coverage[], withinMs: number, nowMs: number): number {
  return knownSince(coverage, nowMs, Math.min(READ_LAG_MAX_MS, withinMs / 10));
}

function knownSince(coverage: readonly Coverage[], nowMs: number, lagMs: number): number {
  let since = nowMs;
  let reached = nowMs - lagMs;
  for (const { fromMs, toMs } of [...coverage].sort((a, b) => b.toMs - a.toMs)) {
    if (toMs + 1 < reached) break;
    since = Math.min(since, fromMs);
    reached = Math.min(reached, fromMs);
  }
  return since;
}

/** The subject that an event belongs to; undefined when the event names none. */
function eventKeys(event: TrustEvent, kind: SubjectKind): SubjectKeys | undefined {
  const keys = keysOf(kind, ...textsOf(event, kind));
  return keys.first === undefined && keys.second === undefined ? undefined : keys;
}

function textsOf(event: TrustEvent, kind: SubjectKind): [string | undefined, string | undefined] {
  if (kind === 'device') return [event.deviceId, event.serialNumber];
  if (kind === 'user') return [event.email, undefined];
  // A full id already names its cluster: a service of the same name in another cluster must not get the event.
  return [event.serviceId, event.serviceId?.startsWith(`${event.serviceName}.`) ? undefined : event.serviceName];
}

/** The keys of a subject; an empty text is none. */
export function keysOf(kind: SubjectKind, first: string | undefined, second: string | undefined): SubjectKeys {
  return {
    first: first === '' ? undefined : kind === 'user' ? first?.toLowerCase() : first,
    second: second === '' ? undefined : second,
  };
}
