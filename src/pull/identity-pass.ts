// pull: what one reading changes about identities. In: its records, and the fingerprints of what the last trusted list had. Out: new
// and changed ones, and which fingerprints the reading had. It holds differences only, packed: a first list is all difference.
import type { Facts } from '../domain/facts.ts';
import {
  type IdentityChanges,
  type IdentityPrints,
  type IdentitySeen,
  identityOf,
  type PresentPrints,
} from '../domain/identity.ts';
import { printOfRecord } from '../domain/identity-print.ts';
import { PackedList, type Packing, partOf } from '../domain/packed-list.ts';
import type { IdentityPart } from '../domain/record-part.ts';
import { SeenPrints, type SharedPrints } from '../domain/seen-prints.ts';
import type { SubjectKind } from '../domain/subjects.ts';

export class IdentityPass {
  private readonly prints: SeenPrints;
  private readonly changed = new PackedList(AS_JSON);

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

const AS_JSON: Packing<IdentitySeen> = {
  pack: (items) => Buffer.from(JSON.stringify(items)),
  unpack: (bytes) => JSON.parse(Buffer.from(bytes).toString()) as IdentitySeen[],
};

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

  accept(record: Facts, print: number = printOfRecord(this.kind, record)): void {
    if (!this.prints.see(print)) this.changed.push(identityOf(this.kind, record));
  }

  part(): IdentityPart {
    const { changed } = this;
    this.changed = [];
    return partOf(changed, AS_JSON);
  }
}
