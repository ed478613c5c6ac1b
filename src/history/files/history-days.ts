// history files: what is recorded of each day. In: a folder. Out: runs, files and bytes by day, from the names of the files alone.
import { listHistory, sizeOf } from './segment-files.ts';

export interface HistoryDay {
  day: string;
  runs: number;
  files: number;
  bytes: number;
  hasBase: boolean;
}

/** Errors: AppError `store_failed` when the folder cannot be read. */
export function historyDays(folder: string): HistoryDay[] {
  const days = new Map<string, { places: Set<number>; files: number; bytes: number; hasBase: boolean }>();
  for (const { day, file, level, first, last } of listHistory(folder).segments) {
    const known = days.get(day) ?? { places: new Set(), files: 0, bytes: 0, hasBase: false };
    days.set(day, known);
    known.files++;
    known.bytes += sizeOf(file);
    if (level === 'base') known.hasBase = true;
    else for (let place = first; place <= last; place++) known.places.add(place);
  }
  return [...days]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([day, { places, ...rest }]) => ({ day, runs: places.size, ...rest }));
}
