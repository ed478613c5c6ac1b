// What a part of a list had otherwise than it was recorded: batch by batch the same as record by record, and nothing of a piece that failed.
import { deserialize } from 'node:v8';
import { describe, expect, it } from 'vitest';
import { FactPaths } from '../../src/domain/fact-prints.ts';
import type { Facts } from '../../src/domain/facts.ts';
import { SeenPrints } from '../../src/domain/seen-prints.ts';
import { RecordPartReader } from '../../src/pull/record-pass.ts';

const device = (no: number, LoginCount: number): Facts => ({ DeviceID: `d-${no}`, Name: 'é日本', LoginCount });
const fleet = (loginCount: (no: number) => number) => Array.from({ length: 60 }, (_, no) => device(no, loginCount(no)));
const known = (records: readonly Facts[]) => {
  const paths = new FactPaths();
  return SeenPrints.of(Float64Array.from(records, (record) => paths.print(record)));
};

function read(reader: RecordPartReader, records: readonly Facts[], batchSize: number): void {
  for (let from = 0; from < records.length; from += batchSize) {
    const batch = records.slice(from, from + batchSize);
    reader.begin(Buffer.from(batch.map((record) => JSON.stringify(record)).join(',')));
    for (const record of batch) reader.accept(record, String(record.DeviceID));
    reader.end(() => {});
  }
}

function changedIn(part: Facts[] | Uint8Array): Facts[] {
  return part instanceof Uint8Array ? (deserialize(part) as Facts[]) : part;
}

describe('the records of a part that are not as they were recorded', () => {
  it.each([1, 7, 60])('are those that changed, reading after reading, in batches of %i', (batchSize) => {
    const before = fleet(() => 1);
    const now = fleet((no) => (no % 7 === 0 ? 2 : 1));
    const reader = new RecordPartReader(known([]).shared, 'device');
    read(reader, before, batchSize);
    expect(changedIn(reader.part())).toEqual(before);

    const prints = known(before);
    reader.follow(prints.shared);
    read(reader, now, batchSize);
    expect(changedIn(reader.part())).toEqual(now.filter((_, no) => no % 7 === 0));
    expect(prints.seenCount).toBe(51);
    expect(reader.part()).toEqual([]);
  });

  it('are not those of a piece that failed in the pass before', () => {
    const reader = new RecordPartReader(known([]).shared, 'device');
    read(
      reader,
      fleet(() => 1),
      7,
    );
    const same = fleet(() => 2);
    reader.follow(known(same).shared);
    read(reader, same, 7);
    expect(changedIn(reader.part())).toEqual([]);
  });
});
