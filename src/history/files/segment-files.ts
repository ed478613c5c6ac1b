// history files: the files of a history: written whole or not at all, listed in order, read with their checksum. In: a folder. Out: segments.
// Files are 0600, folders 0700. Never: a file that has its name before its content is on the disk.
import { createHash, randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { AppError } from '../../domain/errors.ts';
import {
  bytesOf,
  DAY_FOLDER,
  dayOf,
  fileNameOf,
  type GroupStore,
  parseFileName,
  readColumns,
  type SegmentAbout,
  SegmentBytes,
  type SegmentColumns,
  type SegmentName,
  type SegmentSource,
  UnreadableSegment,
} from './segment-bytes.ts';

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

/** A larger file stays on the disk, and its columns are read when they are decoded. */
const HELD_BYTES_MAX = 8_000_000;
const CHUNK_BYTES = 1_000_000;

/** Errors: UnreadableSegment. */
export function readSegment(
  { file, sha256 }: Pick<SegmentFile, 'file' | 'sha256'>,
  heldBytesMax = HELD_BYTES_MAX,
): SegmentColumns {
  const hash = createHash('sha256');
  const source = readSource(file, heldBytesMax, (chunk) => void hash.update(chunk));
  if (hash.digest('hex') !== sha256) {
    throw new UnreadableSegment('damaged', 'its content does not have the checksum of its name');
  }
  return readColumns(source);
}

function readSource(file: string, heldBytesMax: number, take: (chunk: Uint8Array) => void): SegmentSource {
  try {
    return readRegular(file, heldBytesMax, take);
  } catch (error) {
    if (error instanceof UnreadableSegment) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new UnreadableSegment('gone', 'it is no longer there');
    throw new UnreadableSegment('damaged', `it cannot be read (${code ?? 'unknown error'})`);
  }
}

/** A pipe that nobody writes to is opened without waiting, and not read. */
function readRegular(file: string, heldBytesMax: number, take: (chunk: Uint8Array) => void): SegmentSource {
  const handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  let isHeld = true;
  try {
    const stat = fstatSync(handle);
    if (!stat.isFile()) throw new UnreadableSegment('damaged', 'it is no regular file');
    if (stat.size <= heldBytesMax) {
      const bytes = readFileSync(handle);
      take(bytes);
      return bytesOf(bytes);
    }
    const chunk = new Uint8Array(CHUNK_BYTES);
    for (let size = 0; ; ) {
      const read = readSync(handle, chunk, 0, chunk.length, size);
      take(chunk.subarray(0, read));
      size += read;
      if (read > 0) continue;
      isHeld = false;
      return sourceOn(handle, size);
    }
  } finally {
    if (isHeld) closeSync(handle);
  }
}

/** Closed when nobody has the source: a file that is merged while it is read is still read to its end. */
const handles = new FinalizationRegistry<number>(closeSync);

export function sourceOn(handle: number, size: number): SegmentSource {
  const source = { size, read: (from: number, to: number) => readBytes(handle, from, to) };
  handles.register(source, handle);
  return source;
}

function readBytes(handle: number, from: number, to: number): Uint8Array {
  const bytes = new Uint8Array(to - from);
  for (let at = 0; at < bytes.length; ) {
    const got = readSync(handle, bytes, at, bytes.length - at, from + at);
    if (got === 0) throw new UnreadableSegment('damaged', 'it is shorter than it was');
    at += got;
  }
  return bytes;
}

/** Bytes that are not written yet: more of them go to the disk while rows are added. */
const WAITING_BYTES_MAX = 4_000_000;

/**
 * A segment that is being made: rows are added, and what is much of them is on the disk already, under another name. When it is finished, file and
 * name survive a power cut; until then, and when anything throws, there is no such file. INVARIANT: it is finished or discarded.
 */
export class NewSegment {
  readonly #folder: string;
  readonly #bytes: SegmentBytes;
  readonly #file: NewFile;

  constructor(folder: string, about: SegmentAbout) {
    this.#folder = folder;
    this.#file = new NewFile(folder);
    this.#bytes = new SegmentBytes(about, (bytes) => {
      if (bytes.length < WAITING_BYTES_MAX) return false;
      this.#file.append(bytes);
      return true;
    });
  }

  /** See SegmentBytes. */
  get rows(): Pick<SegmentBytes, 'add' | 'addAhead' | 'addRow' | 'rows' | 'times'> {
    return this.#bytes;
  }

  /** Errors: AppError `store_failed`, such as for a full disk. */
  finish(name: Omit<SegmentName, 'sha256'>, day: string = dayOf(name.toMs)): SegmentFile {
    return this.#file.finish(this.#bytes.finish(), this.#folder, name, day);
  }

  discard(): void {
    this.#file.discard();
  }
}

