// pull: fingerprints of records by the bytes that they were parsed from: those of an unchanged record are the same as the last time, and take
// a small part of the time of its values. In: some bytes of a list, then their records in order. Out: for each the fingerprints of its values.
// INVARIANT: equal bytes are equal records. So the key comes first in every record, and nowhere else in these bytes: otherwise values are read.
import type { FactPaths } from '../domain/fact-prints.ts';
import type { Facts } from '../domain/facts.ts';
import { printOfRecord } from '../domain/identity-print.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import { KnownRecords, NONE, type RecordPrints } from './known-records.ts';

/** Where one record is, its fingerprint, and its number if it is known. */
interface Place {
  to: number;
  bytesPrint: number;
  known: number;
}

export class RecordBytes {
  private bytes: Buffer<ArrayBufferLike> = Buffer.alloc(0);
  private readonly records: Facts[] = [];
  private readonly keys: string[] = [];
  private readonly known = new KnownRecords();
  /** The record before, by its number. */
  private last = NONE;
  /** Of the records of these bytes, side by side. */
  private readonly lengths: number[] = [];
  private readonly prints: number[] = [];
  private readonly numbers: number[] = [];
  private readonly place: Place = { to: 0, bytesPrint: 0, known: NONE };
  /** How the records of most servers begin. */
  private readonly head: Buffer;

  constructor(
    private readonly kind: SubjectKind,
    private readonly paths: FactPaths,
    keyField: string,
  ) {
    this.head = Buffer.from(`{"${keyField}":`);
  }

  begin(bytes: Uint8Array): void {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.records.length = 0;
    this.keys.length = 0;
    if (this.known.forgetIfFull()) this.last = NONE;
  }

  accept(record: Facts, key: string): void {
    this.records.push(record);
    this.keys.push(key);
  }

  /** Each record that was accepted, with its fingerprints. */
  end(take: (record: Facts, facts: number, identity: number) => void): void {
    const { records, known, lengths, prints, numbers } = this;
    const isFound = this.findAll();
    for (let at = 0; at < records.length; at += 1) {
      const record = records[at] as Facts;
      if (!isFound) {
        const { facts, identity } = this.printsOf(record);
        take(record, facts, identity);
        continue;
      }
      let number = numbers[at] as number;
      if (number === NONE) number = known.add(prints[at] as number, lengths[at] as number, this.printsOf(record));
      if (this.last !== NONE) known.setFollower(this.last, number);
      this.last = number;
      take(record, known.factsPrintOf(number), known.identityPrintOf(number));
    }
    this.bytes = Buffer.alloc(0);
    records.length = 0;
    this.keys.length = 0;
  }

  private printsOf(record: Facts): RecordPrints {
    return { facts: this.paths.print(record), identity: printOfRecord(this.kind, record) };
  }

  /** Where each record is, and which are known; false when the bytes do not show it beyond doubt. */
  private findAll(): boolean {
    const { bytes, keys, known, lengths, prints, numbers, place } = this;
    if (keys.length === 0) return true;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let from = this.first();
    let expected = this.last === NONE ? NONE : known.followerOf(this.last);
    for (let at = 0; at < keys.length; at += 1) {
      if (from === NONE || !this.isRecordAt(from, keys[at] as string)) return false;
      const isAsExpected = expected !== NONE && this.isKnownAt(view, from, expected);
      if (!isAsExpected) this.search(view, from);
      lengths[at] = place.to - from;
      prints[at] = place.bytesPrint;
      numbers[at] = place.known;
      // What followed a record that changed most likely follows it still.
      const before = place.known === NONE ? expected : place.known;
      expected = before === NONE ? NONE : known.followerOf(before);
      from = place.to + 1;
    }
    // More of them than were accepted: one that was not, or one within another one.
    return place.to === bytes.length || bytes.indexOf(this.head, place.to) === -1;
  }

  private first(): number {
    const { bytes, head, keys } = this;
    const from = bytes.indexOf(head);
    if (from === NONE || isTextAt(bytes, from + head.length, keys[0] as string)) return from;
    // Pages overlap by one record, which is not accepted again.
    return from > OVERLAP_MAX ? NONE : bytes.indexOf(head, from + head.length);
  }

  private isRecordAt(from: number, key: string): boolean {
    const { bytes, head } = this;
    for (let at = 0; at < head.length; at += 1) if (bytes[from + at] !== head[at]) return false;
    return isTextAt(bytes, from + head.length, key);
  }

  /** A whole record of equal bytes ends where that one ended, whatever comes after it. */
  private isKnownAt(view: DataView, from: number, record: number): boolean {
    const { known, place } = this;
    const to = from + known.lengthOf(record);
    if (to > view.byteLength) return false;
    const bytesPrint = printOfBytes(view, from, to);
    if (bytesPrint !== known.bytesPrintOf(record)) return false;
    place.to = to;
    place.bytesPrint = bytesPrint;
    place.known = record;
    return true;
  }

  /** Up to the comma before the next one, or to the end. */
  private search(view: DataView, from: number): void {
    const { bytes, head, known, place } = this;
    const next = bytes.indexOf(head, from + head.length);
    place.to = next === NONE ? bytes.length : next - 1;
    place.bytesPrint = printOfBytes(view, from, place.to);
    place.known = known.find(place.bytesPrint);
  }
}

/** Whether the key is here, quoted and as it is: one that JSON escapes, or beyond ASCII, never is. */
function isTextAt(bytes: Buffer, begin: number, key: string): boolean {
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
