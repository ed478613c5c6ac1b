// management client: cuts one JSON array, coming as bytes, into pieces of about half a megabyte for others to parse. In: chunks cut anywhere.
// Out: elements with commas between them. Each cut is a guess that parsing the piece proves: a prefix that is valid JSON up to a comma
// ends an element there. It must never take a cut-off array for a short one.
import { TransportFault } from './fault.ts';
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
  #isMoving = false;

  constructor(private readonly elementBytesMax: number) {}

  get isMoving(): boolean {
    return this.#isMoving;
  }

  push(chunk: Buffer): Buffer<ArrayBuffer> | undefined {
    this.#kept.push(chunk);
    this.#size += chunk.length;
    if (!this.#between) return this.#enter();
    const found = chunk.lastIndexOf(this.#between);
    this.#isMoving = found >= 0;
    if (this.#size > this.elementBytesMax + PIECE_BYTES)
      throw fault('too_large', 'one record of the answer is too large');
    if (found < 0 || this.#size < PIECE_BYTES) return undefined;
    this.#kept.pop();
    const piece = Buffer.concat([...this.#kept, chunk.subarray(0, found + 1)]) as Buffer<ArrayBuffer>;
    this.#kept = [chunk.subarray(found + 2)];
    this.#size = chunk.length - found - 2;
    return piece;
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

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function fault(why: 'too_large' | 'truncated' | 'garbage', words: string): TransportFault {
  return new TransportFault(why, true, words);
}
