import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { claim, commitOf, decision, episode, intent, plan, run } from '../../support/stored-nouns.ts';
import { databases } from '../../support/stores.ts';

describe.each(databases())('$name', (database) => {
  beforeAll(() => database.prepare(), 120_000);
  afterAll(() => database.end());
  test('smoke', async () => {
    const { store, clock } = await database.open();
    await store.beginRun(run, []);
    await store.commitRun(
      commitOf({ episodes: [episode], intents: [intent], claims: [claim], decisions: [decision], plan }),
    );
    const openState = await store.openState(clock.nowMs());
    expect(openState.episodes).toEqual([episode]);
    expect(await store.run('r1')).toMatchObject({ ...run, seq: 1, planId: 'p1', findings: { planDigest: 'digest' } });
  });
});