/** Errors: AppError `store_failed`, such as for a full disk; then nothing is left of it. */
export class NewFile implements GroupStore {
  readonly #folder: string;
  readonly #aside: string;
  readonly #hash = createHash('sha256');
  #handle: number | undefined;

  constructor(folder: string) {
    this.#folder = folder;
    this.#aside = join(folder, `${randomUUID()}${UNFINISHED}`);
  }

  append(bytes: Uint8Array): void {
    try {
      if (this.#handle === undefined) {
        makeFolders(this.#folder);
        this.#handle = openSync(this.#aside, 'wx+', 0o600);
      }
      this.#hash.update(bytes);
      // A write may take less than given, as on a disk that fills up.
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#handle, bytes, at);
    } catch (error) {
      this.discard();
      throw writeFault(this.#folder, error);
    }
  }

  /** Of what was appended. */
  read(from: number, to: number): Uint8Array {
    return readBytes(this.#handle as number, from, to);
  }

  finish(rest: Uint8Array, folder: string, name: Omit<SegmentName, 'sha256'>, day: string): SegmentFile {
    this.append(rest);
    const sha256 = this.#hash.digest('hex');
    const file = join(folder, day, fileNameOf({ ...name, sha256 }));
    try {
      fsyncSync(this.#handle as number);
      makeFolders(dirname(file));
      renameSync(this.#aside, file);
      this.#close();
      syncFolder(dirname(file));
    } catch (error) {
      this.discard();
      throw writeFault(folder, error);
    }
    return { ...name, sha256, day, file };
  }

  discard(): void {
    if (this.#handle === undefined) return;
    this.#close();
    removeQuietly(this.#aside);
  }

  #close(): void {
    if (this.#handle !== undefined) closeSync(this.#handle);
    this.#handle = undefined;
  }
}

/** The same of bytes that are there. Errors: AppError `store_failed`. */
export function writeSegment(
  folder: string,
  name: Omit<SegmentName, 'sha256'>,
  bytes: Uint8Array,
  day: string = dayOf(name.toMs),
): SegmentFile {
  return new NewFile(folder).finish(bytes, folder, name, day);
}

/** A copy of a segment, checked on the way. Errors: UnreadableSegment of the source; AppError `store_failed`. */
export function copySegment(segment: SegmentFile, folder: string): void {
  const copy = new NewFile(folder);
  const hash = createHash('sha256');
  try {
    readSource(segment.file, 0, (chunk) => {
      hash.update(chunk);
      copy.append(chunk);
    });
    if (hash.digest('hex') !== segment.sha256)
      throw new UnreadableSegment('damaged', 'its content does not have the checksum of its name');
    copy.finish(new Uint8Array(0), folder, segment, segment.day);
  } finally {
    copy.discard();
  }
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

/** What a process left that was killed while it wrote; earlier versions wrote in the folders of days. INVARIANT: the caller is the only writer. */
export function removeUnfinished(folder: string): void {
  for (const file of entriesIn(folder)) if (file.endsWith(UNFINISHED)) removeQuietly(file);
}

/** Of all its files: the segments, what stands, what a killed process left. Errors: AppError `store_failed` when a folder cannot be read. */
export function historyBytes(folder: string): number {
  return entriesIn(folder).reduce((sum, file) => sum + sizeOf(file), 0);
}

/** Of the folder, and of those of its days. */
function entriesIn(folder: string): string[] {
  const names = namesIn(folder);
  const days = names.filter((name) => isDay(folder, name));
  const inDays = days.flatMap((day) => namesIn(join(folder, day)).map((name) => join(day, name)));
  return [...names, ...inDays].map((name) => join(folder, name));
}

/** Of a file; 0 when it is gone, or a folder. */
export function sizeOf(file: string): number {
  const found = statSync(file, { throwIfNoEntry: false });
  return found?.isFile() ? found.size : 0;
}

export const UNFINISHED = '.new';

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

// A copy of a history, also while a recorder writes to it.

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
