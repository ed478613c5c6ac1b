// history files: one file beside the segments that has what stands after the last of them, so that the next process need not read it out of them. In: data
// and long lists. Out: the same, or nothing: whatever is wrong with it, it is left aside, for the segments have everything. Never: a part of it.
import { createHash, randomUUID } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { SegmentSource } from './segment-bytes.ts';
import { sourceOn, UNFINISHED } from './segment-files.ts';

/** Bytes of a file. */
export interface Range {
  at: number;
  length: number;
}

/** First in the file; another form of it has another. */
const MAGIC = Buffer.from('trustward standing 1\n');
/** Last in the file: the length of the data before it, and the digest of all before that. */
const [LENGTH_BYTES, DIGEST_BYTES] = [4, 32];
const CHUNK_BYTES = 1_048_576;

export interface StandingFile {
  source: SegmentSource;
  /** As it was written. */
  data: unknown;
  lists: Record<string, Range>;
}

function fileIn(folder: string): string {
  return join(folder, 'standing');
}

/** Bytes, gathered before they go to the disk. */
class Gathered {
  readonly hash = createHash('sha256');
  at = 0;
  private readonly chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  private filled = 0;

  constructor(private readonly handle: number) {}

  add(bytes: Uint8Array): void {
    this.at += bytes.length;
    if (this.filled + bytes.length > CHUNK_BYTES) this.flush();
    if (bytes.length > CHUNK_BYTES) this.write(bytes);
    else {
      this.chunk.set(bytes, this.filled);
      this.filled += bytes.length;
    }
  }

  flush(): void {
    this.write(this.chunk.subarray(0, this.filled));
    this.filled = 0;
  }

  private write(bytes: Uint8Array): void {
    this.hash.update(bytes);
    for (let at = 0; at < bytes.length; ) at += writeSync(this.handle, bytes, at);
  }
}

/**
 * Takes the place of the one before; that one can be read on by who has it. It need not survive a power cut. INVARIANT: the caller is the only writer of
 * the folder, which is there. Errors: those of node:fs, such as for a full disk; then the one before is there.
 */
export function writeStanding(
  folder: string,
  data: unknown,
  lists: Iterable<readonly [string, Iterable<Uint8Array>]>,
): StandingFile {
  const aside = join(folder, `${randomUUID()}${UNFINISHED}`);
  const handle = openSync(aside, 'wx+', 0o600);
  try {
    const bytes = new Gathered(handle);
    bytes.add(MAGIC);
    const ranges: Record<string, Range> = {};
    for (const [name, parts] of lists) {
      const { at } = bytes;
      for (const part of parts) bytes.add(part);
      ranges[name] = { at, length: bytes.at - at };
    }
    const said = Buffer.from(JSON.stringify({ data, lists: ranges }));
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32LE(said.length);
    bytes.add(said);
    bytes.add(length);
    bytes.flush();
    bytes.add(bytes.hash.copy().digest());
    bytes.flush();
    renameSync(aside, fileIn(folder));
    return { source: sourceOn(handle, bytes.at), data, lists: ranges };
  } catch (error) {
    closeSync(handle);
    rmSync(aside, { force: true });
    throw error;
  }
}

/** Undefined: there is none, or it is not whole. */
export function readStanding(folder: string): StandingFile | undefined {
  let handle: number;
  try {
    handle = openSync(fileIn(folder), 'r');
  } catch {
    return undefined;
  }
  const found = wholeOf(handle);
  if (!found) closeSync(handle);
  return found && { source: sourceOn(handle, fstatSync(handle).size), ...found };
}

function wholeOf(handle: number): Pick<StandingFile, 'data' | 'lists'> | undefined {
  try {
    const size = fstatSync(handle).size - DIGEST_BYTES;
    const hash = createHash('sha256');
    const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
    const read = (at: number, length: number) =>
      chunk.subarray(0, readSync(handle, chunk, 0, Math.min(length, CHUNK_BYTES), at));
    for (let at = 0; at < size; ) {
      const bytes = read(at, size - at);
      if (bytes.length === 0 || (at === 0 && !bytes.subarray(0, MAGIC.length).equals(MAGIC))) return undefined;
      hash.update(bytes);
      at += bytes.length;
    }
    if (!hash.digest().equals(read(size, DIGEST_BYTES))) return undefined;
    const length = read(size - LENGTH_BYTES, LENGTH_BYTES).readUInt32LE();
    const said = Buffer.alloc(length);
    for (let at = 0; at < length; ) {
      const bytes = read(size - LENGTH_BYTES - length + at, length - at);
      said.set(bytes, at);
      at += bytes.length;
    }
    return JSON.parse(said.toString()) as Pick<StandingFile, 'data' | 'lists'>;
  } catch {
    return undefined;
  }
}

/** When what it has may hold no longer. Errors: those of node:fs. */
export function removeStanding(folder: string): void {
  rmSync(fileIn(folder), { force: true });
}
