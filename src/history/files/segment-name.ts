// history files: the name of a segment: its places, level, number of rewrites, times and checksum. In: a name, or its parts. Out: the other.
// Names in the order of their text are in the order in which runs were recorded, whatever the clock showed meanwhile.

/**
 * A run's own segment; those of an hour and of a day, which are segments one after another; and what held after the run of the last place.
 */
export type SegmentLevel = 'run' | 'hour' | 'day' | 'base';

export interface SegmentName {
  /** Each recorded run has a place: 1, 2, 3 …, in the order of recording. Of a base, both are the place after which it holds. */
  first: number;
  last: number;
  level: SegmentLevel;
  /** How often something was removed from it. Of two with the same places the one with more holds. */
  rewrites: number;
  /** When its first and its last run began, epoch ms. The clock may have been set back between them. */
  fromMs: number;
  toMs: number;
  /** SHA-256 of the file, in hex. */
  sha256: string;
}

export function fileNameOf({ first, last, level, rewrites, fromMs, toMs, sha256 }: SegmentName): string {
  return `${placeText(first)}-${placeText(last)}.${level}.${rewrites}.${stamp(fromMs)}.${stamp(toMs)}.${sha256}.parquet`;
}

/** Undefined: it is the name of no segment. */
export function parseFileName(name: string): SegmentName | undefined {
  const found = NAME.exec(name);
  if (!found) return undefined;
  const [, first, last, level, rewrites, from, to, sha256] = found as unknown as [string, ...string[]];
  const parsed: SegmentName = {
    first: Number(first),
    last: Number(last),
    level: level as SegmentLevel,
    rewrites: Number(rewrites),
    fromMs: timeOf(from as string),
    toMs: timeOf(to as string),
    sha256: sha256 as string,
  };
  return fileNameOf(parsed) === name ? parsed : undefined;
}

/** The folder of a time: one a day, UTC. */
export function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

export const DAY_FOLDER = /^\d{4}-\d{2}-\d{2}$/;

const NAME = /^(\d{8,})-(\d{8,})\.(run|hour|day|base)\.(\d+)\.(\d{8}T\d{9}Z)\.(\d{8}T\d{9}Z)\.([0-9a-f]{64})\.parquet$/;

function placeText(place: number): string {
  return String(place).padStart(8, '0');
}

function stamp(atMs: number): string {
  return new Date(atMs).toISOString().replace(/[-:.]/g, '');
}

function timeOf(text: string): number {
  const [, year, month, day, hour, minute, second, ms] = STAMP.exec(text) as unknown as [string, ...string[]];
  return Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
    Number(ms),
  );
}

const STAMP = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})(\d{3})Z$/;
