// pull: which records one reading saw otherwise than they were recorded last, for the history, and what it shows of whether its source moves. In:
// its records, and the fingerprints of those recorded. Out: new and changed ones, packed, and which fingerprints the reading had; a sight of the
// whole. It runs for every record of a fleet.

import { PACKED_AT_ONCE, PackList } from '../../base/packed-list.ts';
import {
  begin,
  isEqualPrint,
  mixBytes,
  mixWord,
  PRINT_WORDS,
  type PrintKey,
  PrintSeeds,
} from '../../base/print-bits.ts';
import { epochMsOf } from '../../base/time.ts';
import { FactPacker, packRecords } from '../../domain/fact-packs.ts';
import { addPrint, FactPaths } from '../../domain/fact-prints.ts';
import { type Facts, own } from '../../domain/facts.ts';
import { FIELDS, type PresentPrints } from '../../domain/identity.ts';
import { IdentityPrinter } from '../../domain/identity-print.ts';
import type { SightPart } from '../../domain/record-part.ts';
import { SeenPrints, type SeenSubjects, type SharedPrints } from '../../domain/recorded-history.ts';
import type { Sight } from '../../domain/snapshot.ts';
import type { SubjectKind } from '../../domain/subjects.ts';

// Records that were read before, by fingerprints of their bytes, in plain memory.

const NONE = -1;

/** Of a record: the fingerprints of its bytes, its facts and its identity, of four numbers each. */
const RECORD_WORDS = 12;
export const [BYTES_AT, FACTS_AT, IDENTITY_AT] = [0, 4, 8] as const;

const FIRST_SIZE = 8_192;
/** More are forgotten and begun anew: those of records as they are no longer are among them. */
const KNOWN_MAX = 1_000_000;

/** A record has a number, in the order in which they came: those of a list are side by side. */
class KnownRecords {
  private size = 0;
  /** `RECORD_WORDS` of each record. */
  prints = new Int32Array(RECORD_WORDS * FIRST_SIZE);
  private lengths = new Int32Array(FIRST_SIZE);
  private followers = new Int32Array(FIRST_SIZE);
  /** Numbers of records, by the fingerprint of their bytes. INVARIANT: at most half of the places are taken. */
  private places = new Int32Array(2 * FIRST_SIZE).fill(NONE);

  /** Numbers that were given before hold only if this returns false. */
  forgetIfFull(): boolean {
    if (this.size < KNOWN_MAX) return false;
    this.size = 0;
    this.prints = new Int32Array(RECORD_WORDS * FIRST_SIZE);
    this.lengths = new Int32Array(FIRST_SIZE);
    this.followers = new Int32Array(FIRST_SIZE);
    this.places = new Int32Array(2 * FIRST_SIZE).fill(NONE);
    return true;
  }

  /** By the fingerprint of its bytes, which is here. */
  find(prints: Int32Array, at: number): number {
    return this.places[this.placeOf(prints, at)] as number;
  }

  /** `prints`: those of one record. */
  add(prints: Int32Array, length: number): number {
    const known = this.find(prints, BYTES_AT);
    if (known !== NONE) return known;
    if (this.size === this.lengths.length) this.grow();
    const added = this.size++;
    this.prints.set(prints, RECORD_WORDS * added);
    this.lengths[added] = length;
    this.followers[added] = NONE;
    this.places[this.placeOf(prints, BYTES_AT)] = added;
    return added;
  }

  lengthOf(record: number): number {
    return this.lengths[record] as number;
  }

  followerOf(record: number): number {
    return this.followers[record] as number;
  }

  setFollower(record: number, follower: number): void {
    if (this.followers[record] !== follower) this.followers[record] = follower;
  }

  private placeOf(prints: Int32Array, at: number): number {
    const { places } = this;
    const mask = places.length - 1;
    let place = (prints[at] as number) & mask;
    for (let one = places[place] as number; one !== NONE; one = places[place] as number) {
      if (isEqualPrint(this.prints, RECORD_WORDS * one, prints, at)) break;
      place = (place + 1) & mask;
    }
    return place;
  }

  private grow(): void {
    const size = 2 * this.lengths.length;
    const [prints, lengths, followers] = [this.prints, this.lengths, this.followers];
    this.prints = new Int32Array(RECORD_WORDS * size);
    this.lengths = new Int32Array(size);
    this.followers = new Int32Array(size);
    this.prints.set(prints);
    this.lengths.set(lengths);
    this.followers.set(followers);
    this.places = new Int32Array(2 * size).fill(NONE);
    for (let record = 0; record < this.size; record += 1)
      this.places[this.placeOf(this.prints, RECORD_WORDS * record)] = record;
  }
}

