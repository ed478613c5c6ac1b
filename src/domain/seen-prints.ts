// domain: fingerprints that are known, and which of them one reading had. In: stored fingerprints, then those of records. Out:
// whether one is known, and was seen. A hash table of plain memory, which threads can share: each only ever marks what it saw.
import type { PresentPrints } from './identity.ts';

/** No fingerprint: an unknown one, or a free place. */
const NONE = -1;

/** For another thread. */
export interface SharedPrints {
  slots: Float64Array;
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
    const capacity = 2 ** Math.ceil(Math.log2(2 * prints.length + 2));
    const table = spare.get(capacity) ?? {
      slots: new Float64Array(new SharedArrayBuffer(8 * capacity)),
      seen: new Uint8Array(new SharedArrayBuffer(capacity)),
    };
    spare.delete(capacity);
    table.seen.fill(0);
    const slots = table.slots.fill(NONE);
    const made = new SeenPrints(table);
    for (const print of prints) if (print !== NONE) slots[made.slotOf(print)] = print;
    return made;
  }

  /** INVARIANT: no thread reads it or marks in it any more. */
  static release(table: SharedPrints): void {
    const [oldest] = spare.keys();
    if (oldest !== undefined && spare.size >= SPARE_MAX) spare.delete(oldest);
    spare.set(table.seen.length, table);
  }

  static over(table: SharedPrints): SeenPrints {
    return new SeenPrints(table);
  }

  get shared(): SharedPrints {
    return this.table;
  }

  /** Returns whether it is one of them. */
  see(print: number): boolean {
    const slot = this.slotOf(print);
    if (this.table.slots[slot] !== print) return false;
    this.table.seen[slot] = 1;
    return true;
  }

  wasSeen(print: number): boolean {
    return this.table.seen[this.slotOf(print)] === 1;
  }

  get seenCount(): number {
    let count = 0;
    for (const seen of this.table.seen) count += seen;
    return count;
  }

  /** Its own slot, or the free one where it belongs. INVARIANT: at most half of them are taken. */
  private slotOf(print: number): number {
    const { slots } = this.table;
    const mask = slots.length - 1;
    let slot = print & mask; // its lowest 32 bits, as a remainder, but without a division of floats
    if (slot < 0) slot += slots.length;
    while (slots[slot] !== NONE && slots[slot] !== print) slot = (slot + 1) & mask;
    return slot;
  }
}
