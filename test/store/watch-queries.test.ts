// test: what looks ask of the store every few seconds is found by indexes, however much is stored.
import { describe, expect, it } from 'vitest';
import { countingDatabase } from '../support/counting-db.ts';
import { startOnPlatform } from '../support/engine-on-platform.ts';
import { addEvent, addFleet, compromise, lookOn } from '../support/looks.ts';

const TABLES = 'runs|events|decisions|episodes|claims|intents|attempts|intent_episodes';

describe('a look', () => {
  it.each(['nothing', 'acted'])('that ends with `%s` scans no table', async (result) => {
    const db = countingDatabase();
    const on = startOnPlatform({ db });
    await addFleet(on, 20);
    compromise(on, 'd1');
    await lookOn(on);
    if (result === 'acted') compromise(on, 'd2');
    else addEvent(on, 'd3');
    db.asked.clear();
    expect((await lookOn(on)).result).toBe(result);
    const own = [...db.asked.keys()].filter((sql) => sql.startsWith('SELECT') || sql.startsWith('WITH'));
    const scans = own.flatMap((sql) => db.planOf(sql).filter((one) => new RegExp(`^SCAN (${TABLES})\\b`).test(one)));
    expect(scans).toEqual([]);
    await on.close();
  });
});
