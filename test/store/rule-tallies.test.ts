// test: the counts of each rule over the newest runs: which runs and rules are counted, in which order, and what is read for them.
import { describe, expect, it } from 'vitest';
import { linkEntry } from '../../src/engine/audit/signing-key.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { countingDatabase } from '../support/counting-db.ts';
import { addRun, fakeClock, openStore, START_MS, tally } from '../support/filled-store.ts';

describe('the counts of the rules over the newest runs', () => {
  it('are those of completed runs, newest first, as far as a limit', async () => {
    const store = openStore();
    for (const [index, match] of [3, 5, 8].entries())
      await addRun(store, { id: `run${index}`, startedAt: START_MS + index, tallies: [tally({ rule: 'a', match })] });
    await addRun(store, { id: 'broken', error: 'lost', tallies: [tally({ rule: 'a' })] });
    await addRun(store, { id: 'open', finished: false, tallies: [tally({ rule: 'a' })] });
    const matches = async (limit: number) =>
      (await store.ruleTallies(limit)).map(({ seq, tallies }) => [seq, tallies[0]?.match]);
    expect(await matches(30)).toEqual([
      [3, 8],
      [2, 5],
      [1, 3],
    ]);
    expect(await matches(1)).toEqual([[3, 8]]);
    expect((await store.ruleTallies(1))[0]?.at).toBe(START_MS + 2);
  });

  it('leave out runs over chosen rules, and rules that a run did not judge', async () => {
    const store = openStore();
    const tallies = [tally({ rule: 'a', match: 1, unknown: 2 }), tally({ rule: 'b', judged: false })];
    await addRun(store, { id: 'whole', tallies });
    await addRun(store, { id: 'chosen', scoped: true, tallies });
    const [whole, ...others] = await store.ruleTallies(30);
    expect(others).toEqual([]);
    expect(whole).toMatchObject({ seq: 1, tallies: [{ rule: 'a', match: 1, unknown: 2 }] });
    expect(whole?.tallies).toHaveLength(1);
  });

  it('are found by an index, in their order', async () => {
    const db = countingDatabase();
    const store = new SqliteStore(db, linkEntry, fakeClock());
    await addRun(store, { tallies: [tally({ rule: 'a' })] });
    db.asked.clear();
    await store.ruleTallies(30);
    const [newest, ...named] = [...db.asked.keys()].map((sql) => db.planOf(sql));
    expect(newest).toEqual(['SEARCH runs USING INDEX runs_by_status (status=?)']);
    expect(named.flat().filter((detail) => /SCAN (?!json_each)/.test(detail))).toEqual([]);
  });
});
