// domain: how a source usually moves, learned from its own readings, so that one that stands still is known. In: nothing. Out: nouns.
// They are kept small: one row for each form of a source, with at most 15 days in it.
import type { Source } from './subjects.ts';

/** What one reading shows of it. */
export interface Sight {
  /** Equal for equal records, in any order; absent for events. */
  content?: string | undefined;
  /** Epoch ms of the newest report in it; absent: no record has one. */
  newestMs: number | undefined;
}

/** What changes by itself while a source is alive: its records, and the time of its newest report. */
export interface Sign {
  value: string | number;
  /** The reading that changed it last. */
  changedAt: number;
  /** How long it has been as it is, up to the last reading. Of records: as far as readings saw it. Of a report: its age. */
  quietMs: number;
  /** By day (of the epoch): how often it changed, and the longest time for which it did not. */
  days: { day: number; changes: number; quietMs: number }[];
  /** It stands still. */
  since?: number | undefined;
}

export interface Movement {
  source: Source;
  /** Readings of different forms show different fields, so they are not compared. */
  form: string;
  firstAt: number;
  readAt: number;
  /** Between the last two readings. */
  everyMs: number;
  signs: { content?: Sign | undefined; newest?: Sign | undefined };
  /** The last lists that were not the one before, each with its newest report: an old one is known again. */
  past: { content: string; newestMs: number; at: number }[];
}
