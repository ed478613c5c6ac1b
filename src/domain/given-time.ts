// domain: times as people give them: a duration from now, or a date. In: the text. Out: epoch ms.
import { parseDuration } from './duration.ts';
import { AppError } from './errors.ts';

const DATE = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** The year 9999: later times have no four-digit year. */
const TIME_MAX = 253_402_300_799_999;

/** `30d` after or before now, `2026-12-01` (its first moment in UTC) or `2026-12-01T18:00Z`. Errors: AppError `usage`. */
export function givenTime(given: string, name: string, nowMs: number, direction: 'after' | 'before'): number {
  const text = given.trim();
  const durationMs = parseDuration(text);
  const date = DATE.test(text) ? Date.parse(text) : Number.NaN;
  const time = Math.round(
    durationMs === undefined ? date : direction === 'after' ? nowMs + durationMs : nowMs - durationMs,
  );
  if (!Number.isSafeInteger(time) || time > TIME_MAX)
    throw new AppError('usage', `${name} \`${given}\`: expected a duration such as 30d, or a date such as 2027-01-31`);
  return time;
}
