// domain: one validated read of the sources: where and when each was read, and whether it can be trusted.
import { type ReadingName, SOURCES, type Source } from './subjects.ts';

/** Why a source is not trusted; `code` is stable, `text` is for people. */
/** `contradicted`: a record read singly shows what we did, and the list does not. */
export const TRUST_REASONS = [
  'incomplete',
  'shifted',
  'repeated_key',
  'unreadable_records',
  'empty',
  'shrunk',
  'grown',
  'too_many',
  'fact_moved',
  'fact_drifted',
  'count_drifted',
  'stands_still',
  'clock_skew',
  'contradicted',
  'stale',
  'unavailable',
] as const;

export interface TrustReason {
  source: ReadingName;
  code: (typeof TRUST_REASONS)[number];
  text: string;
}

export const READING_STATES = ['read', 'skipped', 'unavailable', 'failed'] as const;

/** One source of one snapshot. */
export interface SourceReading {
  source: ReadingName;
  /** `skipped`: no rule reads it. `unavailable`: answered 403. `failed`: could not be read. */
  state: (typeof READING_STATES)[number];
  /** `single`: only the subjects that new events named. Its count is no count of the list. */
  form: 'paged' | 'unpaged' | 'single' | 'none';
  /** Absent: those of version 1, and for services and events. Single records are always those of version 1. */
  lists?: 'v2';
  startedAt: number;
  finishedAt: number;
  count: number;
  /** Records whose key could not be read, with at most 100 examples of why. */
  unreadable: { count: number; examples: string[] };
  /** Names of secrets that were dropped before anything was kept. */
  dropped: string[];
  trusted: boolean;
  reasons: TrustReason[];
  /** An operator accepted it: who, why, and the reasons that were overruled. */
  accepted?: { by: string; reason: string; overrode: TrustReason[] };
}

/**
 * Whether rules that read the source may be judged and acted on: it was read and is trusted, or the server does not offer it. Then
 * its facts are unknown, and an unknown fact never acts.
 */
export function isUsable({ state, trusted }: Pick<SourceReading, 'state' | 'trusted'>): boolean {
  return state === 'read' ? trusted : state !== 'failed';
}

export interface Snapshot {
  id: string;
  /** Epoch ms that windows, `age` and `$now` are counted from. */
  nowMs: number;
  sources: Record<Source, SourceReading>;
  /** Of facts from elsewhere; absent without any. */
  given?: readonly SourceReading[];
}

/** Stands in the counts of one fact's values for those beyond the first ones. */
export const OTHER_VALUES = '…other';

/** What is kept of a trusted reading. */
export interface KeptReading {
  takenAt: number;
  count: number;
  /** The number of records by fact path, then by value (as text). */
  values: Record<string, Record<string, number>>;
}

/**
 * What the own record of a target shows where a list shows reversed what was done. `as_listed`: the same. `as_done`: what was done. `unread`: it could
 * not be read, or is one of too many.
 */
export type OwnRead = 'as_listed' | 'as_done' | 'unread';

/**
 * The last reading of each source, where it is not trusted: a run over chosen rules reads only some of them. `latest`: runs, newest first. A source
 * that an edition does not have is not distrusted: the rules that need it report it themselves.
 */
export function distrustedNow<R extends { findings?: { snapshot: Snapshot } | undefined }>(
  latest: readonly R[],
): { run: R; reading: SourceReading }[] {
  const own = SOURCES.flatMap((source) => {
    const run = latest.find(({ findings }) => (findings?.snapshot.sources[source].state ?? 'skipped') !== 'skipped');
    const reading = run?.findings?.snapshot.sources[source];
    return run && reading && !reading.trusted && reading.state !== 'unavailable' ? [{ run, reading }] : [];
  });
  const run = latest.find(({ findings }) => findings?.snapshot.given !== undefined);
  const given = run?.findings?.snapshot.given?.filter(({ trusted }) => !trusted) ?? [];
  return [...own, ...given.map((reading) => ({ run: run as R, reading }))];
}

/** A trusted reading of a source, to compare the next one with. */
export interface Baseline extends KeptReading {
  source: ReadingName;
  /** Trusted readings before it, of the last days, oldest first. Absent: none is kept yet. */
  earlier?: readonly KeptReading[];
}

/** A stretch of time for which the event log was read without a gap, epoch ms, both inclusive. */
export interface Coverage {
  /** Whose signals are known for it; absent: it is of the platform's own log. */
  transmitter?: string | undefined;
  fromMs: number;
  toMs: number;
}

/** The stretches of one log, in their order: the platform's, or the signals of a transmitter. */
export function coverageOf(all: readonly Coverage[], transmitter?: string): Coverage[] {
  return all.filter((one) => one.transmitter === transmitter);
}

// How a source usually moves, learned from its own readings, so that one that stands still is known.

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
  source: ReadingName;
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
