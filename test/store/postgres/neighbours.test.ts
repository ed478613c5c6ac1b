// test: two neighbouring versions on one schema: what a process prepared before the other one migrated is still answered, and what it writes beside
// columns and tables that it does not know is whole.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { verifyChain } from '../../../src/engine/audit/signing-key.ts';
import { composeReader } from '../../../src/runtime/compose/reader.ts';
import { composeRunReader } from '../../../src/runtime/compose/run-reader.ts';
import type { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { FakeClock } from '../../support/platform.ts';
import { hasNoPostgres, NEEDS_POSTGRES } from '../../support/postgres.ts';
import { commitOf, decision, episode, intent, plan, run } from '../../support/stored-nouns.ts';
import { InPostgres, newOrganization } from '../../support/stores.ts';

const notice = (at: number) => [{ kind: 'notice' as const, body: { at } }];

describe.skipIf(hasNoPostgres)(`two neighbouring versions${NEEDS_POSTGRES}`, () => {
  const database = new InPostgres();
  beforeAll(() => database.prepare(), 180_000);
  afterAll(() => database.end());

  test('work on when the newer one adds columns and a table: the older one reads and writes as before', async () => {
    const organization = newOrganization();
    const opened = () => database.openAs(organization, new FakeClock());
    const older = await opened();
    await older.beginRun(run, notice(0));
    await older.commitRun(
      commitOf({
        episodes: [{ ...episode, state: 'matching' }],
        intents: [intent],
        decisions: [decision],
        plan,
        notes: notice(1),
      }),
    );
    const seen = await readAll(older);
    for (const table of ['runs', 'decisions', 'audit', 'notifications'])
      await database.query(`ALTER TABLE trustward.${table} ADD COLUMN later text`);
    await database.query(`CREATE TABLE trustward.later (org text COLLATE "C" NOT NULL DEFAULT trustward.organization(), PRIMARY KEY (org));
      SELECT trustward.keep_apart('later')`);
    expect(await readAll(older)).toEqual(seen);
    await older.setStop({ at: 1, by: 'ana', reason: 'enough' }, notice(2));
    await older.demandIntact();
    // As a process of the older version that starts afterwards.
    const restarted = await opened();
    expect(await restarted.stop()).toMatchObject({ by: 'ana' });
    expect(await restarted.tableDifferences()).toEqual([]);
    expect(await verifyChain(restarted.auditFrom(1))).toMatchObject({ ok: true });
  }, 180_000);

  test('a command that only reads refuses tables that are newer by more than one version, as others do', async () => {
    const organization = newOrganization();
    await (await database.openAs(organization, new FakeClock())).close();
    const given = { kind: 'postgres', url: database.url(), password: undefined, organization, beside: 'none' } as const;
    const later = (by: number) => database.query(`UPDATE trustward.schema_version SET version = version + ${by}`);
    const reads = async () => {
      for (const compose of [composeReader, composeRunReader]) await (await compose(given)).close();
    };
    await reads();
    await later(1);
    await reads();
    await later(1);
    const refusal = { code: 'store_failed', message: expect.stringMatching(/was written by a newer version .*update/) };
    await expect(composeReader(given)).rejects.toMatchObject(refusal);
    await expect(composeRunReader(given)).rejects.toMatchObject(refusal);
    await later(-2);
  }, 180_000);
});

async function readAll(store: PostgresStore): Promise<unknown[]> {
  return [
    await store.runs(5),
    await store.intents({ ids: [intent.id] }),
    await store.plans({}, 5),
    await store.decisions({ limit: 10 }),
    await store.run(run.id),
  ];
}
