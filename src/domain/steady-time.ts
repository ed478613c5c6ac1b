// domain: the least time that has passed since something, although the wall clock may have jumped. Stored times are
// wall times; a clock that never jumps while the machine runs shows when the wall clock did. Since when the two agree
// is kept with what is stored.

export interface SteadyTime {
  read(): SteadyReading;
  /** State after the last reading: kept with what is stored after it. */
  agreement(): ClockAgreement;
}

export interface SteadyReading {
  nowMs: number;
  /** Wall times before this one were recorded before a jump, or on another boot. */
  sinceMs: number;
  /**
   * How long the two clocks have agreed: since the jump was seen, or since the first process of this boot began. Whole,
   * rounded down.
   */
  forMs: number;
  /** When a jump was last seen, on any boot: times recorded before it only show how long the jump is over. */
  jumpedMs: number;
  /** When the wall clock was last seen set back: times ahead of it count from then on. */
  setBackMs: number;
}

/** Since when the wall clock and the one that counts from the machine's start agree. */
export interface Agreeing {
  /** By the wall clock. */
  sinceMs: number;
  /** By the other one. */
  fromMs: number;
}

/** Of a process that has watched a clock by which others record too. */
export interface Watched extends Agreeing {
  /** When it last saw that clock jump; -Infinity: never. */
  jumpedMs: number;
}

/**
 * Since when the wall clock and the one that counts from the machine's start agree: the next process continues from
 * there.
 */
export interface ClockAgreement extends Agreeing {
  /** Which start of which machine; empty when the system does not report it. */
  boot: string;
  /** The wall clock minus the other one. */
  apartMs: number;
  /** When the clocks were last read, by the wall clock. */
  seenMs: number;
  jumpedMs: number;
  setBackMs: number;
}

/** A difference of the two clocks that is not a jump: one is slowly corrected, the other is not. */
export const AGREED_MS = 1_000;

/**
 * The wall clocks of two boots may differ by this much. INVARIANT: more than twice the 5 minutes by which each may
 * differ from the server's `Date`: beyond those, sources are untrusted, and nothing is done that needs a stretch of
 * time to be over.
 */
export const BETWEEN_BOOTS_MS = 15 * 60_000;

/** At least. A time ahead of now is from before the wall clock was set back. */
export function elapsedMs({ nowMs, sinceMs, forMs, jumpedMs }: SteadyReading, atMs: number): number {
  const isAhead = atMs > nowMs + AGREED_MS;
  if (atMs >= sinceMs && !isAhead) return nowMs - atMs;
  const fromMs = isAhead ? jumpedMs : Math.max(atMs, jumpedMs);
  return Math.max(forMs, nowMs - fromMs - BETWEEN_BOOTS_MS);
}

/** By the wall clock, for uses where an hour more or less does no harm and an endless stretch would. */
export function wallElapsedMs({ nowMs, setBackMs }: SteadyReading, atMs: number): number {
  return nowMs - (atMs > nowMs + AGREED_MS ? setBackMs : atMs);
}

/**
 * For what was read in between: from its beginning. When the wall clock jumped meanwhile, nothing is known to be over.
 */
export function throughout(before: SteadyReading, after: SteadyReading): SteadyReading {
  if (before.sinceMs === after.sinceMs) return before;
  const never = Number.POSITIVE_INFINITY;
  return { ...before, sinceMs: never, forMs: 0, jumpedMs: never };
}