// What a whole list shows of whether its source moves: a sum over its records, and its newest report.

/** When a platform, a device or a person last reported something, by kind. Fields of one level, then of those within. */
const TIMES: Readonly<Record<SubjectKind, readonly (readonly [string, string?])[]>> = {
  device: [['LastLogin'], ['CreatedAt'], ['MdmData', 'Timestamp'], ['TrustData', 'UpdatedAt']],
  user: [['LastLogin'], ['CreatedAt'], ['TrustData', 'UpdatedAt']],
  service: [['LastUpdatedAt'], ['CreatedAt']],
};

class ListSight {
  private readonly times: (typeof TIMES)[SubjectKind];
  private readonly seeds: PrintSeeds;
  private readonly seed: Int32Array;
  private readonly print = new Int32Array(4);
  private readonly sum = new Int32Array(4);
  private newestMs = 0;

  /** `latestMs`: a later time is wrong, and a device may send any. */
  constructor(
    kind: SubjectKind,
    private readonly latestMs: number,
    key: PrintKey,
  ) {
    this.times = TIMES[kind];
    this.seeds = new PrintSeeds(key);
    this.seed = this.seeds.of('list');
  }

  /** `prints`, `at`: where its four numbers are. */
  add(record: Facts, prints: Int32Array, at: number): void {
    begin(this.seed);
    for (let word = at; word < at + 4; word += 1) mixWord(prints[word] as number);
    this.seeds.finish(this.print, 0);
    addPrint(this.sum, 0, this.print, 0);
    for (const [field, within] of this.times) {
      const found = own(record, field);
      const time = within === undefined ? found : own(found, within);
      if (typeof time === 'bigint' || typeof time === 'number') this.see(epochMsOf(time) ?? 0);
    }
  }

  addPart({ sum, newestMs }: SightPart): void {
    addPrint(this.sum, 0, sum, 0);
    this.see(newestMs);
  }

  get part(): SightPart {
    return { sum: this.sum, newestMs: this.newestMs };
  }

  get sight(): Sight {
    return { content: this.sum.join(' '), newestMs: this.newestMs === 0 ? undefined : this.newestMs };
  }

  private see(timeMs: number): void {
    if (timeMs > this.newestMs && timeMs <= this.latestMs) this.newestMs = Math.floor(timeMs);
  }
}

// Fingerprints of records by the bytes that they were parsed from: those of an unchanged record are the same as the
// last time, and take a part of the time of its values. In: some bytes of a list, then their records in order. Out: for
// each the fingerprints of its values. INVARIANT: equal bytes are equal records. So the key comes first in every
// record, and nowhere else in these bytes: otherwise values are read.

/** Where one record ends, and its number if it is known. */
interface Place {
  to: number;
  known: number;
}

