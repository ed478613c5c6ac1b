// history: one row of a recorded run, as the segments keep it, and which rows hold on. In: nothing. Out: the form of a row and the table of its
// kinds, which recording, reading, compacting and forgetting share. Never: a secret; it is dropped before a row is made.

import type { TrustEvent } from '../domain/event.ts';
import type { FactChange } from '../domain/look-back.ts';
import type { RecordedRuleSet, RecordedRun } from '../domain/recorded-history.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../domain/subjects.ts';

/**
 * standing: holds until a later row of the same kind, subject and path; one without a value ends it, and one with an empty path and no value
 * ends all rows of its subject. momentary: of its run alone. event: of its run alone, and carried on for windows that reach back to it.
 */
type RowHold = 'standing' | 'momentary' | 'event';

/** What deciding found open, each noun by its id or key. */
const OPEN_ROWS = {
  episode: 'standing',
  claim: 'standing',
  decision: 'standing',
  intent: 'standing',
  rejected: 'standing',
  attempt: 'standing',
  attempts: 'standing',
  lately: 'standing',
  exemption: 'standing',
  members: 'standing',
  stop: 'standing',
} as const satisfies Record<string, RowHold>;

export type OpenKind = keyof typeof OPEN_ROWS;
export const OPEN_KINDS = Object.keys(OPEN_ROWS) as readonly OpenKind[];

/** All kinds of rows. INVARIANT: the hold of a kind never changes, since segments of earlier versions have it too. */
const ROW_KINDS = {
  /** Facts of subjects. `subject` is the id, `path` the fact. Value: JSON of the fact (src/history/fact-text.ts). */
  device: 'standing',
  user: 'standing',
  service: 'standing',
  /** The same of a reading that was not trusted, or of a subject that a look could not read. */
  'aside.device': 'momentary',
  'aside.user': 'momentary',
  'aside.service': 'momentary',
  /** The run and its frame, by parts: `path` names the part. Each run has at least one row of this kind, and it is the first one. */
  run: 'momentary',
  /** An event of the log; `subject` is its id. */
  event: 'event',
  /** Decisions that the run wrote, and ended; `subject` is the id. */
  written: 'momentary',
  ended: 'momentary',
  /** What deciding read, written when it changed; `subject` is the id or key of each. */
  setting: 'standing',
  /** Which paths records of a form have had: `subject` is the kind and its form, such as `device paged`. */
  form: 'standing',
  /** The files of a rule set: `subject` is its hash, `path` the file. */
  rules: 'standing',
  coverage: 'standing',
  bundle: 'standing',
  source: 'standing',
  ...OPEN_ROWS,
} as const satisfies Record<string, RowHold>;

export type RowKind = keyof typeof ROW_KINDS;

export interface HistoryRow {
  /** `Run.seq`; 0 in a base, which has what held before the runs after it. */
  run: number;
  /** When that run began, epoch ms. In a base: when the run began that recorded the row. */
  at: number;
  kind: RowKind;
  subject: string;
  path: string;
  /** JSON text. Undefined: it is there no longer. */
  value: string | undefined;
}

/** Undefined for a kind of a later version: such a row is of its run alone. */
export function holdOf(kind: string): RowHold | undefined {
  return Object.hasOwn(ROW_KINDS, kind) ? ROW_KINDS[kind as RowKind] : undefined;
}

/** Whose fact a row is, trusted or not; undefined for rows of other kinds. */
export function factKindOf(kind: string): SubjectKind | undefined {
  return FACT_KINDS.get(kind);
}

const FACT_KINDS: ReadonlyMap<string, SubjectKind> = new Map(
  SUBJECT_KINDS.flatMap((kind): [string, SubjectKind][] => [
    [kind, kind],
    [`aside.${kind}`, kind],
  ]),
);

/** Reads the rows of one stretch of runs, in order; it keeps the standing ones that are no facts. */
export interface RunDecoder {
  /** Forgets all it kept. `rows`: the standing rows that are no facts, as they were before the next run, in no order. */
  begin(rows: Iterable<HistoryRow>): void;
  /**
   * The next run. `rows`: all of it that are no facts, in the order in which they were written. `changes`: its facts, those of readings that are
   * not trusted too. Throws when the rows make no run: it is then counted as damaged.
   */
  run(rows: readonly HistoryRow[], changes: Iterable<FactChange>): RecordedRun;
  /** Events of rows of kind `event`. */
  events(rows: readonly HistoryRow[]): TrustEvent[];
  /** A rule set of its rows of kind `rules`; undefined when they are not whole. */
  ruleSet(hash: string, rows: readonly HistoryRow[]): RecordedRuleSet | undefined;
}

export interface RunDecoderOptions {
  /** Open states and decisions may be left out of the runs. */
  factsOnly: boolean;
  /** Somebody was forgotten: a run may name what is no longer recorded. */
  hasForgotten?: boolean;
}

export type NewRunDecoder = (options: RunDecoderOptions) => RunDecoder;
