// domain: times as people give them: a duration from now, or a date. In: the text. Out: epoch ms.
import { parseDuration } from '../base/time.ts';
import { AppError } from './errors.ts';

/** Also as reports show times: `2026-12-01 18:00:00 UTC`. */
const DATE = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?) ?(Z|UTC|[+-]\d{2}:\d{2}))?$/;

/** The year 9999: later times have no four-digit year. */
const TIME_MAX = 253_402_300_799_999;

/** `30d` after or before now, `2026-12-01` (its first moment in UTC) or `2026-12-01T18:00Z`. Errors: AppError `usage`. */
export function givenTime(given: string, name: string, nowMs: number, direction: 'after' | 'before'): number {
  const text = given.trim();
  const durationMs = parseDuration(text);
  const [, day, time = '00:00', zone = 'Z'] = DATE.exec(text) ?? [];
  const date = day === undefined ? Number.NaN : Date.parse(`${day}T${time}${zone === 'UTC' ? 'Z' : zone}`);
  const givenMs = Math.round(
    durationMs === undefined ? date : direction === 'after' ? nowMs + durationMs : nowMs - durationMs,
  );
  if (!Number.isSafeInteger(givenMs) || givenMs > TIME_MAX)
    throw new AppError(
      'usage',
      `${name} \`${given}\`: expected a duration such as 30d, or a time in UTC such as 2027-01-31 or 2027-01-31T09:00Z`,
    );
  return givenMs;
}
