// domain: how long ago something was at the least, though the wall clock may have jumped since. What is stored is wall time; a
// clock that never jumps while the machine runs tells when the wall clock did. Since when the two agree is kept with what is stored.

export interface SteadyTime {
  read(): SteadyReading;
  /** As of the last reading: to be kept with what is written down after it. */
  agreement(): ClockAgreement;
}

export interface SteadyReading {
  nowMs: number;
  /** Wall times before this one were written down before a jump: of those it is only known how long the jump is over. */
  sinceMs: number;
  /** So long the two clocks have agreed: since the jump was seen, or since the first process of this boot began. */
  forMs: number;
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
