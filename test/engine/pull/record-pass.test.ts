// What a part of a list had otherwise than it was recorded, and what it sums up to: batch by batch the same as record by record, and nothing of a
// piece that failed.
import { deserialize } from 'node:v8';
import { describe, expect, it } from 'vitest';
import { FactPaths } from '../../../src/domain/fact-prints.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import { SeenPrints } from '../../../src/domain/recorded-history.ts';
import { RecordPartReader, RecordPass } from '../../../src/engine/pull/record-pass.ts';
import { stringifyExact } from '../../../src/platform/contract.ts';
import { PRINT_KEY, printOfFacts } from '../../support/print-key.ts';

const device = (no: number, LoginCount: number): Facts => ({ DeviceID: `d-${no}`, Name: 'é日本', LoginCount });
const fleet = (loginCount: (no: number) => number) => Array.from({ length: 60 }, (_, no) => device(no, loginCount(no)));
const known = (records: readonly Facts[]) => {
  const paths = new FactPaths(PRINT_KEY);
  return SeenPrints.of(Int32Array.from(records.flatMap((record) => [...printOfFacts(record, paths)])));
};

function read(reader: RecordPartReader, records: readonly Facts[], batchSize: number): void {
  for (let from = 0; from < records.length; from += batchSize) {
    const batch = records.slice(from, from + batchSize);
    reader.begin(Buffer.from(batch.map((record) => stringifyExact(record)).join(',')));
    for (const record of batch) reader.accept(record, String(record.DeviceID));
    reader.end(() => {});
  }
}

function changedIn(part: ReturnType<RecordPartReader['part']>['changed']): Facts[] | undefined {
  return part instanceof Uint8Array ? (deserialize(part) as Facts[]) : part;
}

function readerOver(records: readonly Facts[]): RecordPartReader {
  const reader = new RecordPartReader('device', PRINT_KEY);
  reader.follow(known(records).shared, NOW);
  return reader;
}

const NOW = 1_800_000_000_000;

describe('the records of a part that are not as they were recorded', () => {
  it.each([1, 7, 60])('are those that changed, reading after reading, in batches of %i', (batchSize) => {
    const before = fleet(() => 1);
    const now = fleet((no) => (no % 7 === 0 ? 2 : 1));
    const reader = readerOver([]);
    read(reader, before, batchSize);
    expect(changedIn(reader.part().changed)).toEqual(before);

    const prints = known(before);
    reader.follow(prints.shared, NOW);
    read(reader, now, batchSize);
    expect(changedIn(reader.part().changed)).toEqual(now.filter((_, no) => no % 7 === 0));
    expect(prints.seenCount).toBe(51);
    expect(reader.part().changed).toEqual([]);
  });

  it('are not those of a piece that failed in the pass before', () => {
    const reader = readerOver([]);
    read(
      reader,
      fleet(() => 1),
      7,
    );
    const same = fleet(() => 2);
    reader.follow(known(same).shared, NOW);
    read(reader, same, 7);
    expect(changedIn(reader.part().changed)).toEqual([]);
  });
});

describe('what a list sums up to', () => {
  const times = (no: number) => BigInt(NOW - 1_000 * no) * 1_000_000n;
  const records: Facts[] = fleet((no) => no).map((record, no) => ({
    ...record,
    MdmData: { Timestamp: times(no + 1) },
  }));
  const seen = (list: readonly Facts[]) => {
    const pass = new RecordPass(undefined, 'device', NOW, PRINT_KEY);
    for (const record of list) pass.accept(record);
    return pass.finish().sight;
  };

  it.each([1, 7, 60])(
    'is the same read in parts, in batches of %i, whether or not anything is recorded',
    (batchSize) => {
      const pass = new RecordPass(undefined, 'device', NOW, PRINT_KEY);
      const reader = new RecordPartReader('device', PRINT_KEY);
      for (const recorded of [known([]).shared, undefined]) {
        reader.follow(recorded, NOW);
        for (const half of [records.slice(0, 30), records.slice(30)]) {
          read(reader, half, batchSize);
          const { changed, sight } = reader.part();
          if (recorded === undefined) pass.acceptPart(changed, sight);
        }
      }
      expect(pass.finish()).toEqual({ records: undefined, sight: seen(records) });
    },
  );

  it('is the same in any order, and another one when any fact is', () => {
    expect(seen(records.toReversed())).toEqual(seen(records));
    const contents = records.map(
      (_, no) => seen(records.with(no, { ...(records[no] as Facts), LoginCount: -1 })).content,
    );
    expect(new Set([...contents, seen(records).content]).size).toBe(61);
  });

  it('is another one when two devices swap a fact', () => {
    const swapped = records
      .with(0, { ...(records[0] as Facts), LoginCount: 1 })
      .with(1, { ...(records[1] as Facts), LoginCount: 0 });
    expect(seen(swapped).content).not.toBe(seen(records).content);
  });

  it('has the newest report of any kind, and none from the future: a device may send any time', () => {
    expect(seen(records).newestMs).toBe(NOW - 1_000);
    const hostile = [times(-1), 'soon', -1n, 10n ** 25n, Number.NaN].map((Timestamp) => ({ MdmData: { Timestamp } }));
    expect(seen([...records, ...(hostile as unknown as Facts[])]).newestMs).toBe(NOW - 1_000);
    expect(seen([...records, { TrustData: { UpdatedAt: times(0) } }]).newestMs).toBe(NOW);
    expect(seen(fleet(() => 1)).newestMs).toBeUndefined();
  });
});

describe('a table of fingerprints that a recorded run leaves', () => {
  it('is used again by the next reading, which knows nothing of it', () => {
    const before = known(fleet(() => 1));
    const seenOnce = printOfFacts(device(1, 1));
    before.see(seenOnce, 0);
    SeenPrints.release(before.shared);
    const next = known(fleet(() => 2));
    expect(next.shared.slots).toBe(before.shared.slots);
    expect([next.seenCount, next.see(seenOnce, 0), next.see(printOfFacts(device(1, 2)), 0)]).toEqual([0, false, true]);
    expect(known(fleet(() => 3)).shared.slots).not.toBe(next.shared.slots);
  });
});
