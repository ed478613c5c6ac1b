// The lease of an organization on a real PostgreSQL: who has it, how it is given on, and what ends it.
import { afterAll, beforeAll, describe, type TestContext, test } from 'vitest';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import type { PostgresLease } from '../../../src/store/postgres/lease.ts';
import { hasNoPostgres, NEEDS_POSTGRES, sharedCluster } from '../../support/postgres.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { clockApart, type LeaseWorld, leaseWorld, newOrganization } from './lease-world.ts';

const NOW = { waitMs: 0, quietMs: 0 };
const PATIENT = { waitMs: 60_000, quietMs: 100 };
/** Of one that must not end while the machine has no time for it, and of one whose end is waited for. */
const [LONG, SHORT] = [{ leaseMs: 60_000 }, { leaseMs: 3_000 }];

// Most of these wait for a lease to end: they wait at the same time.
describe.skipIf(hasNoPostgres).concurrent(`the lease of an organization${NEEDS_POSTGRES}`, () => {
  let world: LeaseWorld;
  beforeAll(async () => {
    world = await leaseWorld(await sharedCluster());
  }, 120_000);
  afterAll(() => world.close());

  function released(lease: PostgresLease, onTestFinished: TestContext['onTestFinished']): PostgresLease {
    onTestFinished(() => lease.release());
    return lease;
  }

  const lostOf = (lease: PostgresLease) =>
    lease.lost.aborted ? undefined : new Promise((resolve) => lease.lost.addEventListener('abort', resolve));
  const act = (lease: PostgresLease) =>
    lease.transaction((client) =>
      client.query("INSERT INTO trustward.acts (fence, what) VALUES ($1, 'sent')", [lease.fence]),
    );
  /** The holder loses its session, and what is recorded of its lease has ended. */
  const end = async (organization: string) => {
    await world.rows('UPDATE trustward.leases SET lease_ms = 1 WHERE org = $1', [organization]);
    await world.rows('SELECT pg_terminate_backend(backend_pid) FROM trustward.leases WHERE org = $1', [organization]);
  };
  const acts = (organization: string) =>
    world.rows<{ fence: string }>('SELECT fence::text FROM trustward.acts WHERE org = $1', [organization]);

  test('of two that ask at the same time one gets it, and the other is told who has it', async ({
    expect,
    onTestFinished,
  }) => {
    const organization = newOrganization();
    const both = await Promise.allSettled(
      ['one', 'other'].map((holder) => world.worker(holder, LONG).take(organization, NOW)),
    );
    const won = both.filter((each) => each.status === 'fulfilled').map(({ value }) => released(value, onTestFinished));
    const refused = both.filter((each) => each.status === 'rejected').map(({ reason }) => reason);
    expect(won).toHaveLength(1);
    expect(refused).toMatchObject([{ code: 'store_locked' }]);
    expect(refused[0].message).toMatch(
      new RegExp(
        `organization \`${organization}\` cannot be acted on now: \`(one|other)\` acts for it \\(fence 1, last sign of life \\d+ s ago\\)`,
      ),
    );
    expect(won[0]?.mayWrite()).toBe(true);
  });

  test('of one organization keeps nobody from another', async ({ expect, onTestFinished }) => {
    const [one, other] = await Promise.all(
      [newOrganization(), newOrganization()].map(async (name) =>
        released(await world.worker('w', LONG).take(name, NOW), onTestFinished),
      ),
    );
    expect([one?.mayWrite(), other?.mayWrite()]).toEqual([true, true]);
  });

  test('that was released is given on at once, with a greater fence', async ({ expect, onTestFinished }) => {
    const organization = newOrganization();
    const first = await world.worker('one', LONG).take(organization, NOW);
    await act(first);
    await first.release();
    expect(first.mayWrite()).toBe(false);
    expect(first.lost.aborted).toBe(false);
    await expect(act(first)).rejects.toMatchObject({ code: 'stopped' });
    // One that waited for the quiet period would wait until the test ends.
    const quiet = { waitMs: 0, quietMs: 3_600_000 };
    const second = released(await world.worker('two', LONG).take(organization, quiet), onTestFinished);
    expect([first.fence, second.fence]).toEqual([1, 2]);
    expect(await acts(organization)).toEqual([{ fence: '1' }]);
  });

  test('whose holder ended without releasing it is given on after lease and quiet period, and not before', async ({
    expect,
    onTestFinished,
  }) => {
    const organization = newOrganization();
    const first = await world.worker('one', LONG).take(organization, NOW);
    await end(organization);
    await lostOf(first);
    expect(first.lost.reason).toMatchObject({ code: 'store_failed' });
    expect(first.lost.reason.message).toContain(
      `organization \`${organization}\` is not acted on here any more: database \`127.0.0.1:`,
    );
    expect(first.mayWrite()).toBe(false);
    await expect(act(first)).rejects.toBe(first.lost.reason);
    const startMs = systemClock.monotonicMs();
    const second = released(
      await world.worker('two', SHORT).take(organization, { waitMs: 60_000, quietMs: 700 }),
      onTestFinished,
    );
    expect(systemClock.monotonicMs() - startMs).toBeGreaterThanOrEqual(SHORT.leaseMs + 700);
    expect(second.fence).toBe(2);
  });

  test('is waited for again when whoever waited ends: what it waited for may still be on its way', async ({
    expect,
    onTestFinished,
  }) => {
    const organization = newOrganization();
    const first = await world.worker('one', LONG).take(organization, NOW);
    await end(organization);
    await lostOf(first);
    const stop = new AbortController();
    const long = { waitMs: 60_000, quietMs: 3_600_000, signal: stop.signal };
    const second = world.worker('two', LONG).take(organization, long);
    await expect.poll(() => fenceOf(organization)).toBe('2');
    await world.rows('UPDATE trustward.leases SET lease_ms = 1 WHERE org = $1', [organization]);
    stop.abort();
    await expect(second).rejects.toMatchObject({ code: 'stopped' });
    const startMs = systemClock.monotonicMs();
    released(await world.worker('three', SHORT).take(organization, { waitMs: 60_000, quietMs: 200 }), onTestFinished);
    expect(systemClock.monotonicMs() - startMs).toBeGreaterThanOrEqual(SHORT.leaseMs + 200);
  });

  const fenceOf = async (organization: string) =>
    (await world.rows<{ fence: string }>('SELECT fence::text FROM trustward.leases WHERE org = $1', [organization]))[0]
      ?.fence;

  test('is kept through a transaction that is longer than it, as long as its statements are answered', async ({
    expect,
    onTestFinished,
  }) => {
    const organization = newOrganization();
    const lease = released(await world.worker('one', SHORT).take(organization, NOW), onTestFinished);
    const rival = world.worker('two', SHORT).take(organization, { waitMs: 1.5 * SHORT.leaseMs, quietMs: 0 });
    const refused = expect(rival).rejects.toMatchObject({ code: 'store_locked' });
    await lease.transaction(async (client) => {
      for (const startMs = systemClock.monotonicMs(); systemClock.monotonicMs() - startMs < 2 * SHORT.leaseMs; )
        await client.query('SELECT pg_sleep(0.05)');
    });
    await refused;
    expect(lease.lost.aborted).toBe(false);
    await act(lease);
    expect(lease.mayWrite()).toBe(true);
  });

  test('commits nothing once somebody else has a greater fence', async ({ expect }) => {
    const organization = newOrganization();
    const lease = await world.worker('one', LONG).take(organization, NOW);
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

  test('does not take a commit that PostgreSQL undid for one that was made', async ({ expect, onTestFinished }) => {
    const organization = newOrganization();
    const lease = released(await world.worker('one', LONG).take(organization, NOW), onTestFinished);
    const swallowing = lease.transaction(async (client) => {
      await client.query("INSERT INTO trustward.acts (fence, what) VALUES ($1, 'sent')", [lease.fence]);
      await client.query('SELECT 1 / 0').catch(() => {});
    });
    await expect(swallowing).rejects.toThrow('the transaction was not committed');
    expect(await acts(organization)).toEqual([]);
    await act(lease);
    expect(await acts(organization)).toHaveLength(1);
  });

  test.for(['cut', 'hang'] as const)(
    'is lost when its connection breaks (%s)',
    async (fault, { expect, onTestFinished }) => {
      const proxy = await TcpProxy.start(Number(new URL(world.url()).port));
      onTestFinished(() => proxy.close());
      const organization = newOrganization();
      const lease = await world.worker('one', { port: proxy.port, ...SHORT }).take(organization, NOW);
      proxy[fault]();
      await lostOf(lease);
      expect(lease.mayWrite()).toBe(false);
      await expect(act(lease)).rejects.toBe(lease.lost.reason);
      const second = released(await world.worker('two', SHORT).take(organization, PATIENT), onTestFinished);
      expect(second.fence).toBe(2);
    },
  );

  test('of a holder whose machine answers nothing is taken over: its session is ended', async ({
    expect,
    onTestFinished,
  }) => {
    const organization = newOrganization();
    const proxy = await TcpProxy.start(Number(new URL(world.url()).port));
    onTestFinished(() => proxy.close());
    const first = await world.worker('one', { port: proxy.port, ...LONG }).take(organization, NOW);
    // The holder believes in a minute, and its recorded lease is a second: it is silent for the database alone.
    await world.rows('UPDATE trustward.leases SET lease_ms = 1000 WHERE org = $1', [organization]);
    proxy.hang();
    const startMs = systemClock.monotonicMs();
    const second = released(await world.worker('two', SHORT).take(organization, PATIENT), onTestFinished);
    expect(systemClock.monotonicMs() - startMs).toBeGreaterThanOrEqual(SHORT.leaseMs + PATIENT.quietMs);
    expect(second.fence).toBe(2);
    proxy.resume();
    await lostOf(first);
    await expect(act(first)).rejects.toMatchObject({ code: 'store_failed' });
    expect(await acts(organization)).toEqual([]);
  });

  test('ends no session but the recorded one, although it has the same number', async ({ expect, onTestFinished }) => {
    const organization = newOrganization();
    const first = released(await world.worker('one', LONG).take(organization, NOW), onTestFinished);
    await world.rows(
      "UPDATE trustward.leases SET backend_start = backend_start - interval '1 second', beaten_at = '2020-01-01', lease_ms = 1 WHERE org = $1",
      [organization],
    );
    const refused = world.worker('two', LONG).take(organization, { waitMs: 500, quietMs: 0 });
    await expect(refused).rejects.toThrow(/session \d+ of PostgreSQL holds its lock/);
    await act(first);
    expect(first.lost.aborted).toBe(false);
  });

  test('goes by the clock of the database: workers whose clocks are an hour apart agree', async ({ expect }) => {
    const organization = newOrganization();
    const hour = 3_600_000;
    const [early, late] = [-hour, hour].map((wallMs) =>
      world.worker(`${wallMs}`, { clock: clockApart({ wallMs, monotonicMs: wallMs / 7 }), ...LONG }),
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

  test('is lost when the wall clock shows that the machine was suspended, or was set back', async ({ expect }) => {
    for (const wallMs of [0.95 * LONG.leaseMs, -5_000]) {
      const clock = clockApart({ wallMs: 0 });
      const lease = await world.worker('one', { clock, ...LONG }).take(newOrganization(), NOW);
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
