// pull: records that were read before, by fingerprints of their bytes, in plain memory. In: fingerprints, a length, what was found of the values.
// Out: the same again; for each record the one that came after it the last time, so that a list in its usual order is followed without a search.
import { isEqualPrint } from '../domain/print-bits.ts';

export const NONE = -1;

/** Of a record: the fingerprints of its bytes, its facts and its identity, of four numbers each. */
export const RECORD_WORDS = 12;
export const [BYTES_AT, FACTS_AT, IDENTITY_AT] = [0, 4, 8] as const;

const FIRST_SIZE = 8_192;
/** More are forgotten and begun anew: those of records as they are no longer are among them. */
const KNOWN_MAX = 1_000_000;

/** A record has a number, in the order in which they came: those of a list are side by side. */
export class KnownRecords {
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
