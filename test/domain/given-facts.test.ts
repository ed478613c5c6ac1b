// domain: whether facts from elsewhere count is judged by the time of their data, never by the time of the reading.
import { expect, it } from 'vitest';
import { doubtOf, type FactTable, type GivenReading, type GivenSource } from '../../src/domain/given-facts.ts';

const source = { name: 'fleet', freshMs: 7_200_000 } as GivenSource;
const table = { atMs: 1_000, readAt: 7_000_000 } as FactTable;
const fault = { text: 'no answer within 60 s', sinceMs: 1_000 };
const reading = (more: Partial<GivenReading>): GivenReading => ({
  source,
  table,
  triedAt: 1,
  fault: undefined,
  ...more,
});

it.each([
  ['fresh data counts, though the newest reading failed', reading({ fault }), 7_201_000, undefined],
  [
    'old data that was read just now does not',
    reading({}),
    7_201_001,
    'its data is 2 h old, and may be 2 h old at most',
  ],
  ['nor does old data after a failure', reading({ fault }), 9e6, /old at most: no answer within 60 s$/],
  [
    'nor does what could not be read',
    reading({ table: undefined, fault }),
    1,
    'it could not be read: no answer within 60 s',
  ],
  ['nor what was not read yet', reading({ table: undefined }), 1, 'it has not been read yet'],
])('%s', (_, one, nowMs, expected) => {
  if (expected === undefined) expect(doubtOf(one, nowMs)).toBeUndefined();
  else expect(doubtOf(one, nowMs)).toMatch(expected);
});
