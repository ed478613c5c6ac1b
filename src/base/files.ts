// base: files that survive a power cut: the content is on the disk, and so is the name, before the call returns. A
// file is either old or new: it is written to a temporary file, then renamed; an appended line is whole or torn.
import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Replaces a file by this text. Errors: those of node:fs. */
export function writeWhole(file: string, text: string, mode: number): void {
  const aside = `${file}.${process.pid}.new`;
  const handle = openSync(aside, 'w', mode);
  try {
    fchmodSync(handle, mode);
    writeAll(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  renameSync(aside, file);
  syncFolderOf(file);
}

/** Appends lines in one write; makes the file (0600) when it does not exist. Errors: those of node:fs. */
export function appendLines(file: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  const isNew = !existsSync(file);
  const handle = openSync(file, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT, 0o600);
  try {
    writeAll(handle, lines.map((line) => `${line}\n`).join(''));
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  if (isNew) syncFolderOf(file);
}

/** The last whole line, and the remains of a torn one after it. `undefined`: there is no such file. */
export function readTail(file: string): { last: string | undefined; torn: string; wholeBytes: number } | undefined {
  if (!existsSync(file)) return undefined;
  const handle = openSync(file, 'r');
  try {
    const size = fstatSync(handle).size;
    const from = Math.max(0, size - TAIL_BYTES);
    const buffer = Buffer.alloc(size - from);
    readSync(handle, buffer, 0, buffer.length, from);
    const end = buffer.lastIndexOf(0x0a) + 1;
    const start = end < 2 ? 0 : buffer.lastIndexOf(0x0a, end - 2) + 1;
    const last = end === 0 ? undefined : buffer.subarray(start, end - 1).toString();
    return { last, torn: buffer.subarray(end).toString(), wholeBytes: from + end };
  } finally {
    closeSync(handle);
  }
}

/** The first whole line; undefined when there is none. Errors: those of node:fs. */
export function readFirst(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  const handle = openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(TAIL_BYTES);
    const text = buffer.subarray(0, readSync(handle, buffer, 0, buffer.length, 0)).toString();
    const end = text.indexOf('\n');
    return end === -1 ? undefined : text.slice(0, end);
  } finally {
    closeSync(handle);
  }
}

/** Far longer than any line of such a file. */
const TAIL_BYTES = 16_384;

export function syncFolderOf(file: string): void {
  const folder = openSync(dirname(file), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** A write may take less than given, as on a disk that fills up. */
function writeAll(handle: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at);
}

// A folder that may not be there yet, with those above it.

export async function makeFolder(folder: string, mode?: number): Promise<void> {
  const make = () => mkdir(folder, mode);
  try {
    await make();
  } catch (error) {
    if (isThere(error) && (await stat(folder)).isDirectory()) return;
    if (!isBelowNothing(error, folder)) throw error;
    await makeFolder(dirname(folder), mode);
    await make();
  }
}

export function makeFolderSync(folder: string): void {
  try {
    mkdirSync(folder);
  } catch (error) {
    if (isThere(error) && statSync(folder).isDirectory()) return;
    if (!isBelowNothing(error, folder)) throw error;
    makeFolderSync(dirname(folder));
    mkdirSync(folder);
  }
}

function isThere(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EEXIST';
}

function isBelowNothing(error: unknown, folder: string): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT' && dirname(folder) !== folder;
}
