// store: the keys by which identities are found: 32 bits of each name, in one index. In: names. Out: numbers, and the SQL function that
// the migrations use. Two names may share a number: whoever looks one up compares the names too.
import { type IdentitySeen, type NamedBy, nameKey } from '../domain/identity.ts';

/** Of which an index has a key; owners have a table of their own. */
export type KeyedBy = Exclude<NamedBy, 'owner'>;

/** Of the index alone, and no secret: migrations have it, so it never changes (cyrb53, two characters a step). */
export function nameHash(by: string, key: string): number {
  let [a, b] = [0xdeadbeef | 0, 0x41c6ce57];
  for (const text of [by, key]) {
    for (let at = 0; at < text.length; at += 2) {
      const units = text.charCodeAt(at) | (at + 1 < text.length ? text.charCodeAt(at + 1) << 16 : 0);
      a = Math.imul(a ^ units, 2_654_435_761);
      b = Math.imul(b ^ units, 1_597_334_677);
    }
    // A text of an even length ends with a step of its own.
    if (text.length % 2 === 0) [a, b] = [Math.imul(a, 2_654_435_761), Math.imul(b, 1_597_334_677)];
    a ^= text.length;
    b ^= text.length;
  }
  const hash = Math.imul(a ^ (a >>> 16), 2_246_822_507) ^ Math.imul(b ^ (b >>> 13), 3_266_489_909);
  return hash >>> 0;
}

export function hashOf(by: KeyedBy, name: string): number {
  return nameHash(by, nameKey(name));
}

/** An empty serial number or name is not looked for. */
export function hashesOf({ id, serial, name }: Pick<IdentitySeen, KeyedBy>): number[] {
  const hashes = [hashOf('id', id)];
  if (nameKey(serial) !== '') hashes.push(hashOf('serial', serial));
  if (nameKey(name) !== '') hashes.push(hashOf('name', name));
  return hashes;
}

export const HASH_FUNCTION = 'trustward_name_hash';

/** For the migrations: `key` is in the form of `nameKey`. */
export function hashInSql(by: unknown, key: unknown): number {
  return nameHash(by as string, key as string);
}

/** The hash and, below it, a number that is less: in the order of hashes, one number sorts both. */
const BELOW = 2 ** 21;
/** Subjects whose keys are sorted at once. */
export const SORTED_AT_ONCE = 50_000;

/** Keys of many identities, in the order of the index: each page of it is written once. */
export class SortedKeys {
  private readonly keys: Float64Array;
  private length = 0;

  constructor(identities: number) {
    this.keys = new Float64Array(3 * identities);
  }

  /** `index`: of the identity, less than 2 million. */
  add(identity: Pick<IdentitySeen, KeyedBy>, index: number): void {
    for (const hash of hashesOf(identity)) {
      this.keys[this.length] = hash * BELOW + index;
      this.length += 1;
    }
  }

  /** The number of keys. To be called when all have been added. */
  sort(): number {
    this.keys.subarray(0, this.length).sort();
    return this.length;
  }

  /** `[hash, no]` of some of them, without those that are there twice. `firstNo`: of the identity with the index 0. */
  part(from: number, to: number, firstNo: number): number[][] {
    const part: number[][] = [];
    for (let at = from; at < Math.min(to, this.length); at += 1) {
      const key = this.keys[at] as number;
      if (at > 0 && key === this.keys[at - 1]) continue;
      part.push([Math.floor(key / BELOW), firstNo + (key % BELOW)]);
    }
    return part;
  }
}
