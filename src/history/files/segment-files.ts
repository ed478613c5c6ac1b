// history files: the files of a history: written whole or not at all, listed in order, read with their checksum. In: a folder. Out: segments.
// Files are 0600, folders 0700. Never: a file that has its name before its content is on the disk.
import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { AppError } from '../../domain/errors.ts';
import { readColumns, type SegmentColumns, UnreadableSegment } from './segment-columns.ts';
import { DAY_FOLDER, dayOf, fileNameOf, parseFileName, type SegmentName } from './segment-name.ts';

export interface SegmentFile extends SegmentName {
  /** Of the day, below the history's folder. */
  day: string;
  file: string;
}

export interface HistoryFiles {
  /** In the order of recording; a larger segment before those that it was made of, and one with more rewrites before one with fewer. */
  segments: SegmentFile[];
  /** Files of other names, and a file in the place of a day's folder. */
  foreign: string[];
}

/** The folder of a database's history. */
export function historyFolderOf(database: string): string {
  return `${database}.history`;
}

/** Empty when there is no such folder. Errors: AppError `store_failed`. */
export function listHistory(folder: string): HistoryFiles {
  const found: HistoryFiles = { segments: [], foreign: [] };
  for (const day of namesIn(folder)) {
    if (!isDay(folder, day)) {
      if (DAY_FOLDER.test(day) || day.endsWith('.parquet')) found.foreign.push(join(folder, day));
      continue;
    }
    for (const name of namesIn(join(folder, day))) {
      if (name.endsWith(UNFINISHED)) continue;
      const file = join(folder, day, name);
      const parsed = parseFileName(name);
      if (parsed) found.segments.push({ ...parsed, day, file });
      else found.foreign.push(file);
    }
  }
  found.segments.sort(inOrder);
  return found;
}

/** Of the folders of days; what else is there (a mount point has a folder of its own, for one) is left alone. */
function isDay(folder: string, name: string): boolean {
  return DAY_FOLDER.test(name) && statSync(join(folder, name), { throwIfNoEntry: false })?.isDirectory() === true;
}

function inOrder(a: SegmentFile, b: SegmentFile): number {
  return orderOf(a) - orderOf(b) || b.last - a.last || b.rewrites - a.rewrites;
}

/** A base comes after the segments that it folds, and before the next one. */
function orderOf({ level, first, last }: SegmentName): number {
  return level === 'base' ? last + 0.5 : first;
}

/** Errors: UnreadableSegment. */
export function readSegment({ file, sha256 }: Pick<SegmentFile, 'file' | 'sha256'>): SegmentColumns {
  const bytes = readBytes(file);
  if (createHash('sha256').update(bytes).digest('hex') !== sha256) {
    throw new UnreadableSegment('damaged', 'its content does not have the checksum of its name');
  }
  return readColumns(bytes);
}

function readBytes(file: string): Uint8Array {
  try {
    return readRegular(file);
  } catch (error) {
    if (error instanceof UnreadableSegment) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new UnreadableSegment('gone', 'it is no longer there');
    throw new UnreadableSegment('damaged', `it cannot be read (${code ?? 'unknown error'})`);
  }
}

/** A pipe that nobody writes to is opened without waiting, and not read. */
function readRegular(file: string): Uint8Array {
  const handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    if (!fstatSync(handle).isFile()) throw new UnreadableSegment('damaged', 'it is no regular file');
    return readFileSync(handle);
  } finally {
    closeSync(handle);
  }
}

/**
 * Writes a segment into the folder of its day. When it returns, file and name survive a power cut; when it throws, there is no such file.
 * Errors: AppError `store_failed`, such as for a full disk.
 */
export function writeSegment(
  folder: string,
  name: Omit<SegmentName, 'sha256'>,
  bytes: Uint8Array,
  day: string = dayOf(name.toMs),
): SegmentFile {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const file = join(folder, day, fileNameOf({ ...name, sha256 }));
  const aside = `${file}${UNFINISHED}`;
  try {
    makeFolders(folder, dirname(file));
    writeAll(aside, bytes);
    renameSync(aside, file);
    syncFolder(dirname(file));
  } catch (error) {
    removeQuietly(aside);
    throw writeFault(folder, error);
  }
  return { ...name, sha256, day, file };
}

/** Errors: AppError `store_failed`. One that is gone already is no error. */
export function removeSegments(folder: string, files: readonly Pick<SegmentFile, 'file'>[]): void {
  try {
    for (const { file } of files) rmSync(file, { force: true });
    for (const day of new Set(files.map(({ file }) => dirname(file)))) {
      if (namesIn(day).length === 0) rmSync(day, { recursive: true, force: true });
      else syncFolder(day);
    }
    syncFolder(folder);
  } catch (error) {
    throw writeFault(folder, error);
  }
}

/** What a process left that was killed while it wrote. INVARIANT: the caller is the only writer. */
export function removeUnfinished(folder: string): void {
  for (const day of namesIn(folder).filter((name) => isDay(folder, name))) {
    for (const name of namesIn(join(folder, day))) {
      if (name.endsWith(UNFINISHED)) removeQuietly(join(folder, day, name));
    }
  }
}

export function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

const UNFINISHED = '.new';

/** Sorted; none when it is not there. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return [];
    throw new AppError(
      'store_failed',
      `history \`${folder}\` cannot be read (${code}): ${code === 'ENOTDIR' ? 'it is no folder, move it elsewhere' : 'check its owner and mode'}`,
      {
        cause: error,
      },
    );
  }
}

function makeFolders(...folders: string[]): void {
  for (const folder of folders) {
    try {
      mkdirSync(folder, 0o700);
      syncFolder(dirname(folder));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** A write may take less than given, as on a disk that fills up. */
function writeAll(file: string, bytes: Uint8Array): void {
  const handle = openSync(file, 'w', 0o600);
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function removeQuietly(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // The failure to write is what is reported.
  }
}

function writeFault(folder: string, error: unknown): AppError {
  const { code } = error as NodeJS.ErrnoException;
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  const why = isFull
    ? 'the disk is full'
    : code === 'EROFS'
      ? 'its file system is read-only'
      : (code ?? 'unknown error');
  const advice = isFull ? 'free space' : code === 'EROFS' ? 'mount it writable' : 'check its owner and mode';
  return new AppError('store_failed', `history \`${folder}\` cannot be written (${why}): ${advice}`, { cause: error });
}
