// pull: fingerprints of records by the bytes that they were parsed from: those of an unchanged record are the same as the last time, and take
// half the time of its values. In: some bytes of a list, then their records in order. Out: for each the fingerprint of its values.
// INVARIANT: equal bytes are equal records. So the key comes first in every record, and nowhere else in these bytes: otherwise values are read.
import type { FactPaths } from '../domain/fact-prints.ts';
import type { Facts } from '../domain/facts.ts';

const NONE = -1;

export class RecordBytes {
  private bytes: Buffer<ArrayBufferLike> = Buffer.alloc(0);
  private readonly records: Facts[] = [];
  private readonly keys: string[] = [];
  private readonly known = new KnownPrints();
  /** How the records of most servers begin. */
  private readonly head: Buffer;

  constructor(
    private readonly paths: FactPaths,
    keyField: string,
  ) {
    this.head = Buffer.from(`{"${keyField}":`);
  }

  begin(bytes: Uint8Array): void {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.records.length = 0;
    this.keys.length = 0;
  }

  accept(record: Facts, key: string): void {
    this.records.push(record);
    this.keys.push(key);
  }

  /** Each record that was accepted, with its fingerprint. */
  end(take: (record: Facts, print: number) => void): void {
    const { records, bytes } = this;
    const starts = this.starts();
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = 0; at < records.length; at += 1) {
      const record = records[at] as Facts;
      take(
        record,
        starts ? this.print(record, view, starts[at] as number, starts[at + 1] as number) : this.paths.print(record),
      );
    }
    this.bytes = Buffer.alloc(0);
    records.length = 0;
    this.keys.length = 0;
  }

  /** Where each record begins, and the end of the last one; undefined when the bytes do not show it beyond doubt. */
  private starts(): number[] | undefined {
    const { bytes, head, keys } = this;
    const starts: number[] = [];
    for (let from = bytes.indexOf(head); from !== -1; from = bytes.indexOf(head, from + head.length)) {
      const key = keys[starts.length];
      if (key === undefined) return undefined;
      const begin = from + head.length;
      if (isKeyAt(bytes, begin, key)) starts.push(from);
      // Pages overlap by one record, which is not accepted again.
      else if (starts.length > 0 || from > OVERLAP_MAX) return undefined;
    }
    if (starts.length !== keys.length) return undefined;
    starts.push(bytes.length);
    return starts;
  }

  private print(record: Facts, view: DataView, from: number, to: number): number {
    const bytesPrint = printOfBytes(view, from, to);
    const known = this.known.get(bytesPrint);
    if (known !== NONE) return known;
    const print = this.paths.print(record);
    this.known.set(bytesPrint, print);
    return print;
  }
}

/** Whether the key is here, quoted and as it is: one that JSON escapes, or beyond ASCII, never is. */
function isKeyAt(bytes: Buffer, begin: number, key: string): boolean {
  if (bytes[begin] !== QUOTE || bytes[begin + 1 + key.length] !== QUOTE) return false;
  for (let at = 0; at < key.length; at += 1) {
    if (bytes[begin + 1 + at] !== key.charCodeAt(at)) return false;
  }
  return true;
}

const QUOTE = 0x22;

/** What comes before the first record. */
const OVERLAP_MAX = 1_000;

/** 53 bits. */
function printOfBytes(view: DataView, from: number, to: number): number {
  let a = 0xdeadbeef ^ (to - from);
  let b = 0x41c6ce57;
  let at = from;
  for (; at + 8 <= to; at += 8) {
    const first = view.getInt32(at, true);
    const second = view.getInt32(at + 4, true);
    a = Math.imul(a ^ first, 2_654_435_761) ^ second;
    b = Math.imul(b ^ second, 1_597_334_677) ^ (first + (a >>> 15));
  }
  for (; at < to; at += 1) {
    a = Math.imul(a ^ view.getUint8(at), 2_654_435_761);
    b = Math.imul(b ^ view.getUint8(at), 1_597_334_677);
  }
  const c = Math.imul(a ^ (a >>> 16), 2_246_822_507) ^ Math.imul(b ^ (b >>> 13), 3_266_489_909);
  const d = Math.imul(b ^ (b >>> 16), 2_246_822_507) ^ Math.imul(a ^ (a >>> 13), 3_266_489_909);
  return 4_294_967_296 * (d & 0x1fffff) + (c >>> 0);
}

const FIRST_SIZE = 16_384;
/** More are forgotten and begun anew: those of records as they are no longer are among them. */
const KNOWN_MAX = 1_000_000;

/** Numbers by numbers, in plain memory. */
class KnownPrints {
  /** Each key and its value side by side: they are looked for all over the memory. */
  private pairs = new Float64Array(2 * FIRST_SIZE).fill(NONE);
  private size = 0;

  get(key: number): number {
    const place = this.placeOf(key);
    return this.pairs[place] === key ? (this.pairs[place + 1] as number) : NONE;
  }

  set(key: number, value: number): void {
    if (4 * (this.size + 1) > this.pairs.length) this.grow();
    const place = this.placeOf(key);
    if (this.pairs[place] !== key) this.size += 1;
    this.pairs[place] = key;
    this.pairs[place + 1] = value;
  }

  private placeOf(key: number): number {
    const { pairs } = this;
    const mask = pairs.length - 1;
    let place = (2 * (key | 0)) & mask;
    while (pairs[place] !== NONE && pairs[place] !== key) place = (place + 2) & mask;
    return place;
  }

  private grow(): void {
    const { pairs } = this;
    const isFull = this.size >= KNOWN_MAX;
    this.pairs = new Float64Array(isFull ? 2 * FIRST_SIZE : 2 * pairs.length).fill(NONE);
    this.size = 0;
    if (isFull) return;
    for (let at = 0; at < pairs.length; at += 2)
      if (pairs[at] !== NONE) this.set(pairs[at] as number, pairs[at + 1] as number);
  }
}
