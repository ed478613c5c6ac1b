// pull: records that were read before, by fingerprints of their bytes, in plain memory. In: a fingerprint, a length, what was found of the values.
// Out: the same again; for each record the one that came after it the last time, so that a list in its usual order is followed without a search.

export const NONE = -1;

/** What is found of the values of a record. */
export interface RecordPrints {
  /** Of all facts. */
  facts: number;
  identity: number;
}

const FIRST_SIZE = 8_192;
/** More are forgotten and begun anew: those of records as they are no longer are among them. */
const KNOWN_MAX = 1_000_000;

/** A record has a number, in the order in which they came: those of a list are side by side. */
export class KnownRecords {
  private size = 0;
  /** Of each record three: of its bytes, its facts and its identity. */
  private prints = new Float64Array(3 * FIRST_SIZE);
  private lengths = new Int32Array(FIRST_SIZE);
  private followers = new Int32Array(FIRST_SIZE);
  /** Numbers of records, by the fingerprint of their bytes. INVARIANT: at most half of the places are taken. */
  private places = new Int32Array(2 * FIRST_SIZE).fill(NONE);

  /** Numbers that were given before hold only if this returns false. */
  forgetIfFull(): boolean {
    if (this.size < KNOWN_MAX) return false;
    this.size = 0;
    this.prints = new Float64Array(3 * FIRST_SIZE);
    this.lengths = new Int32Array(FIRST_SIZE);
    this.followers = new Int32Array(FIRST_SIZE);
    this.places = new Int32Array(2 * FIRST_SIZE).fill(NONE);
    return true;
  }

  find(bytesPrint: number): number {
    return this.places[this.placeOf(bytesPrint)] as number;
  }

  add(bytesPrint: number, length: number, { facts, identity }: RecordPrints): number {
    const known = this.find(bytesPrint);
    if (known !== NONE) return known;
    if (this.size === this.lengths.length) this.grow();
    const added = this.size++;
    this.prints[3 * added] = bytesPrint;
    this.prints[3 * added + 1] = facts;
    this.prints[3 * added + 2] = identity;
    this.lengths[added] = length;
    this.followers[added] = NONE;
    this.places[this.placeOf(bytesPrint)] = added;
    return added;
  }

  bytesPrintOf(record: number): number {
    return this.prints[3 * record] as number;
  }

  factsPrintOf(record: number): number {
    return this.prints[3 * record + 1] as number;
  }

  identityPrintOf(record: number): number {
    return this.prints[3 * record + 2] as number;
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

  private placeOf(bytesPrint: number): number {
    const { places, prints } = this;
    const mask = places.length - 1;
    let place = (bytesPrint | 0) & mask;
    for (let at = places[place] as number; at !== NONE && prints[3 * at] !== bytesPrint; at = places[place] as number)
      place = (place + 1) & mask;
    return place;
  }

  private grow(): void {
    const size = 2 * this.lengths.length;
    const [prints, lengths, followers] = [this.prints, this.lengths, this.followers];
    this.prints = new Float64Array(3 * size);
    this.lengths = new Int32Array(size);
    this.followers = new Int32Array(size);
    this.prints.set(prints);
    this.lengths.set(lengths);
    this.followers.set(followers);
    this.places = new Int32Array(2 * size).fill(NONE);
    for (let record = 0; record < this.size; record += 1) this.places[this.placeOf(this.bytesPrintOf(record))] = record;
  }
}
