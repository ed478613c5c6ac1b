// The lease of an organization on a real PostgreSQL: who has it, how it is given on, and what ends it.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { PostgresLease } from '../../../src/store/postgres/lease.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { hasNoPostgres, NEEDS_POSTGRES, sharedCluster } from '../../support/postgres.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { clockApart, type LeaseWorld, leaseWorld, newOrganization } from './lease-world.ts';

const NOW = { waitMs: 0, quietMs: 0 };
const PATIENT = { waitMs: 20_000, quietMs: 100 };

describe.skipIf(hasNoPostgres)(`the lease of an organization${NEEDS_POSTGRES}`, () => {
  let world: LeaseWorld;
  beforeAll(async () => {
    world = await leaseWorld(await sharedCluster());
  }, 120_000);
  afterAll(() => world.close());

  function released(lease: PostgresLease): PostgresLease {
    onTestFinished(() => lease.release());
    return lease;
  }

  const lostOf = (lease: PostgresLease) =>
    lease.lost.aborted ? undefined : new Promise((resolve) => lease.lost.addEventListener('abort', resolve));
  const act = (lease: PostgresLease) =>
    lease.transaction((client) =>
      client.query("INSERT INTO trustward.acts (fence, what) VALUES ($1, 'sent')", [lease.fence]),
    );
  const acts = (organization: string) =>
    world.rows<{ fence: string }>('SELECT fence::text FROM trustward.acts WHERE org = $1', [organization]);

  test('of two that ask at the same time one gets it, and the other is told who has it', async () => {
    const organization = newOrganization();
    const both = await Promise.allSettled(
      ['one', 'other'].map((holder) => world.worker(holder).take(organization, NOW)),
    );
    const won = both.filter((each) => each.status === 'fulfilled').map(({ value }) => released(value));
    const refused = both.filter((each) => each.status === 'rejected').map(({ reason }) => reason);
    expect(won).toHaveLength(1);
    expect(refused).toMatchObject([{ code: 'store_locked' }]);
    expect(refused[0].message).toMatch(
      new RegExp(
        `organization \`${organization}\` cannot be acted on now: \`(one|other)\` acts for it \\(fence 1, last sign of life 0 s ago\\)`,
      ),
    );
    expect(won[0]?.mayWrite()).toBe(true);
  });

  test('of one organization keeps nobody from another', async () => {
    const [one, other] = await Promise.all(
      [newOrganization(), newOrganization()].map(async (name) => released(await world.worker('w').take(name, NOW))),
    );
    expect([one?.mayWrite(), other?.mayWrite()]).toEqual([true, true]);
  });

  test('that was released is given on at once, with a greater fence', async () => {
    const organization = newOrganization();
    const first = await world.worker('one', { leaseMs: 60_000 }).take(organization, NOW);
    await act(first);
    await first.release();
    expect(first.mayWrite()).toBe(false);
    expect(first.lost.aborted).toBe(false);
    await expect(act(first)).rejects.toMatchObject({ code: 'stopped' });
    const startMs = systemClock.monotonicMs();
    const second = released(
      await world.worker('two', { leaseMs: 60_000 }).take(organization, { waitMs: 0, quietMs: 60_000 }),
    );
    expect(systemClock.monotonicMs() - startMs).toBeLessThan(20_000);
    expect([first.fence, second.fence]).toEqual([1, 2]);
    expect(await acts(organization)).toEqual([{ fence: '1' }]);
  });

  test('whose holder ended without releasing it is given on after lease and quiet period, and not before', async () => {
    const organization = newOrganization();
    const first = await world.worker('one').take(organization, NOW);
    await world.rows('SELECT pg_terminate_backend(backend_pid) FROM trustward.leases WHERE org = $1', [organization]);
    await lostOf(first);
    expect(first.lost.reason).toMatchObject({ code: 'store_failed' });
    expect(first.lost.reason.message).toContain(
      `organization \`${organization}\` is not acted on here any more: database \`127.0.0.1:`,
    );
    expect(first.mayWrite()).toBe(false);
    await expect(act(first)).rejects.toBe(first.lost.reason);
    const startMs = systemClock.monotonicMs();
    const second = released(await world.worker('two').take(organization, { waitMs: 0, quietMs: 700 }));
    expect(systemClock.monotonicMs() - startMs).toBeGreaterThanOrEqual(1_700);
    expect(second.fence).toBe(2);
  });

  test('is waited for again when whoever waited ends: what it waited for may still be on its way', async () => {
    const organization = newOrganization();
    const first = await world.worker('one').take(organization, NOW);
    await world.rows('SELECT pg_terminate_backend(backend_pid) FROM trustward.leases WHERE org = $1', [organization]);
    await lostOf(first);
    const stop = new AbortController();
    const second = world.worker('two').take(organization, { waitMs: 0, quietMs: 60_000, signal: stop.signal });
    await expect.poll(() => fenceOf(organization)).toBe('2');
    stop.abort();
    await expect(second).rejects.toMatchObject({ code: 'stopped' });
    const startMs = systemClock.monotonicMs();
    released(await world.worker('three').take(organization, { waitMs: 5_000, quietMs: 200 }));
    expect(systemClock.monotonicMs() - startMs).toBeGreaterThanOrEqual(1_200);
  });

  const fenceOf = async (organization: string) =>
    (await world.rows<{ fence: string }>('SELECT fence::text FROM trustward.leases WHERE org = $1', [organization]))[0]
      ?.fence;

  test('is kept through a transaction that is longer than it, as long as its statements are answered', async () => {
    const organization = newOrganization();
    const lease = released(await world.worker('one', { leaseMs: 600 }).take(organization, NOW));
    const rival = world.worker('two', { leaseMs: 600 }).take(organization, { waitMs: 1_500, quietMs: 0 });
    const refused = expect(rival).rejects.toMatchObject({ code: 'store_locked' });
    await lease.transaction(async (client) => {
      for (const startMs = systemClock.monotonicMs(); systemClock.monotonicMs() - startMs < 1_800; )
        await client.query('SELECT pg_sleep(0.05)');
    });
    await refused;
    expect(lease.lost.aborted).toBe(false);
    await act(lease);
    expect(lease.mayWrite()).toBe(true);
  });

  test('commits nothing once somebody else has a greater fence', async () => {
    const organization = newOrganization();
    const lease = await world.worker('one').take(organization, NOW);
    await act(lease);
    await world.rows('UPDATE trustward.leases SET fence = fence + 1 WHERE org = $1', [organization]);
    await expect(act(lease)).rejects.toMatchObject({ code: 'store_locked' });
    expect(lease.lost.reason).toMatchObject({
      code: 'store_locked',
      message: `organization \`${organization}\` is acted on by another worker now: nothing more is sent or committed by this one`,
    });
    expect(lease.mayWrite()).toBe(false);
    expect(await acts(organization)).toHaveLength(1);
  });

  test('does not take a commit that PostgreSQL undid for one that was made', async () => {
    const organization = newOrganization();
    const lease = released(await world.worker('one').take(organization, NOW));
    const swallowing = lease.transaction(async (client) => {
      await client.query("INSERT INTO trustward.acts (fence, what) VALUES ($1, 'sent')", [lease.fence]);
      await client.query('SELECT 1 / 0').catch(() => {});
    });
    await expect(swallowing).rejects.toThrow('the transaction was not committed');
    expect(await acts(organization)).toEqual([]);
    await act(lease);
    expect(await acts(organization)).toHaveLength(1);
  });

  test('is lost when its connection is cut, and when it hangs', async () => {
    for (const fault of ['cut', 'hang'] as const) {
      const proxy = await TcpProxy.start(Number(new URL(world.url()).port));
      onTestFinished(() => proxy.close());
      const organization = newOrganization();
      const lease = await world.worker('one', { port: proxy.port }).take(organization, NOW);
      proxy[fault]();
      await lostOf(lease);
      expect(lease.mayWrite(), fault).toBe(false);
      await expect(act(lease)).rejects.toBe(lease.lost.reason);
      const second = released(await world.worker('two').take(organization, PATIENT));
      expect(second.fence, fault).toBe(2);
    }
  });

  test('of a holder whose machine answers nothing is taken over: its session is ended', async () => {
    const organization = newOrganization();
    const proxy = await TcpProxy.start(Number(new URL(world.url()).port));
    onTestFinished(() => proxy.close());
    const first = await world.worker('one', { port: proxy.port, leaseMs: 60_000 }).take(organization, NOW);
    // The holder believes in a minute, and its recorded lease is a second: it is silent for the database alone.
    await world.rows('UPDATE trustward.leases SET lease_ms = 1000 WHERE org = $1', [organization]);
    proxy.hang();
    const startMs = systemClock.monotonicMs();
    const second = released(await world.worker('two').take(organization, PATIENT));
    expect(systemClock.monotonicMs() - startMs).toBeGreaterThanOrEqual(1_900);
    expect(second.fence).toBe(2);
    proxy.resume();
    await lostOf(first);
    await expect(act(first)).rejects.toMatchObject({ code: 'store_failed' });
    expect(await acts(organization)).toEqual([]);
  });

  test('ends no session but the recorded one, although it has the same number', async () => {
    const organization = newOrganization();
    const first = released(await world.worker('one', { leaseMs: 60_000 }).take(organization, NOW));
    await world.rows(
      "UPDATE trustward.leases SET backend_start = backend_start - interval '1 second', beaten_at = '2020-01-01', lease_ms = 1 WHERE org = $1",
      [organization],
    );
    const refused = world.worker('two').take(organization, { waitMs: 500, quietMs: 0 });
    await expect(refused).rejects.toThrow(/session \d+ of PostgreSQL holds its lock/);
    await act(first);
    expect(first.lost.aborted).toBe(false);
  });

  test('goes by the clock of the database: workers whose clocks are an hour apart agree', async () => {
    const organization = newOrganization();
    const hour = 3_600_000;
    const [early, late] = [-hour, hour].map((wallMs) =>
      world.worker(`${wallMs}`, { clock: clockApart({ wallMs, monotonicMs: wallMs / 7 }) }),
    );
    const first = (await early?.take(organization, NOW)) as PostgresLease;
    await expect(late?.take(organization, { waitMs: 1_500, quietMs: 0 })).rejects.toMatchObject({
      code: 'store_locked',
    });
    expect(first.mayWrite()).toBe(true);
    await first.release();
    const second = (await late?.take(organization, NOW)) as PostgresLease;
    await expect(early?.take(organization, { waitMs: 1_500, quietMs: 0 })).rejects.toMatchObject({
      code: 'store_locked',
    });
    expect(second.mayWrite()).toBe(true);
    await second.release();
  });

  test('is lost when the wall clock shows that the machine was suspended, or was set back', async () => {
    for (const wallMs of [950, -5_000]) {
      const clock = clockApart({ wallMs: 0 });
      const lease = await world.worker('one', { clock }).take(newOrganization(), NOW);
      expect(lease.mayWrite()).toBe(true);
      clock.apart.wallMs = wallMs;
      expect(lease.mayWrite()).toBe(false);
      clock.apart.wallMs = 0;
      expect(lease.mayWrite()).toBe(false);
      // A write that was refused leaves no outcome: what was committed as sent stays so, and the next actor reads it back.
      await expect(act(lease)).rejects.toMatchObject({ code: 'store_failed' });
      await lease.release();
    }
  });
});
