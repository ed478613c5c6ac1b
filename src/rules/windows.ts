// rules: all event windows of a rule set. In: events, once each, in any order, and the time. Out: counts per subject.
// It never asks for events: what it was not given is a gap, and a gap makes a count a lower bound.
import { begin, isEqualPrint, mixText, PRINT_WORDS, PrintSeeds } from '../base/print-bits.ts';
import type { TrustEvent } from '../domain/event.ts';
import { isBeyondTypes } from '../domain/facts.ts';
import { EVENT_SEVERITIES } from '../domain/platform-values.ts';
import { type Coverage, coverageOf } from '../domain/snapshot.ts';
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

type EventFilter = (event: TrustEvent) => 'no' | { sure: boolean; value: string; raw?: Value };

const SURE = { sure: true, value: '' };
const PERHAPS = { sure: false, value: '' };

export function compileFilter(spec: EventCount): EventFilter {
  const where = spec.where && compileWhere(spec.where);
  const least = spec.severityMin === undefined ? -1 : rankOf(spec.severityMin);
  const passes = (wanted: readonly string[] | undefined, found: string): boolean =>
    wanted === undefined || wanted.includes(found);
  return (event) => {
    if (event.transmitter !== spec.transmitter) return 'no';
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
    // That the newest signal has no such member is known.
    if (!isKnown) return sure && spec.what === 'last_signal' ? SURE : PERHAPS;
    return { sure, value: `${typeof value === 'string' ? 's' : 'n'}${value}`, raw: value };
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

// All events of the windows, in columns: a million of them take some tens of MB, none of it in the heap that the collector walks.

type Numbers = Float64Array | Int32Array | Uint32Array | Uint8Array;

interface Column<N extends Numbers> {
  of: N;
  /** Numbers of one row. */
  readonly width: number;
}

const ROWS_MIN = 16;
/**
 * Ids are told apart by 128 bits: of a million, two have the same ones with a probability of 10^-27. The key is no secret: who knows an id
 * can give another event the same bits, but also the id itself.
 */
const PRINTS = new PrintSeeds(Int32Array.of(1, 2, 3, 4));
const ID_SEED = PRINTS.of('identity');
const print = new Int32Array(PRINT_WORDS);

class Rows {
  /** One more than there are: row 0 is older than any event, and stands for none. */
  end = 1;
  private room = ROWS_MIN;
  private readonly columns: Column<Numbers>[] = [];
  private readonly prints = this.column(Int32Array, PRINT_WORDS);
  /** Rows by the print of their id; at most half of the places are taken. */
  private table = new Int32Array(2 * ROWS_MIN);
  readonly times = this.column(Float64Array);

  constructor() {
    this.times.of[0] = Number.NEGATIVE_INFINITY;
  }

  /** Has a number for each row, at first 0. */
  column<N extends Numbers>(kind: new (length: number) => N, width = 1): Column<N> {
    const column = { of: new kind(this.room * width), width };
    this.columns.push(column);
    return column;
  }

  /** 0: the id is there already. */
  add(id: string, timeMs: number): number {
    begin(ID_SEED);
    mixText(0, id);
    PRINTS.finish(print, 0);
    if (this.table[this.placeOf(print, 0)] !== 0) return 0;
    if (this.end === this.room) this.move(2 * this.room, (column, longer) => longer.set(column));
    const row = this.end++;
    this.prints.of.set(print, row * PRINT_WORDS);
    this.times.of[row] = timeMs;
    this.table[this.placeOf(print, 0)] = row;
    return row;
  }

  /** Drops older rows. Returns the new number of each row, 0 for none; undefined when nothing was dropped. */
  forget(beforeMs: number): Int32Array | undefined {
    const moved = new Int32Array(this.end);
    let end = 1;
    for (let row = 1; row < this.end; row++) if ((this.times.of[row] as number) >= beforeMs) moved[row] = end++;
    if (end === this.end) return undefined;
    let room = ROWS_MIN;
    while (room <= end) room *= 2;
    this.end = end;
    this.move(room, (column, kept, width) => {
      for (let at = 0; at < width; at++) kept[at] = column[at] as number;
      for (let row = 1; row < moved.length; row++) {
        const to = (moved[row] as number) * width;
        if (to > 0) for (let at = 0; at < width; at++) kept[to + at] = column[row * width + at] as number;
      }
    });
    return moved;
  }

  private move(room: number, fill: (from: Numbers, to: Numbers, width: number) => void): void {
    this.room = room;
    for (const column of this.columns) {
      const made = new (column.of.constructor as new (length: number) => Numbers)(room * column.width);
      fill(column.of, made, column.width);
      column.of = made;
    }
    this.table = new Int32Array(2 * room);
    for (let row = 1; row < this.end; row++) this.table[this.placeOf(this.prints.of, row * PRINT_WORDS)] = row;
  }

  /** Where the row with this print is, or where it is to be entered. */
  private placeOf(prints: Int32Array, at: number): number {
    const mask = this.table.length - 1;
    for (let place = (prints[at] as number) & mask; ; place = (place + 1) & mask) {
      const row = this.table[place] as number;
      if (row === 0 || isEqualPrint(this.prints.of, row * PRINT_WORDS, prints, at)) return place;
    }
  }
}

/** The events of each name, newest first; of the same time, those that came last. */
class Chains {
  private readonly newest = new Map<string, number>();
  private readonly older: Column<Int32Array>;

  constructor(private readonly rows: Rows) {
    this.older = rows.column(Int32Array);
  }

  newestOf(name: string | undefined): number {
    return name === undefined ? 0 : (this.newest.get(name) ?? 0);
  }

  olderThan(row: number): number {
    return this.older.of[row] as number;
  }

  add(name: string, row: number): void {
    const times = this.rows.times.of;
    const older = this.older.of;
    let [newer, next] = [0, this.newestOf(name)];
    while ((times[next] as number) > (times[row] as number)) [newer, next] = [next, older[next] as number];
    older[row] = next;
    if (newer === 0) this.newest.set(name, row);
    else older[newer] = row;
  }

  /** After old rows were dropped: what follows one of these was older still. */
  forget(moved: Int32Array): void {
    const older = this.older.of;
    for (let row = 1; row < this.rows.end; row++) older[row] = moved[older[row] as number] as number;
    for (const [name, row] of this.newest) {
      const now = moved[row] as number;
      if (now === 0) this.newest.delete(name);
      else this.newest.set(name, now);
    }
  }
}

/** The two names a subject's events are found by: DeviceID and serial number, ServiceID and name; a user has its e-mail. */
export interface SubjectKeys {
  first: string | undefined;
  second: string | undefined;
}

/** The events of all subjects of a kind, by either name. */
class Subjects {
  readonly windows: EventWindow[] = [];
  private readonly first: Chains;
  private readonly second: Chains;

  constructor(private readonly rows: Rows) {
    this.first = new Chains(rows);
    this.second = new Chains(rows);
  }

  /** An event that no window counts is in no chain. */
  add({ first, second }: SubjectKeys, event: TrustEvent, row: number): void {
    if (first === undefined && second === undefined) return;
    let isCounted = false;
    for (const window of this.windows) if (window.add(event, row)) isCounted = true;
    if (!isCounted) return;
    if (first !== undefined) this.first.add(first, row);
    if (second !== undefined) this.second.add(second, row);
  }

  /** Those of a subject from one time to another, both inclusive, each once, newest first, until one is enough. */
  each(keys: SubjectKeys, fromMs: number, toMs: number, isEnough: (row: number, timeMs: number) => boolean): void {
    const times = this.rows.times.of;
    let [one, other] = [this.first.newestOf(keys.first), this.second.newestOf(keys.second)];
    while (one !== other || one !== 0) {
      const [a, b] = [times[one] as number, times[other] as number];
      const row = a > b || (a === b && one > other) ? one : other;
      const timeMs = times[row] as number;
      if (timeMs < fromMs || (timeMs <= toMs && isEnough(row, timeMs))) return;
      if (one === row) one = this.first.olderThan(row);
      if (other === row) other = this.second.olderThan(row);
    }
  }

  forget(moved: Int32Array): void {
    this.first.forget(moved);
    this.second.forget(moved);
    for (const window of this.windows) window.forget();
  }
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

type WindowSpec = Pick<EventCount, 'withinMs' | 'transmitter' | 'lagMaxMs'>;

export class EventWindow {
  private readonly filter: EventFilter;
  /** By row: 0 when it is not counted; else twice the number of its value (0 for none) and 1, or 2 when it may or may not belong here. */
  private readonly marks: Column<Uint8Array | Uint32Array>;
  /** The numbers of what event_distinct counts and last_signal shows, and what has which number. */
  private readonly values = new Map<string, number>();
  private readonly raws = new Map<number, Value>();
  private lastValue = 0;

  constructor(
    readonly spec: EventCount,
    rows: Rows,
    private readonly subjects: Subjects,
  ) {
    this.filter = compileFilter(spec);
    this.marks = spec.of ? rows.column(Uint32Array) : rows.column(Uint8Array);
  }

  /** Returns whether it counts the event. */
  add(event: TrustEvent, row: number): boolean {
    const passed = this.filter(event);
    if (passed === 'no') return false;
    this.marks.of[row] = 2 * this.numberOf(passed) + (passed.sure ? 1 : 2);
    return true;
  }

  /** After rows were dropped. */
  forget(): void {
    if (this.values.size === 0) return;
    const kept = new Set<number>();
    for (const mark of this.marks.of) kept.add((mark - 1) >>> 1);
    for (const [value, number] of this.values) {
      if (kept.has(number)) continue;
      this.values.delete(value);
      this.raws.delete(number);
    }
  }

  read(keys: SubjectKeys, view: WindowView): Value {
    if (this.spec.what === 'since_last_event' || this.spec.what === 'since_last_signal') return this.since(keys, view);
    const marks = this.marks.of;
    const values = this.spec.what === 'event_distinct' ? new Set<number>() : undefined;
    let [sure, perhaps] = [0, 0];
    this.subjects.each(keys, view.fromMs, view.toMs, (row) => {
      const mark = marks[row] as number;
      if (mark % 2 === 1) {
        sure++;
        values?.add(mark);
      } else if (mark > 0) perhaps++;
      return false;
    });
    const low = values?.size ?? sure;
    const high = view.whole ? low + perhaps : Number.POSITIVE_INFINITY;
    return low === high ? low : new Span(low, high);
  }

  /** Seconds since the newest event; with none, at least as long as the window. An event that may not belong here widens the bounds. */
  private since(keys: SubjectKeys, view: WindowView): Value {
    const seconds = (timeMs: number): number => Math.max(0, view.nowMs - timeMs) / 1_000;
    const marks = this.marks.of;
    let [low, high] = [this.spec.withinMs / 1_000, Number.POSITIVE_INFINITY];
    this.subjects.each(keys, view.fromMs, view.toMs, (row, timeMs) => {
      const mark = marks[row] as number;
      if (mark > 0) low = Math.min(low, seconds(timeMs));
      if (mark % 2 === 1) high = seconds(timeMs);
      return mark % 2 === 1;
    });
    if (!view.whole) low = Math.min(low, seconds(view.knownSinceMs));
    return low === high ? low : new Span(low, high);
  }

  /** The member of the newest one, in `value`, if it has it; undefined while a newer one may be missing, or not belong here. */
  last(keys: SubjectKeys, view: WindowView): { value: Value | undefined } | undefined {
    let found: { mark: number; timeMs: number } | undefined;
    this.subjects.each(keys, view.fromMs, view.toMs, (row, timeMs) => {
      const mark = this.marks.of[row] as number;
      if (mark > 0) found = { mark, timeMs };
      return mark > 0;
    });
    if (!found) return view.whole ? { value: undefined } : undefined;
    if (found.mark % 2 !== 1 || found.timeMs < view.knownSinceMs) return undefined;
    return { value: this.raws.get((found.mark - 1) / 2) };
  }

  private numberOf({ value, raw }: { value: string; raw?: Value }): number {
    if (value === '') return 0;
    let number = this.values.get(value);
    if (number === undefined) {
      number = ++this.lastValue;
      this.values.set(value, number);
      if (raw !== undefined) this.raws.set(number, raw);
    }
    return number;
  }
}

/** Events up to this far in the future count, since clocks differ. */
export const SKEW_MAX_MS = 300_000;
/** How long events are kept after they leave their window, in case a clock is set back. */
const KEPT_BACK_MS = 3_600_000;
/** The log is read a little before a run's time: up to this much at the end of a window is no gap. */
const READ_LAG_MAX_MS = 60_000;

export class Windows {
  private readonly rows = new Rows();
  private readonly windows = new Map<string, EventWindow>();
  /** Of the kinds that have windows. */
  private readonly subjects = new Map<SubjectKind, Subjects>();
  private longestMs = 0;
  private nowMs = Number.NEGATIVE_INFINITY;
  private sweptMs = Number.NEGATIVE_INFINITY;
  /** Older events have been forgotten. */
  private forgottenMs = Number.NEGATIVE_INFINITY;

  /** Adds a window for an operator unless an equal one exists. */
  register(key: string, spec: EventCount): EventWindow {
    const known = this.windows.get(key);
    if (known) return known;
    const subjects = this.subjects.get(spec.subject) ?? new Subjects(this.rows);
    this.subjects.set(spec.subject, subjects);
    const window = new EventWindow(spec, this.rows, subjects);
    subjects.windows.push(window);
    this.windows.set(key, window);
    this.longestMs = Math.max(this.longestMs, spec.withinMs);
    return window;
  }

  /** Takes events in. An id counts once for as long as it can be in a window. */
  observe(events: readonly TrustEvent[]): void {
    if (this.windows.size === 0) return;
    for (const event of events) {
      const row = event.createdAtMs < this.forgottenMs ? 0 : this.rows.add(event.id, event.createdAtMs);
      if (row > 0) for (const [kind, subjects] of this.subjects) subjects.add(eventKeys(event, kind), event, row);
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
    const moved = this.rows.forget(oldest);
    if (moved) for (const subjects of this.subjects.values()) subjects.forget(moved);
  }

  /** What a window sees, given the stretches of time its log was read for. */
  view(
    { withinMs, transmitter, lagMaxMs }: WindowSpec,
    coverage: readonly Coverage[],
    nowMs: number = this.nowMs,
  ): WindowView {
    const fromMs = nowMs - withinMs;
    const knownSinceMs = Math.max(
      logKnownSince(coverageOf(coverage, transmitter), withinMs, nowMs, lagMaxMs),
      this.forgottenMs,
    );
    return { nowMs, fromMs, toMs: nowMs + SKEW_MAX_MS, whole: knownSinceMs <= fromMs, knownSinceMs };
  }
}

/** Since when the log is known without a gap up to now, for a window of this length; now itself when it is not. */
export function logKnownSince(
  coverage: readonly Coverage[],
  withinMs: number,
  nowMs: number,
  lagMaxMs = Math.min(READ_LAG_MAX_MS, withinMs / 10),
): number {
  return knownSince(coverage, nowMs, lagMaxMs);
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

/** The subject that an event belongs to, if it names one. */
function eventKeys(event: TrustEvent, kind: SubjectKind): SubjectKeys {
  return keysOf(kind, ...textsOf(event, kind));
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
