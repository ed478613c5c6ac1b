// base: the arithmetic of fingerprints: Chaskey-12 (ISO/IEC 29192-6), a keyed hash of 128 bits for processors of 32 bits. In: a key, then words,
// texts and bytes in order. Out: four times 32 bits, which nobody without the key can foresee or make equal for two inputs. It runs for every value
// of a fleet, so the state is one of the module. INVARIANT: whoever begins finishes before anybody else begins, and what is mixed in between can be
// read back in only one way.

/** 128 secret bits of a database, as four numbers. */
export type PrintKey = Int32Array;
/** The numbers of one fingerprint in a list of them. */
export const PRINT_WORDS = 4;

const ROUNDS = 12;
const BLOCK_BYTES = 16;
const v = new Int32Array(4);
/** Words of the block at hand. */
let taken = 0;

/** What follows the first block: a fingerprint of one kind of thing is none of another. */
export type PrintDomain = 'facts' | 'identity' | 'bytes' | 'list';
const DOMAINS: Record<PrintDomain, number> = { facts: 1, identity: 2, bytes: 3, list: 4 };

export class PrintSeeds {
  private readonly whole: Int32Array;
  private readonly part: Int32Array;

  constructor(readonly key: PrintKey) {
    this.whole = timesTwo(key);
    this.part = timesTwo(this.whole);
  }

  of(domain: PrintDomain): Int32Array {
    begin(this.key);
    mixWord(DOMAINS[domain]);
    return sealed();
  }

  /** The fingerprint of what was mixed in, into a list. */
  finish(out: Int32Array, at: number): void {
    const last = taken === 4 ? this.whole : this.part;
    if (taken < 4) v[taken] = (v[taken] as number) ^ 1;
    for (let word = 0; word < 4; word += 1) v[word] = (v[word] as number) ^ (last[word] as number);
    permute();
    for (let word = 0; word < 4; word += 1) out[at + word] = (v[word] as number) ^ (last[word] as number);
  }
}

/** A key, or what was sealed. */
export function begin(seed: Int32Array): void {
  v[0] = seed[0] as number;
  v[1] = seed[1] as number;
  v[2] = seed[2] as number;
  v[3] = seed[3] as number;
  taken = 0;
}

/** With which everything begins that has the same beginning. At least one word was mixed in. */
export function sealed(): Int32Array {
  permute();
  return v.slice();
}

export function mixWord(word: number): void {
  if (taken === 4) {
    permute();
    taken = 0;
  }
  v[taken] = (v[taken] as number) ^ word;
  taken += 1;
}

/** Texts between these are mixed by the block: it is twice as fast. */
const [LONG_UNITS, UNITS_MAX] = [16, 4_096];
const units = new DataView(new ArrayBuffer(2 * UNITS_MAX));
const bytes = new Uint8Array(units.buffer);
/** Before a text of two bytes a unit. No kind of text has these lowest bits. */
const WIDE = 5 | 16;

/** A text and its length, and in the lowest three bits which kind of text it is: not 5. Nearly all have one byte a unit. */
export function mixText(kind: number, text: string): void {
  const { length } = text;
  let all = length > UNITS_MAX ? 0x100 : 0;
  if (all === 0)
    for (let at = 0; at < length; at += 1) {
      const unit = text.charCodeAt(at);
      bytes[at] = unit;
      all |= unit;
    }
  if (all > 0xff) mixWord(WIDE);
  mixWord(kind | (length << 3));
  if (all > 0xff) {
    mixUnits(text);
    return;
  }
  let at = 0;
  for (; taken < 4 && at + 4 <= length; at += 4) mixWord(units.getInt32(at, true));
  if (taken === 4 && at < length) {
    permute();
    taken = 0;
  }
  // Fewer than four bytes are left, or the block is empty.
  mixBlocks(units, at, length);
}

