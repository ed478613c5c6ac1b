// pull: which records one reading saw otherwise than they were recorded last, for the history. In: its records, and the fingerprints of those
// recorded. Out: new and changed ones, packed, and which fingerprints the reading had. It runs for every record of a fleet.
import { FactPaths } from '../domain/fact-prints.ts';
import type { Facts } from '../domain/facts.ts';
import { FIELDS, type PresentPrints } from '../domain/identity.ts';
import { AS_VALUES, PackedList } from '../domain/packed-list.ts';
import type { ChangedPart } from '../domain/record-part.ts';
import type { SeenSubjects } from '../domain/recorded-history.ts';
import { SeenPrints, type SharedPrints } from '../domain/seen-prints.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import { RecordBytes } from './record-bytes.ts';

export class RecordPass {
  private readonly paths = new FactPaths();
  private readonly prints: SeenPrints;
  private readonly changed = new PackedList<Facts>(AS_VALUES);

  constructor(present: PresentPrints) {
    this.prints = SeenPrints.of(present);
  }

  accept(record: Facts): void {
    if (!this.prints.see(this.paths.print(record))) this.changed.add(record);
  }

  /** For threads that read parts: they mark in it what they saw. */
  get shared(): SharedPrints {
    return this.prints.shared;
  }

  /** The next records, which another thread has seen. */
  acceptPart(part: ChangedPart): void {
    this.changed.addPart(part);
  }

  finish(): Pick<SeenSubjects, 'changed' | 'prints'> {
    return { changed: this.changed, prints: this.shared };
  }
}

/** The new and changed records of a part of a list, ready for another thread. */
export class RecordPartReader {
  private prints: SeenPrints;
  private readonly records: RecordBytes;
  private changed: Facts[] = [];

  constructor(shared: SharedPrints, kind: SubjectKind) {
    this.prints = SeenPrints.over(shared);
    this.records = new RecordBytes(kind, new FactPaths(), FIELDS[kind][0] as string);
  }

  /** For the next pass, over what was recorded then. */
  follow(shared: SharedPrints): void {
    this.prints = SeenPrints.over(shared);
    // A piece that failed has left some.
    this.changed = [];
  }

  begin(bytes: Uint8Array): void {
    this.records.begin(bytes);
  }

  accept(record: Facts, key: string): void {
    this.records.accept(record, key);
  }

  /**
   * Of the bytes that it began with. `take`: each record, with the fingerprint of its identity. INVARIANT: no record is kept beyond them but what
   * changed: moving what lives on costs more than reading it.
   */
  end(take: (record: Facts, identity: number) => void): void {
    this.records.end((record, facts, identity) => {
      if (!this.prints.see(facts)) this.changed.push(record);
      take(record, identity);
    });
  }

  part(): ChangedPart {
    const { changed } = this;
    this.changed = [];
    // Packed also when they are few: the main thread passes them on unread.
    return changed.length === 0 ? changed : AS_VALUES.pack(changed);
  }
}
