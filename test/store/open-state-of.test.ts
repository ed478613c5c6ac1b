// test: the open state of one subject is what the whole open state has about it, and asking for it reads no more than that.
import { describe, expect, it } from 'vitest';
import { latelyKey } from '../../src/domain/store.ts';
import { countingDatabase } from '../support/counting-db.ts';
import { banRule, QUIET_MS, startOnPlatform } from '../support/engine-on-platform.ts';

const RULES = [banRule(), banRule({ id: 'second' }), banRule({ id: 'wait', mode: 'approve', does: 'delete_device' })];

/** Devices that were banned, are in doubt, wait for a person and failed; two share one serial number. */
async function scene() {
  const db = countingDatabase();
  const on = startOnPlatform({ db, rules: RULES });
  for (const id of ['done', 'lost', 'failed', 'clean', 'late']) on.platform.addDevice(id);
  on.platform.answer('S-lost', 'lost');
  on.platform.answer('S-failed', 'failed');
  for (const id of ['done', 'lost', 'failed']) on.platform.compromised(id, 'TRUE');
  await on.run();
  on.clock.pass(QUIET_MS);
  on.platform.compromised('late', 'TRUE');
  await on.run();
  return { db, on };
}

const about = (id: string) => ({
  kinds: ['device' as const],
  subjects: [id],
  targets: [`S-${id}`],
});

const byId = <T extends { id: string }>(items: readonly T[]) => items.toSorted((a, b) => (a.id < b.id ? -1 : 1));

describe('the open state of one subject', () => {
  it.each(['done', 'lost', 'failed', 'clean', 'late'])('is what the whole has about it: %s', async (id) => {
    const { on } = await scene();
    const nowMs = on.clock.nowMs();
    const whole = await on.store.openState(nowMs);
    const isOwn = ({ target }: { target: string }) => target === `S-${id}`;
    const one = await on.store.openStateOf(nowMs, about(id));
    expect({ ...one, episodes: byId(one.episodes), decisions: byId(one.decisions) }).toEqual({
      ...whole,
      episodes: byId(whole.episodes.filter(({ subject }) => subject.id === id)),
      claims: whole.claims.filter(isOwn),
      decisions: byId(whole.decisions.filter(isOwn)),
      intents: whole.intents.filter(isOwn),
      // Limits of a day count the episodes of others, of which no other row is read.
      lately: new Map([
        ...whole.episodes.map(({ rule, subject, since }) => [latelyKey(rule, subject.id), { since }] as const),
        ...(whole.lately ?? []),
      ]),
      lastAttempts: new Map([...whole.lastAttempts].filter(([key]) => key.endsWith(` S-${id}`))),
    });
    expect(one.decisions.length > 0).toBe(id !== 'clean');
  });

  /** The attempts of the last day are counted for the ceilings, which are about all subjects. */
  it('is found by indexes, however much is open of others', async () => {
    const { on, db } = await scene();
    db.asked.clear();
    await on.store.openStateOf(on.clock.nowMs(), about('done'));
    const scans = [...db.asked.keys()].flatMap((sql) =>
      db
        .planOf(sql)
        .filter((detail) => /^SCAN (episodes|claims|decisions|intents|attempts|intent_episodes)\b/.test(detail)),
    );
    expect(scans).toEqual([]);
  });
});
