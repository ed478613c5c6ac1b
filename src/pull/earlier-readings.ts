// pull: which trusted readings of the last days are kept, and with which of them a reading is compared: a fleet that drifts by a little in each
// run is not seen from one reading to the next. In: baselines. Out: the readings to keep, the readings to compare with.
// INVARIANT: their number is bounded, and so are the values of each. A person's acceptance begins again with none.
import { spanText } from '../domain/age-text.ts';
import type { Baseline, KeptReading } from '../domain/snapshot.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
/** Of the last day one reading is kept in each of these stretches, before that one a day. */
const FINE_MS = 3 * HOUR_MS;

export interface DriftBounds {
  driftDayPercent: number;
  driftWeekPercent: number;
}

export interface ComparedReading {
  reading: KeptReading;
  /** How much may have changed since then, percent or points. */
  percentMax: number;
  /** For people: `24 hours ago`. */
  ago: string;
}

/**
 * The newest readings that are 24 hours and 7 days older than the last trusted one, or the oldest that is kept. While nothing is trusted they
 * stay the same: waiting makes no drift trusted.
 */
export function readingsToCompare(
  baseline: Baseline | undefined,
  nowMs: number,
  { driftDayPercent, driftWeekPercent }: DriftBounds,
): ComparedReading[] {
  if (!baseline) return [];
  const of = (spanMs: number, percentMax: number): ComparedReading[] => {
    const reading = readingBefore(baseline, spanMs);
    return reading ? [{ reading, percentMax, ago: agoText(nowMs - reading.takenAt) }] : [];
  };
  return [...of(DAY_MS, driftDayPercent), ...of(WEEK_MS, driftWeekPercent)];
}

function readingBefore({ takenAt, earlier = [] }: Baseline, spanMs: number): KeptReading | undefined {
  return earlier.findLast((one) => one.takenAt <= takenAt - spanMs) ?? earlier[0];
}

/** From an hour to two days whole hours. */
function agoText(ageMs: number): string {
  if (ageMs < HOUR_MS || ageMs >= 2 * DAY_MS) return `${spanText(ageMs)} ago`;
  const hours = Math.round(ageMs / HOUR_MS);
  return `${hours} hour${hours === 1 ? '' : 's'} ago`;
}

/** What is kept beside a new trusted reading: the last one joins the earlier ones, and those go that nothing will be compared with. */
export function earlierReadings(last: Baseline | undefined, takenAt: number): readonly KeptReading[] {
  if (!last) return [];
  const { count, values } = last;
  // A clock that was ahead leaves readings of the future, which would never be old enough.
  const known = [...(last.earlier ?? []), { takenAt: last.takenAt, count, values }].filter(
    (one) => one.takenAt <= takenAt,
  );
  const kept: KeptReading[] = [];
  for (const one of known) {
    const before = kept.at(-1);
    const stepMs = takenAt - one.takenAt > DAY_MS + FINE_MS ? DAY_MS : FINE_MS;
    if (!before || one.takenAt - before.takenAt >= stepMs) kept.push(one);
  }
  const oldest = kept.findLastIndex((one) => one.takenAt <= takenAt - WEEK_MS);
  return oldest > 0 ? kept.slice(oldest) : kept;
}
