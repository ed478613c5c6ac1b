// pull: what one reading changes about identities. In: its records, and the fingerprints of what the last trusted list had. Out: new
// and changed ones, and which fingerprints the reading had. It holds differences only, packed: a first list is all difference.
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Facts } from '../domain/facts.ts';
import {
  type IdentityChanges,
  type IdentityPrints,
  type IdentitySeen,
  identityOf,
  type PresentPrints,
} from '../domain/identity.ts';
import { printOfRecord } from '../domain/identity-print.ts';
import type { SubjectKind } from '../domain/subjects.ts';

export class IdentityPass {
  private readonly prints: SeenPrints;
  private readonly changed = new PackedList<IdentitySeen>();

  constructor(
    private readonly kind: SubjectKind,
    private readonly present: PresentPrints,
  ) {
    this.prints = new SeenPrints(present);
  }

  accept(record: Facts): void {
    if (!this.prints.see(printOfRecord(this.kind, record))) this.changed.add(identityOf(this.kind, record));
  }

  finish(): IdentityChanges {
    const { kind, changed, present, prints } = this;
    const had = ({ print, ownersPrint }: IdentityPrints) =>
      prints.wasSeen(print) || (ownersPrint !== undefined && prints.wasSeen(ownersPrint));
    return { kind, changed, had: 2 * prints.seenCount === present.length ? undefined : had };
  }
}

/** No fingerprint: an unknown one, or a free place. */
const NONE = -1;

/** Fingerprints, and which of them were seen: a hash table of plain memory. */
class SeenPrints {
  private readonly slots: Float64Array;
  private readonly seen: Uint8Array;
  seenCount = 0;

  constructor(prints: PresentPrints) {
    const known = prints.filter((print) => print !== NONE);
    const capacity = 2 ** Math.ceil(Math.log2(2 * known.length + 2));
    this.slots = new Float64Array(capacity).fill(NONE);
    this.seen = new Uint8Array(capacity);
    for (const print of known) this.slots[this.slotOf(print)] = print;
  }

  /** Returns whether it is one of them. */
  see(print: number): boolean {
    const slot = this.slotOf(print);
    if (this.slots[slot] !== print) return false;
    if (this.seen[slot] === 0) this.seenCount += 1;
    this.seen[slot] = 1;
    return true;
  }

  wasSeen(print: number): boolean {
    return this.seen[this.slotOf(print)] === 1;
  }

  /** Its own slot, or the free one where it belongs. INVARIANT: at most half of them are taken. */
  private slotOf(print: number): number {
    const mask = this.slots.length - 1;
    let slot = print % this.slots.length;
    while (this.slots[slot] !== NONE && this.slots[slot] !== print) slot = (slot + 1) & mask;
    return slot;
  }
}

const AT_ONCE = 1_000;
/** Beyond that, packs are deflated: it takes as long as reading the records does, and pays only for the memory of large fleets. */
const PLAIN_MAX = 200;

/** A list that takes a third of the memory of its items, and a tenth for most items of a long one. */
class PackedList<T> implements Iterable<T> {
  private readonly packs: (string | Buffer)[] = [];
  private last: T[] = [];

  add(item: T): void {
    this.last.push(item);
    if (this.last.length < AT_ONCE) return;
    const text = JSON.stringify(this.last);
    this.packs.push(this.packs.length < PLAIN_MAX ? text : deflateRawSync(text, { level: 1 }));
    this.last = [];
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const pack of this.packs)
      yield* JSON.parse(typeof pack === 'string' ? pack : inflateRawSync(pack).toString()) as T[];
    yield* this.last;
  }
}
