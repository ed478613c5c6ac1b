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
import type { IdentityPart } from '../domain/record-part.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import { SeenPrints, type SharedPrints } from './seen-prints.ts';

export class IdentityPass {
  private readonly prints: SeenPrints;
  private readonly changed = new PackedList();

  constructor(
    private readonly kind: SubjectKind,
    private readonly present: PresentPrints,
  ) {
    this.prints = SeenPrints.of(present);
  }

  accept(record: Facts): void {
    if (!this.prints.see(printOfRecord(this.kind, record))) this.changed.add(identityOf(this.kind, record));
  }

  /** For threads that read parts: they mark in it what they saw. */
  get shared(): SharedPrints {
    return this.prints.shared;
  }

  /** The next records, which another thread has seen. */
  acceptPart(part: IdentityPart): void {
    this.changed.addPart(part);
  }

  finish(): IdentityChanges {
    const { kind, changed, present, prints } = this;
    const had = ({ print, ownersPrint }: IdentityPrints) =>
      prints.wasSeen(print) || (ownersPrint !== undefined && prints.wasSeen(ownersPrint));
    return { kind, changed, had: 2 * prints.seenCount === present.length ? undefined : had };
  }
}

const AT_ONCE = 1_000;
/** Fewer are not worth packing. */
const PACKED_MIN = 100;

/** The new and changed identities of a part of a list, ready for another thread. */
export class IdentityPartReader {
  private readonly prints: SeenPrints;
  private changed: IdentitySeen[] = [];

  constructor(
    private readonly kind: SubjectKind,
    shared: SharedPrints,
  ) {
    this.prints = SeenPrints.over(shared);
  }

  accept(record: Facts): void {
    if (!this.prints.see(printOfRecord(this.kind, record))) this.changed.push(identityOf(this.kind, record));
  }

  part(): IdentityPart {
    const { changed } = this;
    this.changed = [];
    return changed.length < PACKED_MIN ? changed : Buffer.from(JSON.stringify(changed));
  }
}

/** Beyond that, packs are deflated: it takes as long as reading the records does, and pays only for the memory of large fleets. */
const PLAIN_MAX = 200;

/** A list that takes a third of the memory of its items, and a tenth for most items of a long one. */
class PackedList implements Iterable<IdentitySeen> {
  private readonly plain: Uint8Array[] = [];
  private readonly deflated: Uint8Array[] = [];
  private last: IdentitySeen[] = [];

  add(item: IdentitySeen): void {
    this.last.push(item);
    if (this.last.length >= AT_ONCE) this.pack();
  }

  addPart(part: IdentityPart): void {
    if (Array.isArray(part)) for (const item of part) this.add(item);
    else {
      this.pack();
      this.keep(part);
    }
  }

  private pack(): void {
    if (this.last.length > 0) this.keep(Buffer.from(JSON.stringify(this.last)));
    this.last = [];
  }

  private keep(pack: Uint8Array): void {
    if (this.plain.length < PLAIN_MAX) this.plain.push(pack);
    else this.deflated.push(deflateRawSync(pack, { level: 1 }));
  }

  *[Symbol.iterator](): Iterator<IdentitySeen> {
    for (const pack of this.plain) yield* JSON.parse(Buffer.from(pack).toString()) as IdentitySeen[];
    for (const pack of this.deflated) yield* JSON.parse(inflateRawSync(pack).toString()) as IdentitySeen[];
    yield* this.last;
  }
}
