// history files: a copy of a history, also while a recorder writes to it. In: two folders. Out: the same segments, each whole and checked, under the
// same names. A file that was merged meanwhile is copied as what it was merged into.
import { UnreadableSegment } from './segment-columns.ts';
import { copySegment, listHistory, readSegment, type SegmentFile, sizeOf } from './segment-files.ts';

export interface HistoryCopy {
  files: number;
  bytes: number;
  /** Damaged ones, which were not copied. */
  left: string[];
}

const ROUNDS_MAX = 5;

/** Errors: AppError `store_failed`. */
export function copyHistory(source: string, target: string): HistoryCopy {
  const copied = new Map<string, number>();
  let left = new Set<string>();
  for (let round = 0; round < ROUNDS_MAX; round++) {
    let isGone = false;
    left = new Set();
    for (const segment of listHistory(source).segments) {
      const key = `${segment.day}/${segment.sha256}`;
      if (copied.has(key)) continue;
      const size = sizeOf(segment.file);
      const fault = copyWhole(segment, target);
      if (fault === 'gone') isGone = true;
      else if (fault) left.add(segment.file);
      else copied.set(key, size);
    }
    if (!isGone) break;
  }
  return { files: copied.size, bytes: [...copied.values()].reduce((sum, size) => sum + size, 0), left: [...left] };
}

function copyWhole(segment: SegmentFile, target: string): UnreadableSegment['reason'] | undefined {
  try {
    readSegment(segment);
    copySegment(segment, target);
    return undefined;
  } catch (error) {
    if (error instanceof UnreadableSegment) return error.reason;
    throw error;
  }
}
