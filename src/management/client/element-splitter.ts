// management client: cuts one JSON array, coming as bytes, into batches of whole elements.
// In: chunks cut anywhere. Out: JSON texts `[…]` of complete elements, and at the end the proof that the array was whole.
// It must never hold more than one unfinished element and one chunk, nor take a cut-off array for a short one.
import { DEPTH_MAX } from '../contract/exact-json.ts';
import { type FaultCause, TransportFault } from './fault.ts';
import { jsonTextOf } from './json-text.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** What is not an array is kept this far, to see whether it is `null`. */
const OTHER_BYTES_MAX = 16;

export class ElementSplitter {
  readonly #elementBytesMax: number;
  #phase: 'before' | 'inside' | 'after' | 'other' = 'before';
  #depth = 0;
  #inString = false;
  #escaped = false;
  #hadComma = false;
  #seen = 0;
  /** What came since the last cut. */
  #kept: Buffer[] = [];
  #keptSize = 0;

  constructor(elementBytesMax: number) {
    this.#elementBytesMax = elementBytesMax;
  }

  /** Takes a chunk; gives the elements that it completed, or undefined. Throws a TransportFault for what is no array. */
  push(chunk: Buffer): string | undefined {
    const start = this.#phase === 'before' ? this.#enter(chunk) : 0;
    this.#seen += chunk.length;
    if (this.#phase === 'before') return undefined;
    if (this.#phase === 'other') return this.#keep(chunk.subarray(start), OTHER_BYTES_MAX);
    if (this.#phase === 'after') return this.#refuseMore(chunk);
    const { cut, end } = this.#scan(chunk, start);
    if (end >= 0) {
      this.#phase = 'after';
      this.#refuseMore(chunk.subarray(end + 1));
      return this.#flush(chunk.subarray(start, end), true);
    }
    if (cut < 0) return this.#keep(chunk.subarray(start), this.#elementBytesMax);
    const text = this.#flush(chunk.subarray(start, cut), false);
    this.#keep(chunk.subarray(cut + 1), this.#elementBytesMax);
    return text;
  }

  /** The proof: throws a TransportFault unless the array was closed. A bare `null` is an empty list. */
  end(): void {
    if (this.#phase === 'after') return;
    if (this.#phase === 'other') {
      if (Buffer.concat(this.#kept).toString('latin1').trim() === 'null') return;
      throw fault('garbage', 'the answer is not a list');
    }
    throw this.#seen === 0 ? fault('garbage', 'the answer is empty') : cutOff();
  }

  /** Finds where the array begins; gives the index of its first byte inside. */
  #enter(chunk: Buffer): number {
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index] as number;
      if (isSpace(byte) || BYTE_ORDER_MARK[this.#seen + index] === byte) continue;
      this.#phase = byte === OPEN_ARRAY ? 'inside' : 'other';
      this.#depth = 1;
      return byte === OPEN_ARRAY ? index + 1 : index;
    }
    return chunk.length;
  }

  /** The hot loop: follows strings and depth; finds the last comma between elements, or the end of the array. */
  #scan(chunk: Buffer, start: number): { cut: number; end: number } {
    const length = chunk.length;
    let depth = this.#depth;
    let inString = this.#inString;
    let index = start;
    let cut = -1;
    if (this.#escaped && index < length) {
      this.#escaped = false;
      index++;
    }
    while (index < length) {
      let byte = chunk[index++] as number;
      if (inString) {
        while (byte !== QUOTE && byte !== BACKSLASH && index < length) byte = chunk[index++] as number;
        if (byte === QUOTE) inString = false;
        else if (byte === BACKSLASH) {
          if (index < length) index++;
          else this.#escaped = true;
        }
      } else if (byte === QUOTE) inString = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        if (++depth > DEPTH_MAX) throw fault('too_deep', `the answer is nested deeper than ${DEPTH_MAX} levels`);
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        if (--depth > 0) continue;
        if (byte === CLOSE_OBJECT) throw fault('garbage', 'the answer is not valid JSON');
        return { cut, end: index - 1 };
      } else if (byte === COMMA && depth === 1) cut = index - 1;
    }
    this.#depth = depth;
    this.#inString = inString;
    return { cut, end: -1 };
  }

  #keep(rest: Buffer, bytesMax: number): undefined {
    if (rest.length === 0) return;
    this.#kept.push(rest);
    this.#keptSize += rest.length;
    if (this.#keptSize <= bytesMax) return;
    if (this.#phase === 'other') throw fault('garbage', 'the answer is not a list');
    throw fault('too_large', `one record of the answer is larger than ${bytesMax} bytes`);
  }

  /** What was kept and the last piece as one array; undefined for no elements at all. */
  #flush(piece: Buffer, last: boolean): string | undefined {
    const size = this.#keptSize + piece.length;
    const whole = Buffer.allocUnsafe(size + 2);
    whole[0] = OPEN_ARRAY;
    let at = 1;
    for (const part of this.#kept) at += part.copy(whole, at);
    at += piece.copy(whole, at);
    whole[at] = CLOSE_ARRAY;
    this.#kept = [];
    this.#keptSize = 0;
    if (whole.subarray(1, at).every(isSpace)) {
      if (last && !this.#hadComma) return undefined;
      throw fault('garbage', 'the answer is not valid JSON');
    }
    this.#hadComma ||= !last;
    return jsonTextOf(whole);
  }

  #refuseMore(rest: Buffer): undefined {
    if (!rest.every(isSpace)) throw fault('garbage', 'something follows the list in the answer');
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function fault(why: FaultCause, words: string): TransportFault {
  return new TransportFault(why, true, words);
}

function cutOff(): TransportFault {
  return fault('truncated', 'the answer ended before the list was complete');
}
