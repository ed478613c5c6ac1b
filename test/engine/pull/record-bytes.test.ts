// Fingerprints of records by the bytes that they came in are those of their values, whatever the bytes are, and whatever a record holds that
// looks like the beginning of another one.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FactPaths } from '../../../src/domain/fact-prints.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import { FACTS_AT, IDENTITY_AT, RecordBytes } from '../../../src/engine/pull/record-pass.ts';
import { identityOfRecord, PRINT_KEY, printOfFacts } from '../../support/print-key.ts';

const id = fc.constantFrom('a', 'b', 'c', 'd', 'é', '"', 'a"}');
/** Some hold what looks like the beginning of a record, in a text or as an object. */
const rest = fc.dictionary(
  fc.constantFrom('Name', 'Other', 'Nested'),
  fc.oneof(
    fc.constantFrom('x', 'y', '{"DeviceID":"b"', 1),
    fc.record({ DeviceID: id, x: fc.nat(1) }, { requiredKeys: ['DeviceID'] }),
  ),
  { noNullPrototype: false },
);
const page = fc.record({
  records: fc.uniqueArray(fc.record({ DeviceID: id, rest }), { selector: ({ DeviceID }) => DeviceID, maxLength: 4 }),
  isKeyFirst: fc.boolean(),
  spaces: fc.constantFrom('', '', ' '),
  overlaps: fc.boolean(),
});

function recordOf({ DeviceID, rest: more }: { DeviceID: string; rest: Facts }, isKeyFirst: boolean): Facts {
  return isKeyFirst ? { DeviceID, ...more } : { ...more, DeviceID };
}

/** Of its facts, and of its identity. */
function partsOf(prints: Int32Array, at: number): [Int32Array, Int32Array] {
  return [prints.slice(at + FACTS_AT, at + FACTS_AT + 4), prints.slice(at + IDENTITY_AT, at + IDENTITY_AT + 4)];
}

describe('a fingerprint by bytes', () => {
  it('is that of the values, page after page', () => {
    fc.assert(
      fc.property(fc.array(page, { maxLength: 12 }), (pages) => {
        const [bytesOf, paths] = [
          new RecordBytes('device', new FactPaths(PRINT_KEY), 'DeviceID'),
          new FactPaths(PRINT_KEY),
        ];
        for (const { records: all, isKeyFirst, spaces, overlaps } of pages) {
          const records = all.map((one) => recordOf(one, isKeyFirst));
          const texts = records.map((one) => JSON.stringify(one, undefined, spaces));
          bytesOf.begin(Buffer.from(`{"devices":[${texts.join(',')}],"count":${records.length}}`));
          const accepted = overlaps ? records.slice(1) : records;
          for (const one of accepted) bytesOf.accept(one, String(one.DeviceID));
          const found: [Facts, Int32Array, Int32Array][] = [];
          bytesOf.end((record, prints, at) => found.push([record, ...partsOf(prints, at)]));
          expect(found).toEqual(
            accepted.map((one) => [one, printOfFacts(one, paths), identityOfRecord('device', one)]),
          );
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('is another one after a change that keeps the length, also where what came before is unchanged', () => {
    const lists = [
      [
        { DeviceID: 'a', x: 1 },
        { DeviceID: 'b', x: 1 },
        { DeviceID: 'c', x: 1 },
      ],
      [
        { DeviceID: 'a', x: 1 },
        { DeviceID: 'b', x: 2 },
        { DeviceID: 'c', x: 1 },
      ],
      [
        { DeviceID: 'a', x: 1 },
        { DeviceID: 'b', x: 2 },
        { DeviceID: 'c', x: 3 },
      ],
    ];
    expectPrintsOfValues(lists);
  });

  it('is that of a record that has the beginning of the last one in it', () => {
    const nested = (x: number): Facts[] => [
      { DeviceID: 'a', Nested: { DeviceID: 'b', x } },
      { DeviceID: 'b', x: 1 },
    ];
    expectPrintsOfValues([nested(1), nested(2), nested(1)]);
  });
});

function expectPrintsOfValues(lists: Facts[][]): void {
  const [bytesOf, paths] = [new RecordBytes('device', new FactPaths(PRINT_KEY), 'DeviceID'), new FactPaths(PRINT_KEY)];
  for (const list of lists) {
    bytesOf.begin(Buffer.from(list.map((one) => JSON.stringify(one)).join(',')));
    for (const one of list) bytesOf.accept(one, String(one.DeviceID));
    const found: Int32Array[] = [];
    bytesOf.end((_, prints, at) => found.push(partsOf(prints, at)[0]));
    expect(found).toEqual(list.map((one) => printOfFacts(one, paths)));
  }
}
