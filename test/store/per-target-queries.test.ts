// test: what is asked of the database once per target is found by an index. Each scene is played with two devices and with five:
// a statement that runs more often with five is walked once per target, so that a new one cannot escape.
import { describe, expect, it } from 'vitest';
import { seenOfKey } from '../../src/domain/episode.ts';
import { releaseClaims } from '../../src/engine/operate/release.ts';
import { resolveIntent } from '../../src/engine/operate/resolve-intent.ts';
import { countingDatabase } from '../support/counting-db.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../support/engine-on-platform.ts';

const who = { by: 'ana', reason: 'test' };
const ids = (on: OnPlatform) => [...on.platform.devices.keys()];
const everyone = (on: OnPlatform, is: 'TRUE' | 'FALSE') => {
  for (const id of ids(on)) on.platform.compromised(id, is);
};
const answers = (on: OnPlatform, ...given: ('lost' | 'hidden' | 'failed')[]) => {
  for (const id of ids(on)) on.platform.answer(`S-${id}`, ...given);
};
const banned = async (on: OnPlatform) => {
  everyone(on, 'TRUE');
  await on.run();
  on.clock.pass(QUIET_MS);
};
const forbid = banRule({ id: 'wait', mode: 'approve' });

const scenes: { [title: string]: (on: OnPlatform) => Promise<unknown> } = {
  'banning and undoing': async (on) => {
    await banned(on);
    everyone(on, 'FALSE');
    await on.run();
  },
  'what failed is tried again': async (on) => {
    answers(on, 'failed');
    await banned(on);
    await on.run();
  },
  'doubts are read back and sent once more': async (on) => {
    answers(on, 'lost', 'hidden');
    await banned(on);
    await on.run();
    on.clock.pass(QUIET_MS);
    await on.run();
  },
  'a plan is approved and applied': async (on) => {
    on.rules(forbid);
    everyone(on, 'TRUE');
    const { plan } = await on.run();
    await on.apply(await on.approve(plan));
  },
  'what was banned is deleted, and was seen so by another rule': async (on) => {
    await banned(on);
    on.rules(banRule(), banRule({ id: 'second' }), banRule({ id: 'drop', does: 'delete_device' }));
    const { plan } = await on.run();
    await on.apply(await on.approve(plan));
  },
  'an intent stays planned or sent, and is left to the next run': async (on) => {
    everyone(on, 'TRUE');
    const { settle } = on.store;
    on.store.settle = async () => {};
    await on.run();
    on.store.settle = settle;
    await on.run();
  },
  'two rules claim, one of them is gone, and a person releases the target': async (on) => {
    on.rules(banRule(), banRule({ id: 'second' }));
    await banned(on);
    on.rules(banRule());
    await on.run();
    for (const id of ids(on)) await releaseClaims(on.engine, `S-${id}`, who);
  },
  'a person resolves doubts as done': async (on) => {
    answers(on, 'lost');
    await banned(on);
    for (const { id } of await on.store.intentsIn('unknown')) await resolveIntent(on.engine, id, 'done', who);
  },
};

async function played(scene: (on: OnPlatform) => Promise<unknown>, devices: number) {
  const db = countingDatabase();
  const ceilings = { run: { max: 1_000, percent: 100 }, day: { max: 1_000, percent: 100 } };
  const on = startOnPlatform({
    db,
    settings: (given) => ({
      ...given,
      act: { ...given.act, ceilings, runFailuresMax: 1_000 },
      decide: { ...given.decide, ceilings },
    }),
  });
  for (let number = 1; number <= devices; number += 1) on.platform.addDevice(`d${number}`);
  await scene(on);
  return { on, db };
}

/** Tables of SQLite's own functions hold what was handed over or the names of tables and columns, and no more. */
const HANDED = /^SCAN (json_each|CONSTANT ROW|\d+-ROW VALUES|sqlite_master|sqlite_schema|pragma_table_info)/;
/** One row for each stretch of time without a gap. */
const COVERAGE = 'SCAN coverage';
/** What people wrote one by one: all of it is asked for, and no index is believed. */
const EXEMPTIONS = 'SCAN exemptions';
/** Columns of few values: to search by them alone is to read a good part of the table. */
const FEW = new Set(['status', 'state', 'outcome', 'live', 'kind', 'rule', 'action', 'mode', 'ended_seq']);

function isWhole(detail: string): boolean {
  if (detail.startsWith('SCAN')) return !HANDED.test(detail) && detail !== COVERAGE && detail !== EXEMPTIONS;
  const by = /^SEARCH .*\((.*)\)$/.exec(detail)?.[1];
  const columns = by?.split(' AND ').map((term) => term.replace(/[=<>].*$/, ''));
  return columns?.every((column) => FEW.has(column)) ?? false;
}

describe('what is asked once per target', () => {
  it.each(Object.entries(scenes))('is found by an index: %s', async (_, scene) => {
    const [few, many] = [(await played(scene, 2)).db, (await played(scene, 5)).db];
    const grows = [...many.asked].filter(([sql, { times }]) => times > (few.asked.get(sql)?.times ?? 0));
    expect(grows.length).toBeGreaterThan(10);
    const whole = grows.flatMap(([sql]) => {
      const plan = many.planOf(sql);
      return plan.some(isWhole) ? [[sql, plan]] : [];
    });
    expect(whole).toEqual([]);
  });

  it.each(Object.entries(scenes))('equals what the whole open state has about the target: %s', async (_, scene) => {
    const { on, db } = await played(scene, 3);
    const open = await on.store.openState(on.clock.nowMs());
    const byId = <T extends { id: string }>(items: readonly T[]) => items.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    for (const { target } of db.all<{ target: string }>('SELECT DISTINCT target FROM decisions')) {
      const about = <T extends { target: string }>(items: readonly T[]) => items.filter((one) => one.target === target);
      expect(byId(await on.store.openClaimsOn(target))).toEqual(byId(about(open.claims)));
      expect(byId(await on.store.intentsOn(target))).toEqual(byId(about(open.intents)));
      expect(byId(await on.store.decisionsOn(target))).toEqual(byId(about(open.decisions)));
      const saw = open.episodes.filter(
        ({ state, seenSo }) => state !== 'closed' && seenSo.some((key) => seenOfKey(key).target === target),
      );
      expect(byId(await on.store.episodesThatSaw(target))).toEqual(byId(saw));
    }
    const all = db.all<{ id: string }>('SELECT id FROM episodes').map(({ id }) => id);
    expect(byId(await on.store.episodesInForce(all))).toEqual(byId(open.episodes));
    for (const [action, count] of open.attempts24h)
      expect(await on.store.attemptsSince(action, on.clock.nowMs() - 86_400_000)).toBe(count);
  });
});
