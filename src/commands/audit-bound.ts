// commands: `--before` of `audit archive`: a sequence number, or a date. Out: where the archive ends.
import type { ArchiveBound } from '../audit/archive.ts';
import { AppError } from '../domain/errors.ts';

/** Dates are UTC: `2026-11-01`, or with a time as in `2026-11-01T12:00:00Z`. Errors: AppError `usage`. */
export function archiveBoundOf(text: string): ArchiveBound {
  if (/^[1-9]\d{0,15}$/.test(text)) return { beforeSeq: Number(text) };
  const isDate = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?(\.\d{1,3})?Z)?$/.test(text);
  const beforeMs = isDate ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(beforeMs)) return { beforeMs };
  throw new AppError('usage', `--before is \`${text}\`: expected an entry's number, or a date such as 2026-11-01`);
}
