// domain: fingerprints that are known, and which of them one reading had. In: known fingerprints, then those of records. Out:
// whether one is known, and was seen. A hash table of plain memory, which threads can share: each only ever marks what it saw.
import type { PresentPrints } from './identity.ts';
import { isEqualPrint, PRINT_WORDS } from './print-bits.ts';

/** A free place. */
const NONE = -1;

/** For another thread. */
export interface SharedPrints {
  prints: Int32Array;
  /** Which of the prints, by their first number. */
  slots: Int32Array;
  /** By print. */
  seen: Uint8Array;
}

/**
 * Tables that nobody uses, by capacity. Garbage collection does not count shared memory: without reuse, those of many runs stay until it
 * happens to come by.
 */
const spare = new Map<number, SharedPrints>();
const SPARE_MAX = 3;

export class SeenPrints {
  private constructor(private readonly table: SharedPrints) {}

  static of(prints: PresentPrints): SeenPrints {
    const count = prints.length / PRINT_WORDS;
    const capacity = 2 ** Math.ceil(Math.log2(2 * count + 2));
    const table = spare.get(capacity) ?? {
      prints: new Int32Array(new SharedArrayBuffer(2 * PRINT_WORDS * capacity)),
      slots: new Int32Array(new SharedArrayBuffer(4 * capacity)),
      seen: new Uint8Array(new SharedArrayBuffer(capacity / 2)),
    };
    spare.delete(capacity);
    table.seen.fill(0);
    table.slots.fill(NONE);
    table.prints.set(prints);
    const made = new SeenPrints(table);
    for (let print = 0; print < count; print += 1)
      if (!isNoPrint(prints, PRINT_WORDS * print)) table.slots[made.slotOf(prints, PRINT_WORDS * print)] = print;
    return made;
  }

  /** INVARIANT: no thread reads it or marks in it any more. */
  static release(table: SharedPrints): void {
    const [oldest] = spare.keys();
    if (oldest !== undefined && spare.size >= SPARE_MAX) spare.delete(oldest);
    spare.set(table.slots.length, table);
  }

  static over(table: SharedPrints): SeenPrints {
    return new SeenPrints(table);
  }

  get shared(): SharedPrints {
    return this.table;
  }

  /** Returns whether it is one of them. */
  see(prints: Int32Array, at: number): boolean {
    const known = this.table.slots[this.slotOf(prints, at)] as number;
    if (known === NONE) return false;
    this.table.seen[known] = 1;
    return true;
  }

  wasSeen(prints: Int32Array, at: number): boolean {
    const known = this.table.slots[this.slotOf(prints, at)] as number;
    return known !== NONE && this.table.seen[known] === 1;
  }

  get seenCount(): number {
    let count = 0;
    for (const seen of this.table.seen) count += seen;
    return count;
  }

  /** Its own slot, or the free one where it belongs. INVARIANT: at most half of them are taken. */
  private slotOf(prints: Int32Array, at: number): number {
    const { slots, prints: known } = this.table;
    const mask = slots.length - 1;
    let slot = (prints[at] as number) & mask;
    for (let one = slots[slot] as number; one !== NONE; one = slots[slot] as number) {
      if (isEqualPrint(known, PRINT_WORDS * one, prints, at)) break;
      slot = (slot + 1) & mask;
    }
    return slot;
  }
}

/** Of owners that no reading has shown. */
function isNoPrint(prints: Int32Array, at: number): boolean {
  return prints[at] === 0 && prints[at + 1] === 0 && prints[at + 2] === 0 && prints[at + 3] === 0;
}
