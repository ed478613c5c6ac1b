// pull: the records of one part of a list, read and judged. In: parsed records in batches. Out: what merging needs of them. It runs in any
// thread: whether a key was read before in another part is seen when the parts are merged.
import type { Facts } from '../domain/facts.ts';
import type { RecordBatch } from '../domain/list-piece.ts';
import type { RecordPart } from '../domain/record-part.ts';
import type { SharedPrints } from '../domain/seen-prints.ts';
import { KIND_OF } from '../domain/subjects.ts';
import type { PartJudge } from '../domain/verdict.ts';
import { FleetRows } from './fleet-rows.ts';
import { IdentityPartReader } from './identity-pass.ts';
import { writeUuid } from './key-set.ts';
import { IDENTITY_AT } from './known-records.ts';
import { EXAMPLES_MAX } from './pull-source.ts';
import { readRecord } from './record-key.ts';
import type { RecordPartReader } from './record-pass.ts';

export interface PartReaderOptions {
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
