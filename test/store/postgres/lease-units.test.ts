// The store of an organization on the connection of its lease: what acts commits with the lease or not at all.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { linkEntry, verifyChain } from '../../../src/engine/audit/signing-key.ts';
import { PostgresPool } from '../../../src/store/postgres/pool.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { FakeClock } from '../../support/platform.ts';
import { hasNoPostgres, NEEDS_POSTGRES, sharedCluster } from '../../support/postgres.ts';
import { commitOf, decision, episode, intent, plan, run } from '../../support/stored-nouns.ts';
import { type LeaseWorld, leaseWorld, memoryPositions, newOrganization } from './lease-world.ts';

describe.skipIf(hasNoPostgres)(`a store that acts${NEEDS_POSTGRES}`, () => {
  let world: LeaseWorld;
  let pool: PostgresPool;
  beforeAll(async () => {
    world = await leaseWorld(await sharedCluster());
    pool = new PostgresPool(world.url());
  }, 120_000);
  afterAll(async () => {
    await pool.close();
    await world.close();
  });

  async function acting() {
    const organization = newOrganization();
    const positions = memoryPositions();
    const leases = world.worker('w', { positions, open: (name) => pool.open(name), leaseMs: 60_000 });
    const lease = await leases.take(organization, { waitMs: 0, quietMs: 0 });
    onTestFinished(() => lease.release());
    const store = await PostgresStore.open({
      pool,
      organization,
      link: linkEntry,
      clock: new FakeClock(),
      units: lease,
    });
    await store.beginRun(run, []);
    await store.commitRun(commitOf({ episodes: [episode], intents: [intent], decisions: [decision], plan }));
    return { organization, positions, lease, store };
  }

  const sent = {
    intentId: intent.id,
    run: undefined,
    notes: [{ kind: 'intent.sent' as const, body: { intent: intent.id } }],
  };

  test('records where the database is before a call, and only then', async () => {
    const { organization, positions, lease, store } = await acting();
    expect(positions.all.size).toBe(0);
    await store.markSent(sent);
    const [row] = await world.rows<{ commits: string }>('SELECT commits::text FROM trustward.leases WHERE org = $1', [
      organization,
    ]);
    expect(positions.read(organization)).toMatchObject({
      timeline: 1,
      fence: lease.fence,
      commits: Number(row?.commits),
    });
    expect(await store.intentsIn('sent')).toHaveLength(1);
    expect(await verifyChain(store.auditFrom(1))).toMatchObject({ ok: true });
  });

  test('commits nothing, neither rows nor audit, once another worker has a greater fence', async () => {
    const { organization, lease, store, positions } = await acting();
    const before = await store.audit({ limit: 100 });
    await world.rows('UPDATE trustward.leases SET fence = fence + 1 WHERE org = $1', [organization]);
    await expect(store.markSent(sent)).rejects.toMatchObject({ code: 'store_locked' });
    expect(lease.mayWrite()).toBe(false);
    expect(positions.all.size).toBe(0);
    expect(await store.intentsIn('sent')).toEqual([]);
    expect(await store.audit({ limit: 100 })).toEqual(before);
    await expect(store.appendAudit([{ kind: 'notice', body: { text: 'x' } }])).rejects.toBe(lease.lost.reason);
  });
});
