// domain: history: what runs saw, as it is recorded and read again. In: nothing. Out: the forms that recording, reading and replaying share,
// and their ports. INVARIANT: what is recorded holds no secrets, and recording never stops a run.

import type { PackList } from '../base/packed-list.ts';
import { isEqualPrint, PRINT_WORDS } from '../base/print-bits.ts';
import type { SteadyReading } from '../base/time.ts';
import type { CeilingSettings } from './action.ts';
import type { WindowNow } from './change-window.ts';
import type { Decision } from './decision.ts';
import type { NamedAct, TrustEvent } from './event.ts';
import type { Facts } from './facts.ts';
import type { GivenTables } from './given-table.ts';
import type { PresentPrints } from './identity.ts';
import type { Lists } from './lists.ts';
import type { FactChange } from './look-back.ts';
import type { Run } from './run.ts';
import { type Coverage, isUsable, type OwnRead, type SourceReading } from './snapshot.ts';
import type { OpenState } from './store.ts';
import type { CountedDecision } from './store-ports.ts';
import { SOURCE_OF, type Source, type SubjectKind, type SubjectRef } from './subjects.ts';

// Fingerprints that are known, and which of them one reading had.

/** A free place. */
const NONE = -1;

/** For another thread. */
export interface SharedPrints {
  prints: Int32Array;
  /** Which of the prints, by their first number. */
  slots: Int32Array;
  /** By print. */
  seen: Uint8Array;
}

/**
 * Tables that nobody uses, by capacity. Garbage collection does not count shared memory: without reuse, those of many runs stay until it
 * happens to come by.
 */
const spare = new Map<number, SharedPrints>();
const SPARE_MAX = 3;

export class SeenPrints {
  private constructor(private readonly table: SharedPrints) {}

  static of(prints: PresentPrints): SeenPrints {
    const count = prints.length / PRINT_WORDS;
    const capacity = 2 ** Math.ceil(Math.log2(2 * count + 2));
    const table = spare.get(capacity) ?? {
      prints: new Int32Array(new SharedArrayBuffer(2 * PRINT_WORDS * capacity)),
      slots: new Int32Array(new SharedArrayBuffer(4 * capacity)),
      seen: new Uint8Array(new SharedArrayBuffer(capacity / 2)),
    };
    spare.delete(capacity);
    table.seen.fill(0);
    table.slots.fill(NONE);
    table.prints.set(prints);
    const made = new SeenPrints(table);
    for (let print = 0; print < count; print += 1)
      if (!isNoPrint(prints, PRINT_WORDS * print)) table.slots[made.slotOf(prints, PRINT_WORDS * print)] = print;
    return made;
  }

  /** INVARIANT: no thread reads it or marks in it any more. */
  static release(table: SharedPrints): void {
    const [oldest] = spare.keys();
    if (oldest !== undefined && spare.size >= SPARE_MAX) spare.delete(oldest);
    spare.set(table.slots.length, table);
  }

  static over(table: SharedPrints): SeenPrints {
    return new SeenPrints(table);
  }

  get shared(): SharedPrints {
    return this.table;
  }

  /** None is known: every record is new. */
  get isEmpty(): boolean {
    return this.table.slots.every((slot) => slot === NONE);
  }

  /** Returns whether it is one of them. */
  see(prints: Int32Array, at: number): boolean {
    const known = this.table.slots[this.slotOf(prints, at)] as number;
    if (known === NONE) return false;
    this.table.seen[known] = 1;
    return true;
  }

  wasSeen(prints: Int32Array, at: number): boolean {
    const known = this.table.slots[this.slotOf(prints, at)] as number;
    return known !== NONE && this.table.seen[known] === 1;
  }

  get seenCount(): number {
    let count = 0;
    for (const seen of this.table.seen) count += seen;
    return count;
  }

  /** Its own slot, or the free one where it belongs. INVARIANT: at most half of them are taken. */
  private slotOf(prints: Int32Array, at: number): number {
    const { slots, prints: known } = this.table;
    const mask = slots.length - 1;
    let slot = (prints[at] as number) & mask;
    for (let one = slots[slot] as number; one !== NONE; one = slots[slot] as number) {
      if (isEqualPrint(known, PRINT_WORDS * one, prints, at)) break;
      slot = (slot + 1) & mask;
    }
    return slot;
  }
}

/** Of owners that no reading has shown. */
function isNoPrint(prints: Int32Array, at: number): boolean {
  return prints[at] === 0 && prints[at + 1] === 0 && prints[at + 2] === 0 && prints[at + 3] === 0;
}

/**
 * A form of records: lists of pages, whole lists and single records show different fields, and so do lists of version 2. A field that a form
 * never has is not gone when a record of that form lacks it.
 */
export type RecordForm = 'paged' | 'unpaged' | 'single' | 'paged v2' | 'unpaged v2';

