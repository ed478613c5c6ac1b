// history: how rows become what a run saw: the seam between the files and the form of a recorded run. In: nothing. Out: the port that the codec
// implements and the reader of the files is given.
import type { TrustEvent } from '../domain/event.ts';
import type { FactChange, RecordedRuleSet, RecordedRun } from '../domain/recorded-history.ts';
import type { HistoryRow } from './rows.ts';

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
