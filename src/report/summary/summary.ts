// report: the shape of a summary: what happened since a time, in counts with examples whose ids and run numbers lead on. Times are ISO 8601 in UTC.
import type { AuditReader } from '../../domain/audit-store.ts';
import type { HeldSince, PageReader } from '../../domain/page-reader.ts';
import type { RecordReader } from '../../domain/record-reader.ts';

export type SummaryReader = Pick<RecordReader, 'runLines' | 'exemptions'> &
  Pick<AuditReader, 'audit'> &
  Pick<PageReader, 'heldSince' | 'heldInForce'>;

export interface Summary {
  since: string;
  until: string;
  runs: SummaryRuns;
  /** Intents that were settled in this time, by action and outcome. */
  calls: SummaryCalls[];
  /** Decisions of this time that hold something, by rule and reason. */
  held: HeldSince[];
  expired: {
    plans: Counted<{ id: string; at: string }>;
    exemptions: Counted<{ id: string; about: string; at: string }>;
  };
  /** What people did, and what somebody unknown reversed (`by` is null). The newest first. */
  people: Counted<SummaryDeed>;
  untrusted: SummaryUntrusted[];
  /** In words: the change window in force, or the next one. Null: none is configured. */
  changeWindow: string | null;
}

/** All of them are counted; some of them are named. */
export interface Counted<T> {
  count: number;
  some: T[];
}

export interface SummaryRuns {
  completed: number;
  aborted: number;
  running: number;
  /** How many of them were only over the subjects that new events named. */
  afterEvents: number;
  /** Numbers; null without a run. */
  first: number | null;
  last: number | null;
  /** The usual time between two scheduled runs; null when too few were made to know it. */
  usualMs: number | null;
  aborts: Counted<{ run: number; at: string; error: string }>;
  /** No run in this time, which is longer than twice the usual one. `to` is null while it lasts. */
  outages: Counted<{ from: string; to: string | null; after: number }>;
  /** Older runs of this time are not counted: there are too many. */
  isCut: boolean;
}

export interface SummaryCalls {
  action: string;
  outcome: 'done' | 'failed' | 'in_doubt';
  count: number;
  some: { target: string; intent: string; run: number | null; note: string }[];
}

export interface SummaryDeed {
  at: string;
  by: string | null;
  text: string;
  reason: string | null;
  /** The audit entry; null for several. */
  entry: number | null;
}

export interface SummaryUntrusted {
  source: string;
  code: string;
  /** In words, of the last such reading. */
  text: string;
  readings: number;
  firstRun: number | null;
  lastRun: number | null;
}
