// The lease of an organization when processes are killed and paused, and when PostgreSQL itself ends.
import { spawn } from 'node:child_process';
import { on } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { built } from '../../support/built.ts';
import { type Cluster, hasNoPostgres, NEEDS_POSTGRES, startCluster } from '../../support/postgres.ts';
import { type LeaseWorld, leaseWorld, newOrganization } from './lease-world.ts';

const HOLDER = built('test/store/postgres/lease-holder.ts');
const LEASE_MS = 2_500;
const QUIET_MS = 400;

describe.skipIf(hasNoPostgres)(`a lease${NEEDS_POSTGRES}`, () => {
  let cluster: Cluster;
  let world: LeaseWorld;
  beforeAll(async () => {
    cluster = await startCluster({ isDurable: false });
    world = await leaseWorld(cluster);
  }, 120_000);
  afterAll(() => cluster.close());

  /** A process that acts; `said` resolves with the next line that has this name in it. */
  async function holder(organization: string) {
    const args = [HOLDER, world.url(), organization, String(LEASE_MS), String(QUIET_MS)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const lines = on(createInterface(child.stdout), 'line', { close: ['close'] });
    const said = async (name: string): Promise<Record<string, unknown>> => {
      for (;;) {
        const { value, done } = await lines.next();
        if (done) throw new Error(`the process ended before it said ${name}`);
        const said = JSON.parse(value[0]) as Record<string, unknown>;
        if (name in said) return said;
      }
    };
    return { child, said, fence: (await said('fence')).fence };
  }

  const actsOf = (organization: string) =>
    world.rows<{ fence: string; n: string }>(
      'SELECT fence::text, count(*)::text AS n FROM trustward.acts WHERE org = $1 GROUP BY fence ORDER BY fence',
      [organization],
    );
  const takeAfter = async (organization: string) => {
    const startMs = systemClock.monotonicMs();
    const leases = world.worker('successor', { leaseMs: LEASE_MS });
    const lease = await leases.take(organization, { waitMs: 60_000, quietMs: QUIET_MS });
    onTestFinished(() => lease.release());
    return { lease, tookMs: systemClock.monotonicMs() - startMs };
  };

  test('whose process is killed is taken over after lease and quiet period', async () => {
    const organization = newOrganization();
    const { child } = await holder(organization);
    await expect.poll(() => actsOf(organization)).toMatchObject([{ fence: '1' }]);
    child.kill('SIGKILL');
    // The kernel closes the connection: nobody waits until the holder counts as silent, which this one never does.
    const beaten = "UPDATE trustward.leases SET beaten_at = clock_timestamp() + interval '1 day' WHERE org = $1";
    await world.rows(beaten, [organization]);
    const { lease, tookMs } = await takeAfter(organization);
    expect(lease.fence).toBe(2);
    expect(tookMs).toBeGreaterThanOrEqual(LEASE_MS + QUIET_MS);
    expect(lease.mayWrite()).toBe(true);
  });

  test('whose process is paused for longer than it is taken over, and the process that goes on writes and commits nothing', async () => {
    const organization = newOrganization();
    const { child, said } = await holder(organization);
    await expect.poll(() => actsOf(organization)).toMatchObject([{ fence: '1' }]);
    child.kill('SIGSTOP');
    const { lease, tookMs } = await takeAfter(organization);
    expect(tookMs).toBeGreaterThanOrEqual(LEASE_MS + QUIET_MS);
    const before = await actsOf(organization);
    await lease.transaction((client) => client.query("INSERT INTO trustward.acts (fence, what) VALUES (2, 'sent')"));
    child.kill('SIGCONT');
    expect(await said('gapMs')).toMatchObject({ mayWrite: false });
    const end = await said('lost');
    expect(end).toMatchObject({ mayWrite: false });
    expect(end.commit).toBe(end.lost);
    expect(await actsOf(organization)).toEqual([...before, { fence: '2', n: '1' }]);
  });

  test('that nobody took over while its process was paused is lost as well', async () => {
    const organization = newOrganization();
    const { child, said } = await holder(organization);
    await expect.poll(() => actsOf(organization)).toMatchObject([{ fence: '1' }]);
    child.kill('SIGSTOP');
    await sleep(LEASE_MS + 300);
    child.kill('SIGCONT');
    expect(await said('gapMs')).toMatchObject({ mayWrite: false });
    expect((await said('lost')).lost).toContain(
      `PostgreSQL did not confirm for ${LEASE_MS / 1_000} s that organization \`${organization}\` is acted on here`,
    );
    expect((await takeAfter(organization)).lease.fence).toBe(2);
  });

  test.each(['fast', 'kill'] as const)('is lost, and names why, when PostgreSQL restarts (%s)', async (how) => {
    const organization = newOrganization();
    const { said } = await holder(organization);
    await expect.poll(() => actsOf(organization)).toMatchObject([{ fence: '1' }]);
    if (how === 'kill') cluster.kill();
    else await cluster.stop('fast');
    expect(await said('lost')).toMatchObject({
      lost: expect.stringContaining(
        `organization \`${organization}\` is not acted on here any more: database \`127.0.0.1:`,
      ),
      mayWrite: false,
    });
    await expect(world.worker('successor').take(organization, { waitMs: 0, quietMs: 0 })).rejects.toBeDefined();
    await cluster.start();
    const { lease } = await takeAfter(organization);
    expect(lease.fence).toBe(2);
    expect(lease.mayWrite()).toBe(true);
  });
});
