// pull: the records of one part of a list, read and judged. In: parsed records in batches. Out: what merging needs of them. It runs in any
// thread: whether a key was read before in another part is seen when the parts are merged.

import { PackedList, type Packing, partOf } from '../../base/packed-list.ts';
import { PRINT_WORDS, type PrintKey } from '../../base/print-bits.ts';
import type { Facts } from '../../domain/facts.ts';
import { type IdentityChanges, identityOf, type ListedIdentity, type PresentPrints } from '../../domain/identity.ts';
import { IdentityPrinter } from '../../domain/identity-print.ts';
import type { RecordBatch } from '../../domain/lists.ts';
import type { IdentityPart, RecordPart } from '../../domain/record-part.ts';
import { SeenPrints, type SharedPrints } from '../../domain/recorded-history.ts';
import { redacted } from '../../domain/secrets.ts';
import type { Baseline, KeptReading } from '../../domain/snapshot.ts';
import { KIND_OF, type SubjectKind } from '../../domain/subjects.ts';
import type { PartJudge } from '../../domain/verdict.ts';
import { FleetRows, readRecord, writeUuid } from './fleet-index.ts';
import { EXAMPLES_MAX } from './pull-source.ts';
import { IDENTITY_AT, type RecordPartReader } from './record-pass.ts';

// What one reading changes about identities.

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

  finish(): Omit<IdentityChanges, 'readAt'> {
    const { kind, changed, present, prints } = this;
    const has = (both: PresentPrints, at: number) => prints.wasSeen(both, at) || prints.wasSeen(both, at + PRINT_WORDS);
    const had = { key: this.key, has };
    return { kind, changed, had: 2 * PRINT_WORDS * prints.seenCount === present.length ? undefined : had };
  }
}

const AS_JSON: Packing<ListedIdentity> = {
  pack: (items) => Buffer.from(JSON.stringify(items)),
  unpack: (bytes) => JSON.parse(Buffer.from(bytes).toString()) as ListedIdentity[],
};

/** The new and changed identities of a part of a list, ready for another thread. */
class IdentityPartReader {
  private readonly prints: SeenPrints;
  private changed: ListedIdentity[] = [];

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

interface PartReaderOptions {
  source: 'devices';
  fieldsWritten: readonly string[];
  prints: SharedPrints;
  /** Compares records with what is recorded, and sums them up. */
  records: RecordPartReader;
  /** A fresh one for each part, and what it wanted kept of the record that it judged last. */
  makeJudge(): { judge: PartJudge; isWanted(): boolean };
}

export class PartReader {
  private readonly identities: IdentityPartReader;

  constructor(private readonly options: PartReaderOptions) {
    this.identities = new IdentityPartReader(KIND_OF[options.source], options.prints);
  }

  read(batches: Iterable<RecordBatch>): RecordPart {
    const { source, fieldsWritten, makeJudge, records } = this.options;
    const { judge, isWanted } = makeJudge();
    const fleet = new FleetRows(fieldsWritten);
    const keys: string[] = [];
    const wanted: Facts[] = [];
    const unreadable: RecordPart['unreadable'] = { count: 0, overlong: 0, examples: [] };
    let seen = 0;
    for (const batch of batches) {
      records.begin(batch.bytes);
      for (const value of batch.records) {
        seen += 1;
        const read = readRecord(source, value);
        if (!read.ok) {
          unreadable.count += 1;
          if (read.isOverlong) unreadable.overlong += 1;
          if (unreadable.examples.length < EXAMPLES_MAX) unreadable.examples.push({ at: seen, reason: read.reason });
          continue;
        }
        keys.push(read.key);
        fleet.add(read.record);
        judge.accept(read.record);
        if (isWanted()) wanted.push(read.record);
        records.accept(read.record, read.key);
      }
      records.end((record, prints, at) => this.identities.accept(record, prints, at + IDENTITY_AT));
    }
    const known = keysOf(keys);
    return {
      seen,
      unreadable,
      keys: known,
      fleet: fleet.part(known.ids),
      identities: this.identities.part(),
      ...records.part(),
      judged: judge.finish(),
      wanted,
    };
  }
}

function keysOf(keys: readonly string[]): RecordPart['keys'] {
  const ids = new Uint32Array(4 * keys.length);
  const others: string[] = [];
  let count = 0;
  for (const key of keys) {
    if (writeUuid(key, ids, 4 * count)) count += 1;
    else others.push(key);
  }
  return { ids: ids.slice(0, 4 * count), others };
}

export function redactedBaseline(stored: Baseline | undefined): Baseline | undefined {
  if (!stored) return undefined;
  const { earlier } = stored;
  return { ...redactedReading(stored), ...(earlier && { earlier: earlier.map(redactedReading) }) };
}

function redactedReading<Reading extends KeptReading>(reading: Reading): Reading {
  const values = Object.entries(reading.values).map(([path, counts]) => [path, redactedCounts(path, counts)] as const);
  return { ...reading, values: Object.fromEntries(values) };
}

function redactedCounts(path: string, counts: Record<string, number>): Record<string, number> {
  const shares: Record<string, number> = Object.create(null);
  for (const [value, count] of Object.entries(counts)) {
    const key = String(redacted(value, path));
    shares[key] = (shares[key] ?? 0) + count;
  }
  return shares;
}
