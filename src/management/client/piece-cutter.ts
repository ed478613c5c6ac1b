// management client: cuts one JSON array, coming as bytes, into pieces of about half a megabyte for others to parse. In: chunks cut anywhere.
// Out: elements with commas between them. Each cut is a guess that parsing the piece proves: a prefix that is valid JSON up to a comma
// ends an element there. It must never take a cut-off array for a short one.
import { TransportFault } from './fault.ts';
import { isSpace } from './json-text.ts';
import { betweenElements } from './page-parts.ts';
import type { Splitter } from './stream-list.ts';

const PIECE_BYTES = 2 ** 19;
const BEGINNING_BYTES = 128;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

export class PieceCutter implements Splitter<Buffer<ArrayBuffer>> {
  #kept: Buffer[] = [];
  #size = 0;
  #between: Buffer | undefined;
  /** The last bytes so far: a cut may lie across two chunks, and always does where a server sends element by element. */
  #tail: Buffer = Buffer.alloc(0);
  #isMoving = false;

  constructor(private readonly elementBytesMax: number) {}

  get isMoving(): boolean {
    return this.#isMoving;
  }

  push(chunk: Buffer): Buffer<ArrayBuffer> | undefined {
    this.#kept.push(chunk);
    this.#size += chunk.length;
    if (!this.#between) return this.#enter();
    const found = this.#lastCut(chunk, this.#between);
    this.#isMoving = found !== undefined;
    if (this.#size > this.elementBytesMax + PIECE_BYTES)
      throw fault('too_large', 'one record of the answer is too large');
    if (found === undefined || this.#size < PIECE_BYTES) return undefined;
    const all = Buffer.concat(this.#kept) as Buffer<ArrayBuffer>;
    const rest = all.subarray(all.length - chunk.length + found + 2);
    this.#kept = [rest];
    this.#size = rest.length;
    return all.subarray(0, all.length - rest.length - 1);
  }

  /** Where the last element but one ends, counted from the beginning of the chunk; negative: in an earlier one. */
  #lastCut(chunk: Buffer, between: Buffer): number | undefined {
    const tail = this.#tail;
    const seam = Buffer.concat([tail, chunk.subarray(0, between.length - 1)]);
    this.#tail =
      chunk.length >= between.length ? chunk.subarray(1 - between.length) : seam.subarray(1 - between.length);
    const inChunk = chunk.lastIndexOf(between);
    if (inChunk >= 0) return inChunk;
    const atSeam = seam.lastIndexOf(between);
    return atSeam < 0 ? undefined : atSeam - tail.length;
  }

  end(): Buffer<ArrayBuffer> | undefined {
    const rest = Buffer.concat(this.#kept);
    let end = rest.length - 1;
    while (end >= 0 && isSpace(rest[end] as number)) end -= 1;
    if (!this.#between || rest[end] !== CLOSE_ARRAY)
      throw fault('truncated', 'the answer ended before the list was complete');
    return rest.subarray(0, end) as Buffer<ArrayBuffer>;
  }

  /** Finds the first element, with whose key all others begin. */
  #enter(): undefined {
    const beginning = Buffer.concat(this.#kept);
    let at = 0;
    while (at < beginning.length && isSpace(beginning[at] as number)) at += 1;
    const rest = beginning.subarray(at + 1);
    if (rest.length < BEGINNING_BYTES) return;
    this.#between =
      beginning[at] === OPEN_ARRAY ? betweenElements(rest.toString('latin1', 0, BEGINNING_BYTES)) : undefined;
    if (!this.#between) throw fault('garbage', 'the answer is not a list of records that begin alike');
    this.#isMoving = true;
    this.#kept = [rest];
    this.#size = rest.length;
  }
}

function fault(why: 'too_large' | 'truncated' | 'garbage', words: string): TransportFault {
  return new TransportFault(why, true, words);
}
