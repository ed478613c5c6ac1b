// pull: fingerprints of records by the bytes that they were parsed from: those of an unchanged record are the same as the last time, and take
// a part of the time of its values. In: some bytes of a list, then their records in order. Out: for each the fingerprints of its values.
// INVARIANT: equal bytes are equal records. So the key comes first in every record, and nowhere else in these bytes: otherwise values are read.
import type { FactPaths } from '../domain/fact-prints.ts';
import type { Facts } from '../domain/facts.ts';
import { IdentityPrinter } from '../domain/identity-print.ts';
import { begin, isEqualPrint, mixBytes, PRINT_WORDS, PrintSeeds } from '../domain/print-bits.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import { BYTES_AT, FACTS_AT, IDENTITY_AT, KnownRecords, NONE, RECORD_WORDS } from './known-records.ts';

/** Where one record ends, and its number if it is known. */
interface Place {
  to: number;
  known: number;
}

/** `prints`, `at`: where its `RECORD_WORDS` are, until the next one. */
export type TakeRecord = (record: Facts, prints: Int32Array, at: number) => void;

export class RecordBytes {
  private bytes: Buffer<ArrayBufferLike> = Buffer.alloc(0);
  private readonly records: Facts[] = [];
  private readonly keys: string[] = [];
  private readonly known = new KnownRecords();
  /** The record before, by its number. */
  private last = NONE;
  /** Of the records of these bytes, side by side. */
  private readonly lengths: number[] = [];
  private readonly numbers: number[] = [];
  private bytesPrints = new Int32Array(PRINT_WORDS);
  private readonly place: Place = { to: 0, known: NONE };
  /** Of one record. */
  private readonly prints = new Int32Array(RECORD_WORDS);
  private readonly identities: IdentityPrinter;
  private readonly seeds: PrintSeeds;
  private readonly seed: Int32Array;
  /** How the records of most servers begin. */
  private readonly head: Buffer;

  constructor(
    private readonly kind: SubjectKind,
    private readonly paths: FactPaths,
    keyField: string,
  ) {
    this.head = Buffer.from(`{"${keyField}":`);
    this.identities = new IdentityPrinter(paths.key);
    this.seeds = new PrintSeeds(paths.key);
    this.seed = this.seeds.of('bytes');
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
  end(take: TakeRecord): void {
    const isFound = this.findAll();
    const { records, known, lengths, numbers, bytesPrints } = this;
    for (let at = 0; at < records.length; at += 1) {
      const record = records[at] as Facts;
      if (!isFound) {
        take(record, this.printsOf(record), 0);
        continue;
      }
      let number = numbers[at] as number;
      if (number === NONE) {
        const prints = this.printsOf(record);
        prints.set(bytesPrints.subarray(PRINT_WORDS * at, PRINT_WORDS * (at + 1)), BYTES_AT);
        number = known.add(prints, lengths[at] as number);
      }
      if (this.last !== NONE) known.setFollower(this.last, number);
      this.last = number;
      take(record, known.prints, RECORD_WORDS * number);
    }
    this.bytes = Buffer.alloc(0);
    records.length = 0;
    this.keys.length = 0;
  }

  /** Without those of its bytes. */
  private printsOf(record: Facts): Int32Array {
    this.paths.print(record, this.prints, FACTS_AT);
    this.identities.printOfRecord(this.kind, record, this.prints, IDENTITY_AT);
    return this.prints;
  }

  /** Where each record is, and which are known; false when the bytes do not show it beyond doubt. */
  private findAll(): boolean {
    const { bytes, keys, known, lengths, numbers, place } = this;
    if (keys.length === 0) return true;
    if (this.bytesPrints.length < PRINT_WORDS * keys.length)
      this.bytesPrints = new Int32Array(2 * PRINT_WORDS * keys.length);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let from = this.first();
    let expected = this.last === NONE ? NONE : known.followerOf(this.last);
    for (let at = 0; at < keys.length; at += 1) {
      if (from === NONE || !this.isRecordAt(from, keys[at] as string)) return false;
      const isAsExpected = expected !== NONE && this.isKnownAt(view, from, expected);
      if (!isAsExpected) this.search(view, from, PRINT_WORDS * at);
      lengths[at] = place.to - from;
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
    const { known, place, prints } = this;
    const to = from + known.lengthOf(record);
    if (to > view.byteLength) return false;
    this.printBytes(view, from, to, prints, BYTES_AT);
    if (!isEqualPrint(prints, BYTES_AT, known.prints, RECORD_WORDS * record + BYTES_AT)) return false;
    place.to = to;
    place.known = record;
    return true;
  }

  /** Up to the comma before the next one, or to the end. */
  private search(view: DataView, from: number, printAt: number): void {
    const { bytes, bytesPrints, head, known, place } = this;
    const next = bytes.indexOf(head, from + head.length);
    place.to = next === NONE ? bytes.length : next - 1;
    this.printBytes(view, from, place.to, bytesPrints, printAt);
    place.known = known.find(bytesPrints, printAt);
  }

  private printBytes(view: DataView, from: number, to: number, out: Int32Array, at: number): void {
    begin(this.seed);
    mixBytes(view, from, to);
    this.seeds.finish(out, at);
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
