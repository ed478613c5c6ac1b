// test: every row of a 2,000-row chain, tampered with in every way.
import { expect, it } from 'vitest';
import { describeTallies, KINDS, tamperWithRows } from './checkpoint-tampering.ts';

it('a row that was edited, deleted, inserted, swapped, cut or re-chained is detected and named', async () => {
  const tallies = await tamperWithRows(1, 1);
  process.stdout.write(describeTallies(tallies));
  for (const kind of KINDS) {
    const { tampered, found, named, missed } = tallies[kind];
    expect(missed).toEqual([]);
    expect({ found, named }).toEqual({ found: tampered, named: tampered });
    expect(tampered).toBeGreaterThanOrEqual(1_999);
  }
});
