// management client: cuts one JSON array, coming as bytes, into batches of whole elements.
// In: chunks cut anywhere. Out: complete elements, parsed, and at the end the proof that the array was whole. It must never
// hold more than one unfinished element and one chunk, nor take a cut-off array for a short one.
import { AppError } from '../../domain/errors.ts';
import { DEPTH_MAX, parseExact } from '../contract/exact-json.ts';
import { type FaultCause, TransportFault } from './fault.ts';
import { isSpace, jsonTextOf } from './json-text.ts';
import type { Splitter } from './stream-list.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** As in `{"DeviceID":`, with which all elements of such a list begin. */
const FIRST_KEY = /^\{"[\w.-]{1,60}":/;
const FIRST_KEY_MAX = 64;

/** Text that is not an array is kept up to this length, to check whether it is `null`. */
const OTHER_BYTES_MAX = 16;

export class ElementSplitter implements Splitter<unknown[]> {
  readonly #elementBytesMax: number;
  #isMoving = false;
  #phase: 'before' | 'inside' | 'after' | 'other' = 'before';
  #depth = 0;
  #inString = false;
  #escaped = false;
  #hadComma = false;
  #seen = 0;
  /**
   * What came since the last cut, and whether it was followed byte by byte: depth and string are then those at its end.
   */
  #kept: Buffer[] = [];
  #keptSize = 0;
  #isFollowed = true;
  /**
   * The text between two elements with the same first key; undefined while unknown, null when the list is not of that
   * kind.
   */
  #between: Buffer | undefined | null;

  constructor(elementBytesMax: number) {
    this.#elementBytesMax = elementBytesMax;
  }

  get isMoving(): boolean {
    return this.#isMoving;
  }

  /**
   * Takes a chunk; returns the elements that it completed, or undefined. Throws a TransportFault for anything but an
   * array, or the AppError of `parseExact`.
   */
  push(chunk: Buffer): unknown[] | undefined {
    const elements = this.#take(chunk);
    this.#isMoving = elements !== undefined;
    return elements;
  }

  #take(chunk: Buffer): unknown[] | undefined {
    const start = this.#phase === 'before' ? this.#enter(chunk) : 0;
    this.#seen += chunk.length;
    if (this.#phase === 'before') return undefined;
    const piece = chunk.subarray(start);
    if (this.#phase === 'other') return this.#keep(piece, OTHER_BYTES_MAX);
    if (this.#phase === 'after') return this.#refuseMore(piece);
    return this.#guess(piece) ?? this.#follow(piece);
  }

  /**
   * The proof: throws a TransportFault unless the array was closed. Returns the remaining elements. A bare `null` is an
   * empty list.
   */
  end(): unknown[] | undefined {
    const left = this.#isFollowed ? undefined : this.#follow(Buffer.alloc(0));
    if (this.#phase === 'after') return left;
    if (this.#phase === 'other') {
      if (Buffer.concat(this.#kept).toString('latin1').trim() === 'null') return undefined;
      throw fault('garbage', 'the answer is not a list');
    }
    throw this.#seen === 0 ? fault('garbage', 'the answer is empty') : cutOff();
  }

  /**
   * Cuts at the last place that looks like the end of an element, which costs a search instead of a look at every byte.
   * A prefix that is valid JSON up to a comma ends an element there: parsing it proves that. After one wrong guess it
   * is not tried again.
   */
  #guess(piece: Buffer): unknown[] | undefined {
    if (this.#between === undefined) this.#between = this.#betweenElements(piece);
    const found = this.#between ? piece.lastIndexOf(this.#between) : -1;
    if (found < 0) return undefined;
    try {
      const elements = parseExact(jsonTextOf(this.#asList(piece.subarray(0, found + 1)))) as unknown[];
      this.#kept = [];
      this.#keptSize = 0;
      this.#keep(piece.subarray(found + 2), this.#elementBytesMax);
      this.#isFollowed = false;
      this.#hadComma = true;
      return elements;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      this.#between = null;
      return undefined;
    }
  }

  #betweenElements(piece: Buffer): Buffer | undefined | null {
    const beginning = Buffer.concat([...this.#kept, piece]).toString('latin1', 0, FIRST_KEY_MAX);
    if (beginning.length < FIRST_KEY_MAX) return undefined;
    const first = FIRST_KEY.exec(beginning);
    return first && Buffer.from(`},${first[0]}`);
  }

  /** The slow way: follows strings and depth to the last comma between elements, or to the end of the array. */
  #follow(bytes: Buffer): unknown[] | undefined {
    let piece = bytes;
    if (!this.#isFollowed) {
      piece = Buffer.concat([...this.#kept, bytes]);
      this.#kept = [];
      this.#keptSize = 0;
      this.#isFollowed = true;
      this.#depth = 1;
      this.#inString = false;
      this.#escaped = false;
    }
    const { cut, end } = this.#scan(piece);
    if (end >= 0) {
      this.#phase = 'after';
      this.#refuseMore(piece.subarray(end + 1));
      return this.#flush(piece.subarray(0, end), true);
    }
    if (cut < 0) return this.#keep(piece, this.#elementBytesMax);
    const elements = this.#flush(piece.subarray(0, cut), false);
    this.#keep(piece.subarray(cut + 1), this.#elementBytesMax);
    return elements;
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

  #scan(chunk: Buffer): { cut: number; end: number } {
    const length = chunk.length;
    let depth = this.#depth;
    let inString = this.#inString;
    let index = 0;
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
        if (++depth <= DEPTH_MAX) continue;
        if (cut < 0) throw fault('too_deep', `the answer is nested deeper than ${DEPTH_MAX} levels`);
        // What came before is passed on, however the network cut it. The rest is scanned again, and fails then.
        this.#isFollowed = false;
        return { cut, end: -1 };
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

  /** The kept text and the last piece as elements; undefined for none at all. */
  #flush(piece: Buffer, last: boolean): unknown[] | undefined {
    const list = this.#asList(piece);
    this.#kept = [];
    this.#keptSize = 0;
    if (list.subarray(1, -1).every(isSpace)) {
      if (last && !this.#hadComma) return undefined;
      throw fault('garbage', 'the answer is not valid JSON');
    }
    this.#hadComma ||= !last;
    return parseExact(jsonTextOf(list)) as unknown[];
  }

  #asList(piece: Buffer): Buffer {
    const list = Buffer.allocUnsafe(this.#keptSize + piece.length + 2);
    list[0] = OPEN_ARRAY;
    let at = 1;
    for (const part of this.#kept) at += part.copy(list, at);
    at += piece.copy(list, at);
    list[at] = CLOSE_ARRAY;
    return list;
  }

  #refuseMore(rest: Buffer): undefined {
    if (!rest.every(isSpace)) throw fault('garbage', 'something follows the list in the answer');
  }
}

function fault(why: FaultCause, words: string): TransportFault {
  return new TransportFault(why, true, words);
}

function cutOff(): TransportFault {
  return fault('truncated', 'the answer ended before the list was complete');
}