/** The units of a text; whoever calls it mixes in their number. */
export function mixUnits(text: string): void {
  const { length } = text;
  if (length >= LONG_UNITS && length <= UNITS_MAX) {
    let from = 0;
    for (; taken < 4; from += 2) mixWord(text.charCodeAt(from) | (text.charCodeAt(from + 1) << 16));
    permute();
    taken = 0;
    for (let at = from; at < length; at += 1) units.setUint16(2 * (at - from), text.charCodeAt(at), true);
    mixBlocks(units, 0, 2 * (length - from));
    return;
  }
  for (let at = 1; at < length; at += 2) mixWord(text.charCodeAt(at - 1) | (text.charCodeAt(at) << 16));
  if (length % 2 === 1) mixWord(text.charCodeAt(length - 1));
}

/** INVARIANT: nothing but a seed comes before it. */
export function mixBytes(view: DataView, from: number, to: number): void {
  mixWord(to - from);
  permute();
  taken = 0;
  mixBlocks(view, from, to);
}

/** At the beginning of a block. */
function mixBlocks(view: DataView, from: number, to: number): void {
  let at = from;
  let [a, b, c, d] = [v[0] as number, v[1] as number, v[2] as number, v[3] as number];
  for (; to - at > BLOCK_BYTES; at += BLOCK_BYTES) {
    a ^= view.getInt32(at, true);
    b ^= view.getInt32(at + 4, true);
    c ^= view.getInt32(at + 8, true);
    d ^= view.getInt32(at + 12, true);
    // As `permute`, in variables of this loop: it runs for every byte of a fleet.
    for (let round = 0; round < ROUNDS; round += 1) {
      a = (a + b) | 0;
      b = ((b << 5) | (b >>> 27)) ^ a;
      a = (a << 16) | (a >>> 16);
      c = (c + d) | 0;
      d = ((d << 8) | (d >>> 24)) ^ c;
      a = (a + d) | 0;
      d = ((d << 13) | (d >>> 19)) ^ a;
      c = (c + b) | 0;
      b = ((b << 7) | (b >>> 25)) ^ c;
      c = (c << 16) | (c >>> 16);
    }
  }
  v[0] = a;
  v[1] = b;
  v[2] = c;
  v[3] = d;
  for (; at + 4 <= to; at += 4) mixWord(view.getInt32(at, true));
  if (at === to) return;
  let rest = 0;
  for (let shift = 0; at < to; at += 1, shift += 8) rest |= view.getUint8(at) << shift;
  mixWord(rest);
}

function permute(): void {
  let [a, b, c, d] = [v[0] as number, v[1] as number, v[2] as number, v[3] as number];
  for (let round = 0; round < ROUNDS; round += 1) {
    a = (a + b) | 0;
    b = ((b << 5) | (b >>> 27)) ^ a;
    a = (a << 16) | (a >>> 16);
    c = (c + d) | 0;
    d = ((d << 8) | (d >>> 24)) ^ c;
    a = (a + d) | 0;
    d = ((d << 13) | (d >>> 19)) ^ a;
    c = (c + b) | 0;
    b = ((b << 7) | (b >>> 25)) ^ c;
    c = (c << 16) | (c >>> 16);
  }
  v[0] = a;
  v[1] = b;
  v[2] = c;
  v[3] = d;
}

/** In the field of 2^128 elements. */
function timesTwo([a = 0, b = 0, c = 0, d = 0]: Int32Array): Int32Array {
  return Int32Array.of(
    (a << 1) ^ (d < 0 ? 0x87 : 0),
    (b << 1) | (a >>> 31),
    (c << 1) | (b >>> 31),
    (d << 1) | (c >>> 31),
  );
}

export function isEqualPrint(one: ArrayLike<number>, at: number, other: ArrayLike<number>, otherAt: number): boolean {
  return (
    one[at] === other[otherAt] &&
    one[at + 1] === other[otherAt + 1] &&
    one[at + 2] === other[otherAt + 2] &&
    one[at + 3] === other[otherAt + 3]
  );
}