/** `prints`, `at`: where its `RECORD_WORDS` are, until the next one. */
type TakeRecord = (record: Facts, prints: Int32Array, at: number) => void;

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
    private readonly facts: Pick<FactPaths, 'key' | 'print'>,
    keyField: string,
    private readonly isOnce: boolean,
  ) {
    this.head = Buffer.from(`{"${keyField}":`);
    this.identities = new IdentityPrinter(facts.key);
    this.seeds = new PrintSeeds(facts.key);
    this.seed = this.seeds.of('bytes');
  }

  begin(bytes: Uint8Array): void {
    if (!this.isOnce) this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
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
    const isFound = !this.isOnce && this.findAll();
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
    this.facts.print(record, this.prints, FACTS_AT);
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

/** What prints records and packs those that changed. When nothing is recorded all of them do: then each is looked through once for both. */
class ChangedRecords {
  private readonly paths: FactPaths;
  private readonly packer: FactPacker;
  private isFirst = false;
  private printed: Facts | undefined;
  private changed: Facts[] = [];

  constructor(
    kind: SubjectKind,
    readonly key: PrintKey,
  ) {
    this.paths = new FactPaths(key);
    this.packer = new FactPacker(kind, this.paths);
  }

  /** For the next reading, over what was recorded then: undefined when nothing is. INVARIANT: what changed before it is packed. */
  follow(prints: SeenPrints | undefined): void {
    this.isFirst = prints?.isEmpty ?? false;
  }

  get size(): number {
    return this.isFirst ? this.packer.size : this.changed.length;
  }

  print(record: Facts, out: Int32Array, at: number): void {
    this.printed = record;
    if (this.isFirst) this.packer.add(record, out, at);
    else this.paths.print(record, out, at);
  }

  /** Of the record that was printed last, or was known without that. */
  add(record: Facts): void {
    if (!this.isFirst) this.changed.push(record);
    else if (this.printed !== record) this.packer.add(record);
    this.printed = undefined;
  }

  pack(): Uint8Array {
    return this.isFirst ? this.packer.pack() : packRecords(this.changed.splice(0));
  }
}

export class RecordPass {
  private readonly print = new Int32Array(PRINT_WORDS);
  private readonly prints: SeenPrints | undefined;
  private readonly list: ListSight;
  private readonly records: ChangedRecords;

  /** `present`: made with this key; undefined when nothing is recorded. `latestMs`: as `ListSight` has it. */
  constructor(
    present: PresentPrints | undefined,
    kind: SubjectKind,
    latestMs: number,
    key: PrintKey,
    private readonly changed = new PackList(),
  ) {
    this.records = new ChangedRecords(kind, key);
    this.prints = present && SeenPrints.of(present);
    this.records.follow(this.prints);
    this.list = new ListSight(kind, latestMs, key);
  }

  accept(record: Facts): void {
    this.records.print(record, this.print, 0);
    this.list.add(record, this.print, 0);
    if (this.prints?.see(this.print, 0) !== false) return;
    this.records.add(record);
    if (this.records.size >= PACKED_AT_ONCE) this.pack();
  }

  /** For threads that read parts: they mark in it what they saw. */
  get shared(): SharedPrints | undefined {
    return this.prints?.shared;
  }

  /** The next records, which another thread has seen. */
  acceptPart(changed: Uint8Array | undefined, sight: SightPart): void {
    this.pack();
    if (changed) this.changed.keep(changed);
    this.list.addPart(sight);
  }

  private pack(): void {
    if (this.records.size > 0) this.changed.keep(this.records.pack());
  }

  finish(): { records: Pick<SeenSubjects, 'changed' | 'prints'> | undefined; sight: Sight } {
    this.pack();
    this.changed.finish();
    const { changed, shared: prints } = this;
    return { records: prints && { changed, prints }, sight: this.list.sight };
  }
}

/** The new and changed records of a part of a list, ready for another thread. */
export class RecordPartReader {
  private prints: SeenPrints | undefined;
  private readonly records: RecordBytes;
  private readonly changed: ChangedRecords;
  private latestMs = 0;
  private list: ListSight;

  /** `isOnce`: no other pass follows. Then nothing is remembered of the bytes of records. */
  constructor(
    private readonly kind: SubjectKind,
    readonly key: PrintKey,
    isOnce = false,
  ) {
    this.changed = new ChangedRecords(kind, key);
    this.records = new RecordBytes(kind, this.changed, FIELDS[kind][0] as string, isOnce);
    this.list = new ListSight(kind, this.latestMs, key);
  }

  /** For the next pass, over what was recorded then: undefined when nothing is. */
  follow(shared: SharedPrints | undefined, latestMs: number): void {
    this.prints = shared && SeenPrints.over(shared);
    this.latestMs = latestMs;
    // A piece that failed has left some.
    this.part();
    this.changed.follow(this.prints);
  }

  begin(bytes: Uint8Array): void {
    this.records.begin(bytes);
  }

  accept(record: Facts, key: string): void {
    this.records.accept(record, key);
  }

  /**
   * Of the bytes that it began with. `take`: each record, with its fingerprints. INVARIANT: no record is kept beyond them but what
   * changed: moving what lives on costs more than reading it.
   */
  end(take: TakeRecord): void {
    this.records.end((record, prints, at) => {
      this.list.add(record, prints, at + FACTS_AT);
      if (this.prints?.see(prints, at + FACTS_AT) === false) this.changed.add(record);
      take(record, prints, at);
    });
  }

  part(): { changed: Uint8Array | undefined; sight: SightPart } {
    const { changed, list } = this;
    this.list = new ListSight(this.kind, this.latestMs, this.key);
    return { changed: changed.size === 0 ? undefined : changed.pack(), sight: list.part };
  }
}
