// pull: which records one reading saw otherwise than they were recorded last, for the history, and what it shows of whether its source moves. In:
// its records, and the fingerprints of those recorded. Out: new and changed ones, packed, and which fingerprints the reading had; a sight of the
// whole. It runs for every record of a fleet.
import { FactPaths } from '../domain/fact-prints.ts';
import type { Facts } from '../domain/facts.ts';
import { FIELDS, type PresentPrints } from '../domain/identity.ts';
import type { Sight } from '../domain/movement.ts';
import { AS_VALUES, PackedList } from '../domain/packed-list.ts';
import { PRINT_WORDS, type PrintKey } from '../domain/print-bits.ts';
import type { ChangedPart, SightPart } from '../domain/record-part.ts';
import type { SeenSubjects } from '../domain/recorded-history.ts';
import { SeenPrints, type SharedPrints } from '../domain/seen-prints.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import { FACTS_AT } from './known-records.ts';
import { ListSight } from './list-sight.ts';
import { RecordBytes, type TakeRecord } from './record-bytes.ts';

export class RecordPass {
  private readonly paths: FactPaths;
  private readonly print = new Int32Array(PRINT_WORDS);
  private readonly prints: SeenPrints | undefined;
  private readonly changed = new PackedList<Facts>(AS_VALUES);
  private readonly list: ListSight;

  /** `present`: made with this key; undefined when nothing is recorded. `latestMs`: as `ListSight` has it. */
  constructor(present: PresentPrints | undefined, kind: SubjectKind, latestMs: number, key: PrintKey) {
    this.paths = new FactPaths(key);
    this.prints = present && SeenPrints.of(present);
    this.list = new ListSight(kind, latestMs, key);
  }

  accept(record: Facts): void {
    this.paths.print(record, this.print, 0);
    this.list.add(record, this.print, 0);
    if (this.prints?.see(this.print, 0) === false) this.changed.add(record);
  }

  /** For threads that read parts: they mark in it what they saw. */
  get shared(): SharedPrints | undefined {
    return this.prints?.shared;
  }

  /** The next records, which another thread has seen. */
  acceptPart(changed: ChangedPart | undefined, sight: SightPart): void {
    if (changed) this.changed.addPart(changed);
    this.list.addPart(sight);
  }

  finish(): { records: Pick<SeenSubjects, 'changed' | 'prints'> | undefined; sight: Sight } {
    const { changed, shared: prints } = this;
    return { records: prints && { changed, prints }, sight: this.list.sight };
  }
}

/** The new and changed records of a part of a list, ready for another thread. */
export class RecordPartReader {
  private prints: SeenPrints | undefined;
  private readonly records: RecordBytes;
  private changed: Facts[] = [];
  private latestMs = 0;
  private list: ListSight;

  constructor(
    private readonly kind: SubjectKind,
    readonly key: PrintKey,
  ) {
    this.records = new RecordBytes(kind, new FactPaths(key), FIELDS[kind][0] as string);
    this.list = new ListSight(kind, this.latestMs, key);
  }

  /** For the next pass, over what was recorded then: undefined when nothing is. */
  follow(shared: SharedPrints | undefined, latestMs: number): void {
    this.prints = shared && SeenPrints.over(shared);
    this.latestMs = latestMs;
    // A piece that failed has left some.
    this.part();
  }

  begin(bytes: Uint8Array): void {
    this.records.begin(bytes);
  }

  accept(record: Facts, key: string): void {
    this.records.accept(record, key);
  }

  /**
   * Of the bytes that it began with. `take`: each record, with its fingerprints. INVARIANT: no record is kept beyond them but what
   * changed: moving what lives on costs more than reading it.
   */
  end(take: TakeRecord): void {
    this.records.end((record, prints, at) => {
      this.list.add(record, prints, at + FACTS_AT);
      if (this.prints?.see(prints, at + FACTS_AT) === false) this.changed.push(record);
      take(record, prints, at);
    });
  }

  part(): { changed: ChangedPart | undefined; sight: SightPart } {
    const { changed, prints, list } = this;
    this.changed = [];
    this.list = new ListSight(this.kind, this.latestMs, this.key);
    // Packed also when they are few: the main thread passes them on unread.
    const packed = changed.length === 0 ? changed : AS_VALUES.pack(changed);
    return { changed: prints && packed, sight: list.part };
  }
}
