// domain: how long ago something was at the least, though the wall clock may have jumped since. What is stored is wall time; a
// clock that never jumps while the machine runs tells when the wall clock did. Since when the two agree is kept with what is stored.

export interface SteadyTime {
  read(): SteadyReading;
  /** As of the last reading: to be kept with what is written down after it. */
  agreement(): ClockAgreement;
}

export interface SteadyReading {
  nowMs: number;
  /** Wall times before this one were written down before a jump, or on another boot. */
  sinceMs: number;
  /** So long the two clocks have agreed: since the jump was seen, or since the first process of this boot began. Whole, rounded down. */
  forMs: number;
  /** When a jump was seen last, on whichever boot: of what was written down before, it is only known how long that is over. */
  jumpedMs: number;
  /** When the wall clock was last seen set back: from then on counts what is ahead of it. */
  setBackMs: number;
}

/** Since when the wall clock and the one that counts from the machine's start agree: a next process goes on from there. */
export interface ClockAgreement {
  /** Which start of which machine; empty where the system does not tell. */
  boot: string;
  /** The wall clock less the other one. */
  apartMs: number;
  /** Since then, by the wall clock. */
  sinceMs: number;
  /** Since then, by the other one. */
  fromMs: number;
  /** When the clocks were read last, by the wall clock. */
  seenMs: number;
  jumpedMs: number;
  setBackMs: number;
}

/** A difference of the two clocks that is no jump: one is slowly corrected, the other is not. */
export const AGREED_MS = 1_000;

/**
 * So far wall clocks of two boots may differ. INVARIANT: more than twice the 5 minutes by which each may differ from the server's
 * `Date`: beyond those, sources are untrusted, and what takes a stretch for over is not done.
 */
export const BETWEEN_BOOTS_MS = 15 * 60_000;

/** At the least. A time ahead of now is of before the wall clock was set back. */
export function elapsedMs({ nowMs, sinceMs, forMs, jumpedMs }: SteadyReading, atMs: number): number {
  const isAhead = atMs > nowMs + AGREED_MS;
  if (atMs >= sinceMs && !isAhead) return nowMs - atMs;
  const fromMs = isAhead ? jumpedMs : Math.max(atMs, jumpedMs);
  return Math.max(forMs, nowMs - fromMs - BETWEEN_BOOTS_MS);
}

/** By the wall clock, where an hour more or less does no harm and a stretch without an end would. */
export function wallElapsedMs({ nowMs, setBackMs }: SteadyReading, atMs: number): number {
  return nowMs - (atMs > nowMs + AGREED_MS ? setBackMs : atMs);
}

/** For what was read in between: as of its beginning. When the wall clock jumped meanwhile, nothing is known to be over. */
export function throughout(before: SteadyReading, after: SteadyReading): SteadyReading {
  if (before.sinceMs === after.sinceMs) return before;
  const never = Number.POSITIVE_INFINITY;
  return { ...before, sinceMs: never, forMs: 0, jumpedMs: never };
}