export function formOf({ form, lists }: Pick<SourceReading, 'form' | 'lists'>): RecordForm | undefined {
  if (form === 'none') return undefined;
  return form === 'single' || lists === undefined ? form : `${form} v2`;
}

/** The part of a run that looked at a few subjects between two whole runs. Its sets and functions, as data. */
export interface RecordedPart {
  sinceSeq: number;
  counted: readonly CountedDecision[];
  attempts: ReadonlyMap<string, number>;
  /** The subjects that it read. */
  read: readonly SubjectRef[];
  /** Those that it found joined to them, and no others; absent: it was not recorded. */
  joined?: readonly SubjectRef[];
  /** A check again: it ends and undoes, and starts nothing. */
  isCheck?: boolean;
}

/** The settings that deciding reads. */
export interface RecordedSettings {
  ceilings: CeilingSettings;
  goneAfterMs: number;
  serialDevicesMax: number;
  /** Absent: `PER_DAY_TIMES`. */
  perDayTimes?: number | undefined;
  placeholderSerials: readonly string[];
  credential: string | undefined;
  lists: Lists;
  /** Of the trust gate; absent in records of earlier versions. */
  trust?: Readonly<Record<string, number>>;
}

/** The files of a rule set, by their path in its folder. Found by the set's hash (`Run.ruleSetHash`). */
export interface RecordedRuleSet {
  hash: string;
  files: ReadonlyMap<string, string>;
}

/** Everything beside the facts of subjects on which a run's decisions rest. */
export interface RunFrame {
  run: Run;
  /** When this run began to read. */
  steady: SteadyReading;
  quietMs: number;
  freeze: WindowNow | undefined;
  settings: RecordedSettings;
  /** Ids of active rules; of those that this run judged; of those that it could not judge. */
  activeRules: readonly string[];
  judged: readonly string[];
  unjudged: readonly string[];
  /** What this run read, and whether it is trusted: what was not seen is told here. Of a look: its own readings. */
  sources: Record<Source, SourceReading>;
  /** What deciding was handed as `sources`, where that differs: a look is handed those of the last whole run. */
  decidedOn: Record<Source, SourceReading> | undefined;
  coverage: readonly Coverage[];
  /** Sources that the server does not offer. */
  unavailable: readonly Source[];
  /** Facts from elsewhere that it judged by; absent: none, or by an earlier version. */
  given?: GivenTables | undefined;
  /** By bundle, ids of services; undefined when nothing asked for them, or the server does not list them. */
  bundles: ReadonlyMap<string, ReadonlySet<string>> | undefined;
  /** By action and target: whether the own record agreed with a list that showed it reversed. Absent: no list was read, or by an earlier version. */
  ownReads?: ReadonlyMap<string, OwnRead> | undefined;
  /** What the event log named others to have done; without names of people. Absent: nothing, or by an earlier version. */
  namedActs?: readonly NamedAct[] | undefined;
  /**
   * By kind that it read: the paths that records of this form have had until then. A run saw no fact of any other path, although the record
   * may have one, from readings of another form.
   */
  shows: ReadonlyMap<SubjectKind, ReadonlySet<string>>;
  /** The number, in the store, of the newest event when it decided. */
  eventsTo: number;
  /** Undefined for a run over whole lists. */
  part: RecordedPart | undefined;
  /**
   * When the last run before this process was completed, if that makes this run a dry one at most, whatever was asked for; null: nothing does.
   * Absent in records of earlier versions.
   */
  silentSince?: number | null | undefined;
}

/**
 * One run as it was recorded. A reading that was not trusted (`frame.sources`) is recorded too, against what trusted readings showed before it:
 * its changes hold for this run alone. So do those of the subjects that a look could not read.
 */
export interface RecordedRun {
  frame: RunFrame;
  /** May be read several times. Those of a run that saw a whole fleet for the first time are read from the files each time. */
  changes: Iterable<FactChange>;
  /** Events of the log that no run recorded before has; each id once. */
  events: readonly TrustEvent[];
  /** As deciding was handed it: what people did and what calls came to are in it. */
  openState: OpenState;
  /** New and changed decisions, and the ids of those that were in force and no longer are. */
  written: readonly Decision[];
  ended: readonly string[];
  /** Absent where an earlier recorded run of the same stretch had the same set. */
  ruleSet?: RecordedRuleSet | undefined;
}

/** Whether the changes of this kind hold for this run alone: its reading was not trusted. */
export function isMomentary({ sources }: Pick<RunFrame, 'sources'>, kind: SubjectKind): boolean {
  return !isUsable(sources[SOURCE_OF[kind]]);
}

/**
 * Why a stretch of time is not in the record. not_recorded: runs took place that were not recorded. damaged, foreign, version: so is a segment.
 * forgotten: a person's records were removed.
 */
