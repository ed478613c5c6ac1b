// report: an optional time: ISO 8601 in UTC, or null, since a report leaves no key out.
import { isoTime } from '../domain/time-text.ts';

export function isoOrNull(epochMs: number | undefined): string | null {
  return epochMs === undefined ? null : isoTime(epochMs);
}
