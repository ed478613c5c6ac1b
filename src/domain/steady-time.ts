// domain: how long ago something was at the least, though the wall clock may have jumped since. What is stored is wall time;
// within one process a clock that never jumps tells when the wall clock did. After a restart the wall clock is all there is.

export interface SteadyTime {
  read(): SteadyReading;
}

export interface SteadyReading {
  nowMs: number;
  /** Wall times before this one were written down before a jump: of those it is only known how long the jump is over. */
  sinceMs: number;
  /** So long the two clocks have agreed: since the jump was seen, or since the process began. */
  forMs: number;
}

/** A difference of the two clocks that is no jump: one is slowly corrected, the other is not. */
export const AGREED_MS = 1_000;

/** A time ahead of now is of before the wall clock was set back. */
export function elapsedMs({ nowMs, sinceMs, forMs }: SteadyReading, atMs: number): number {
  return atMs < sinceMs || atMs > nowMs + AGREED_MS ? forMs : nowMs - atMs;
}

/** For what was read in between: as of its beginning. When the wall clock jumped meanwhile, nothing is known to be over. */
export function throughout(before: SteadyReading, after: SteadyReading): SteadyReading {
  return before.sinceMs === after.sinceMs ? before : { ...before, sinceMs: Number.POSITIVE_INFINITY, forMs: 0 };
}
