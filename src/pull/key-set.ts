// pull: the keys of one reading, to find repeated ones. In: keys, one by one or in parts. Out: whether one was there before. Exact: a UUID
// in its usual writing is a number of 128 bits, kept as such; any other key is kept as text. A million of them take 32 MB.
import type { KeyPart } from '../domain/record-part.ts';

const HEX = new Int8Array(128).fill(-1);
for (let digit = 0; digit < 16; digit += 1) HEX[digit.toString(16).charCodeAt(0)] = digit;
const DASHES = 0b1000_0100_0010_0001_0000_0000;
const UUID_LENGTH = 36;

/** Writes a UUID as four numbers; returns whether the text is one in its usual writing, from which it can be written again. */
export function writeUuid(text: string, ids: Uint32Array, at: number): boolean {
  if (text.length !== UUID_LENGTH) return false;
  let word = 0;
  let digits = 0;
  for (let index = 0; index < UUID_LENGTH; index += 1) {
    const code = text.charCodeAt(index);
    if (index < 24 && (DASHES >> index) & 1) {
      if (code !== 0x2d) return false;
      continue;
    }
    const digit = code < 128 ? (HEX[code] as number) : -1;
    if (digit < 0) return false;
    word = (word << 4) | digit;
    digits += 1;
    if ((digits & 7) === 0) ids[at + (digits >> 3) - 1] = word;
  }
  return true;
}

export function uuidOf(ids: Uint32Array, at: number): string {
  const hex = [0, 1, 2, 3].map((word) => (ids[at + word] as number).toString(16).padStart(8, '0')).join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const SINGLE_ROWS = 1_024;
const EXPECTED_MAX = 2 ** 22;

export class KeySet {
  private readonly others = new Set<string>();
  private readonly parts: { from: number; ids: Uint32Array }[] = [];
  private count = 0;
  /** Rows, counted from 1; 0: a free place. INVARIANT: at most half of the places are taken. */
  private rows: Int32Array;
  private hashes: Uint32Array;
  /** Keys that came one by one. */
  private single = new Uint32Array(0);
  private singles = 0;

  /** `expected`: about how many keys will come. */
  constructor(expected = 0) {
    const places = 2 ** Math.ceil(Math.log2(2 * Math.min(expected, EXPECTED_MAX) + 4_096));
    this.rows = new Int32Array(places);
    this.hashes = new Uint32Array(places);
  }

  /** Returns whether the key is new. */
  add(key: string): boolean {
    if (this.singles * 4 === this.single.length) {
      this.single = new Uint32Array(4 * SINGLE_ROWS);
      this.singles = 0;
      this.parts.push({ from: this.count, ids: this.single });
    }
    if (!writeUuid(key, this.single, 4 * this.singles)) return this.addText(key);
    if (!this.insert(this.single, 4 * this.singles)) return false;
    this.singles += 1;
    return true;
  }

  /** Returns whether all of its keys are new. */
  addPart({ ids, others }: KeyPart): boolean {
    [this.single, this.singles] = [new Uint32Array(0), 0];
    this.parts.push({ from: this.count, ids });
    for (let at = 0; at < ids.length; at += 4) if (!this.insert(ids, at)) return false;
    return others.every((key) => this.addText(key));
  }

  private addText(key: string): boolean {
    if (this.others.has(key)) return false;
    this.others.add(key);
    return true;
  }

  /** INVARIANT: the next row of `parts` is the one at `at`. */
  private insert(ids: Uint32Array, at: number): boolean {
    if (2 * (this.count + 1) > this.rows.length) this.grow();
    const hash = hashOf(ids, at);
    const mask = this.rows.length - 1;
    let place = hash & mask;
    for (; this.rows[place] !== 0; place = (place + 1) & mask)
      if (this.hashes[place] === hash && this.isAt((this.rows[place] as number) - 1, ids, at)) return false;
    this.count += 1;
    this.rows[place] = this.count;
    this.hashes[place] = hash;
    return true;
  }

  private isAt(row: number, ids: Uint32Array, at: number): boolean {
    let part = this.parts.length - 1;
    while ((this.parts[part]?.from as number) > row) part -= 1;
    const { from, ids: own } = this.parts[part] as { from: number; ids: Uint32Array };
    const place = 4 * (row - from);
    return [0, 1, 2, 3].every((word) => own[place + word] === ids[at + word]);
  }

  private grow(): void {
    const [rows, hashes] = [this.rows, this.hashes];
    this.rows = new Int32Array(2 * rows.length);
    this.hashes = new Uint32Array(2 * rows.length);
    const mask = this.rows.length - 1;
    for (let old = 0; old < rows.length; old += 1) {
      if (rows[old] === 0) continue;
      let place = (hashes[old] as number) & mask;
      while (this.rows[place] !== 0) place = (place + 1) & mask;
      this.rows[place] = rows[old] as number;
      this.hashes[place] = hashes[old] as number;
    }
  }
}

function hashOf(ids: Uint32Array, at: number): number {
  let hash = Math.imul((ids[at] as number) ^ 0x9e3779b9, 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 15) ^ (ids[at + 1] as number), 0xc2b2ae35);
  hash = Math.imul(hash ^ (hash >>> 13) ^ (ids[at + 2] as number), 0x27d4eb2f);
  hash = Math.imul(hash ^ (hash >>> 16) ^ (ids[at + 3] as number), 0x165667b1);
  return (hash ^ (hash >>> 15)) >>> 0;
}
