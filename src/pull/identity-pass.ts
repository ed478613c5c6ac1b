// pull: what one reading changes about identities. In: its records, and the fingerprints of what the last trusted list had. Out: new
// and changed ones, and which fingerprints the reading had. It holds differences only, packed: a first list is all difference.
import type { Facts } from '../domain/facts.ts';
import { type IdentityChanges, type IdentitySeen, identityOf, type PresentPrints } from '../domain/identity.ts';
import { IdentityPrinter } from '../domain/identity-print.ts';
import { PackedList, type Packing, partOf } from '../domain/packed-list.ts';
import { PRINT_WORDS, type PrintKey } from '../domain/print-bits.ts';
import type { IdentityPart } from '../domain/record-part.ts';
import { SeenPrints, type SharedPrints } from '../domain/seen-prints.ts';
import type { SubjectKind } from '../domain/subjects.ts';

export class IdentityPass {
  private readonly prints: SeenPrints;
  private readonly changed = new PackedList(AS_JSON);
  private readonly printer: IdentityPrinter;
  private readonly print = new Int32Array(PRINT_WORDS);

  /** `key`: with which `present` was made. */
  constructor(
    private readonly kind: SubjectKind,
    private readonly present: PresentPrints,
    private readonly key: PrintKey,
  ) {
    this.prints = SeenPrints.of(present);
    this.printer = new IdentityPrinter(key);
  }

  accept(record: Facts): void {
    this.printer.printOfRecord(this.kind, record, this.print, 0);
    if (!this.prints.see(this.print, 0)) this.changed.add(identityOf(this.kind, record));
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
    const has = (both: PresentPrints, at: number) => prints.wasSeen(both, at) || prints.wasSeen(both, at + PRINT_WORDS);
    const had = { key: this.key, has };
    return { kind, changed, had: 2 * PRINT_WORDS * prints.seenCount === present.length ? undefined : had };
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

  /** `prints`, `at`: where the fingerprint of its identity is. */
  accept(record: Facts, prints: Int32Array, at: number): void {
    if (!this.prints.see(prints, at)) this.changed.push(identityOf(this.kind, record));
  }

  part(): IdentityPart {
    const { changed } = this;
    this.changed = [];
    return partOf(changed, AS_JSON);
  }
}