export const GAP_CAUSES = ['not_recorded', 'damaged', 'foreign', 'version', 'forgotten'] as const;
export type GapCause = (typeof GAP_CAUSES)[number];

export interface HistoryGap {
  fromMs: number;
  toMs: number;
  cause: GapCause;
  /** For people: which file or runs, and why. */
  text: string;
}

/** What reading the history gives, in the order of the runs. */
export type HistoryItem =
  /**
   * First, and after a gap in which something was lost (`damaged`, `foreign`, `version`): all facts, as they were before the next run. Not after
   * `not_recorded` and `forgotten`: changes are against what was recorded last.
   */
  | {
      kind: 'state';
      atMs: number;
      facts: AsyncIterable<readonly FactChange[]>;
      events: AsyncIterable<readonly TrustEvent[]>;
    }
  | { kind: 'run'; run: RecordedRun }
  | { kind: 'gap'; gap: HistoryGap };

export interface HistoryQuery {
  /** Epoch ms, inclusive: runs that began from then on. */
  fromMs: number;
  toMs: number;
  /** Only facts of these kinds and paths are wanted, and what identifies subjects; absent: all. */
  facts?: ReadonlyMap<SubjectKind, ReadonlySet<string>> | undefined;
  /** Frames alone are asked for: no facts, no events, and nothing that was open. Far faster. */
  framesOnly?: boolean;
  /** Without open states and decisions: faster, when only facts are asked for. */
  factsOnly?: boolean;
}

export interface HistoryReader {
  /** Errors: AppError `io` when the folder cannot be read at all; a damaged part of it is a gap. */
  items(query: HistoryQuery): AsyncIterable<HistoryItem>;
  /** From the first recorded run to the last one, epoch ms; undefined without any. */
  span(): Promise<{ fromMs: number; toMs: number } | undefined>;
  /** What was known of one subject at a time, by path; undefined: it was in no list. `seenAt`: the last run before it that read it. */
  factsAt(subject: SubjectRef, atMs: number): Promise<{ facts: Facts; seenAt: number } | undefined>;
  /** All recorded changes of one subject, the oldest first, with the time of the run that saw each. */
  changesOf(
    subject: SubjectRef,
    fromMs: number,
    toMs: number,
  ): AsyncIterable<FactChange & { atMs: number; runSeq: number }>;
  /** The rule set of this hash; undefined when no kept segment has it. */
  ruleSet(hash: string): Promise<RecordedRuleSet | undefined>;
}

/** What one reading of a list, or of single subjects, saw: those that differ from what was recorded last, and which others were there. */
export interface SeenSubjects {
  kind: SubjectKind;
  reading: SourceReading;
  /** Records that are new or changed, as they were read, in packs (domain/fact-packs.ts). */
  changed: Iterable<Uint8Array>;
  /** Which of `presentPrints` the reading had; undefined: single subjects were read, and all others are as they were. */
  prints: SharedPrints | undefined;
}

/** What a run hands over when its decisions are committed. */
export interface SeenRun extends Omit<RecordedRun, 'frame' | 'changes' | 'events' | 'ruleSet'> {
  frame: Omit<RunFrame, 'shows'>;
  seen: readonly SeenSubjects[];
  ruleSet: RecordedRuleSet;
  /** The clock agrees with the server's: no old day is removed by a clock that may be wrong. */
  isClockRight: boolean;
}

/** The store as recording sees it: events by the numbers that they have there, which grow. */
export interface EventRows {
  /** Of the newest one; 0 without any. */
  lastEventNo(): Promise<number>;
  /** Those after a number, up to another one. */
  eventsBetween(afterNo: number, upToNo: number): AsyncIterable<TrustEvent[]>;
}

export interface HistoryRecorder {
  /** What runs over all active rules read for the history alone, beside what these need; absent: nothing. */
  readonly lists?: ReadonlySet<Source>;
  /** What was recorded last will be asked for soon. */
  prepare?(): void;
  /** Fingerprints of all records of a kind as this form shows them, and as they were recorded last; empty: all records count as changed. */
  presentPrints(kind: SubjectKind, form: RecordForm): Promise<PresentPrints>;
  /** For the changed records of one reading: while it grows, they are recorded already. Undefined: they are recorded with the run. */
  changedList?(kind: SubjectKind): PackList | undefined;
  /** Takes it over and returns: it is written meanwhile. Never throws: a failure is told by `fault`, and is a gap. */
  record(run: SeenRun): void;
  /** Events of the store after this number are still to be read, for runs that it took over; undefined: none are. */
  readonly unreadAfterNo: number | undefined;
  /** When all that was taken over is written, or has failed. */
  settled(): Promise<void>;
  /** Why the last run could not be recorded; undefined: it was, or none was taken over yet. */
  readonly fault: string | undefined;
  close(): Promise<void>;
}
