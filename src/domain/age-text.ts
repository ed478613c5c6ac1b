// domain: spans of time and ages for people. In: milliseconds. Out: `2 h 5 min`, `115 days (2026-07-30)`. Exact values are in JSON.
import { isoTime } from './time-text.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** Whole units, the two largest: `12 s`, `5 min 20 s`, `2 h 5 min`; from two days on whole days alone. */
export function spanText(ms: number): string {
  const span = Math.abs(ms);
  const sign = ms < 0 ? '-' : '';
  if (span < SECOND_MS) return `${sign}${Math.floor(span)} ms`;
  if (span < MINUTE_MS) return `${sign}${Math.floor(span / SECOND_MS)} s`;
  if (span < HOUR_MS) return `${sign}${inTwo(span, MINUTE_MS, 'min', SECOND_MS, 's')}`;
  if (span < 2 * DAY_MS) return `${sign}${inTwo(span, HOUR_MS, 'h', MINUTE_MS, 'min')}`;
  return `${sign}${Math.floor(span / DAY_MS)} days`;
}

function inTwo(span: number, largeMs: number, large: string, smallMs: number, small: string): string {
  const rest = Math.floor((span % largeMs) / smallMs);
  return `${Math.floor(span / largeMs)} ${large}${rest === 0 ? '' : ` ${rest} ${small}`}`;
}

/** `115 days (2026-07-30)`, `2 h 5 min (2026-11-22 12:09Z)`; `in 3 days (…)` for one that is ahead. */
export function ageText(epochMs: number, atMs: number): string {
  const age = atMs - epochMs;
  const iso = isoTime(Math.floor(epochMs));
  const when = Math.abs(age) < 2 * DAY_MS ? `${iso.slice(0, 10)} ${iso.slice(11, 16)}Z` : iso.slice(0, 10);
  if (Math.abs(age) < SECOND_MS) return `just now (${when})`;
  return `${age < 0 ? 'in ' : ''}${spanText(Math.abs(age))} (${when})`;
}
