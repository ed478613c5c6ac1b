// history files: a copy of a history, also while a recorder writes to it. In: two folders. Out: the same segments, each whole and checked, under the
// same names. A file that was merged meanwhile is copied as what it was merged into.
import { readFileSync } from 'node:fs';
import { UnreadableSegment } from './segment-columns.ts';
import { listHistory, readSegment, type SegmentFile, writeSegment } from './segment-files.ts';

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
      const bytes = wholeBytes(segment);
      if (bytes === 'gone') isGone = true;
      else if (bytes === undefined) left.add(segment.file);
      else {
        writeSegment(target, segment, bytes, segment.day);
        copied.set(key, bytes.length);
      }
    }
    if (!isGone) break;
  }
  return { files: copied.size, bytes: [...copied.values()].reduce((sum, size) => sum + size, 0), left: [...left] };
}

function wholeBytes(segment: SegmentFile): Uint8Array | 'gone' | undefined {
  try {
    readSegment(segment);
    return readFileSync(segment.file);
  } catch (error) {
    if (error instanceof UnreadableSegment) return error.reason === 'gone' ? 'gone' : undefined;
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'gone' : undefined;
  }
}
