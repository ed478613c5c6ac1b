// test: rows of a 2,000-row chain, tampered with in every way; checkpoint-tampering.long.test.ts covers all rows.
import { expect, it } from 'vitest';
import { describeTallies, KINDS, tamperWithRows } from './checkpoint-tampering.ts';

it('a row that was edited, deleted, inserted, swapped, cut or re-chained is detected and named', async () => {
  // A step that shares no factor with the runs of 37 and the checkpoints of 1,000, and the first and last rows.
  const tallies = await tamperWithRows(1, 41);
  process.stdout.write(describeTallies(tallies));
  for (const kind of KINDS) {
    const { tampered, found, named, missed } = tallies[kind];
    expect(missed).toEqual([]);
    expect({ found, named }).toEqual({ found: tampered, named: tampered });
    expect(tampered).toBeGreaterThan(40);
  }
});
