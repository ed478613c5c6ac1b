// A replica that is promoted without the last commits: a real primary and an asynchronous replica of it. What was recorded outside shows it.
import { execFile } from 'node:child_process';
import { chownSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Position, whatIsMissing } from '../../../src/domain/lease.ts';
import { positionFiles } from '../../../src/engine/audit/position-file.ts';
import { Cluster, hasNoPostgres, NEEDS_POSTGRES, startCluster } from '../../support/postgres.ts';
import { leaseWorld, worldOn } from './lease-world.ts';

const run = promisify(execFile);
const NOW = { waitMs: 10_000, quietMs: 0 };

describe.skipIf(hasNoPostgres)(`a replica that was promoted${NEEDS_POSTGRES}`, () => {
  test('without the last commits of an organization lets it begin stopped; one that has them goes on', {
    timeout: 120_000,
  }, async () => {
    const primary = await startCluster({ isDurable: false });
    onTestFinished(() => primary.close());
    const world = await leaseWorld(primary);
    const replica = await replicaOf(primary);
    const state = mkdtempSync(join(tmpdir(), 'trustward-state-'));
    onTestFinished(() => rmSync(state, { recursive: true }));
    const positions = positionFiles((organization) => join(state, organization));
    for (const organization of ['acme', 'globex']) await run('mkdir', [join(state, organization)]);
    const take = (on: typeof world, organization: string) =>
      on.worker('w', { positions, leaseMs: 4_000 }).take(organization, NOW);
    const send = async (on: typeof world, organization: string) => {
      const lease = await take(on, organization);
      const text = lease.behind;
      await lease.transaction((client) => client.query("INSERT INTO trustward.acts (what) VALUES ('sent')"), {
        isSent: true,
      });
      await lease.release();
      return text;
    };

    expect(await send(world, 'acme')).toBeUndefined();
    expect(await send(world, 'globex')).toBeUndefined();
    expect(statSync(join(state, 'acme', 'position')).mode & 0o777).toBe(0o600);
    await caughtUp(primary, replica);
    await replica.query('SELECT pg_wal_replay_pause()');
    // The receiver has to lack it as well: what it received is replayed by a promotion.
    await primary.query('SELECT pg_terminate_backend(pid) FROM pg_stat_replication');
    await replica.query("ALTER SYSTEM SET primary_conninfo = ''");
    await replica.query('SELECT pg_reload_conf()');
    await expect.poll(() => countOf(primary, 'SELECT count(*)::int AS n FROM pg_stat_replication')).toBe(0);
    expect(await send(world, 'acme')).toBeUndefined();
    const recorded = positions.read('acme') as Position;
    await primary.stop('immediate');
    await replica.query('SELECT pg_wal_replay_resume()');
    await replica.query('SELECT pg_promote()');

    const promoted = worldOn(replica, new URL(world.url()).pathname.slice(1));
    // Others write so much that the log is longer than it was: the number of commits still shows what is missing.
    await replica.query("SELECT pg_logical_emit_message(false, 'x', repeat('x', 1000000))");
    const lease = await take(promoted, 'acme');
    expect(lease.behind).toBe(
      `a replica was promoted (timeline 1 to 2), and it was at ${recorded.lsn} when something was last sent: the last commit of acting is missing`,
    );
    await lease.recordPosition();
    await lease.release();
    expect(await send(promoted, 'acme')).toBeUndefined();
    expect(await send(promoted, 'globex')).toBeUndefined();
    expect(positions.read('globex')).toMatchObject({ timeline: 2 });
  });

  test('a copy in another cluster lets an organization begin stopped', { timeout: 300_000 }, async () => {
    const primary = await startCluster({ isDurable: false });
    onTestFinished(() => primary.close());
    const world = await leaseWorld(primary);
    const recorded = { system: '1', timeline: 1, lsn: '0/1', fence: 0, commits: 0 };
    const lease = await world
      .worker('w', {
        positions: { read: () => recorded, write: () => {} },
        leaseMs: 60_000,
      })
      .take('acme', NOW);
    expect(lease.behind).toMatch(/^this is another PostgreSQL cluster \(\d+\) than the one that it acted with \(1\)/);
    await lease.release();
  });
});

const recorded: Position = { system: '7', timeline: 2, lsn: '1/FFFFFFF0', fence: 5, commits: 9 };

test.each([
  ['nothing happened since', {}, undefined],
  ['more happened since', { lsn: '2/0', fence: 6, commits: 12 }, undefined],
  ['a replica that has everything was promoted', { timeline: 3, lsn: '2/10' }, undefined],
  ['a taking is missing', { fence: 4 }, 'the database was set back'],
  [
    'commits are missing',
    { timeline: 3, lsn: '3/0', commits: 7 },
    'a replica was promoted (timeline 2 to 3), and it was at 1/FFFFFFF0 when something was last sent: the last 2 commits',
  ],
  ['the log is shorter', { timeline: 3, lsn: '1/FFFFFF0' }, 'a replica was promoted'],
  ['it is another cluster', { system: '8' }, 'another PostgreSQL cluster'],
])('what a database lacks is seen from its position: %s', (_, found, text) => {
  const missing = whatIsMissing(recorded, { ...recorded, ...found });
  if (text === undefined) expect(missing).toBeUndefined();
  else expect(missing).toContain(text);
});

test('a position is read as it was written, and a damaged one is refused with what to do', () => {
  const folder = mkdtempSync(join(tmpdir(), 'trustward-state-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const positions = positionFiles(() => folder);
  expect(positions.read('acme')).toBeUndefined();
  positions.write('acme', recorded);
  expect(positions.read('acme')).toEqual(recorded);
  const file = join(folder, 'position');
  const whole = readFileSync(file, 'utf8');
  for (const text of [
    '',
    '{',
    'null',
    '[]',
    whole.replace('"commits":9', '"commits":"9"'),
    whole.replace('1/FFFFFFF0', 'x'),
  ]) {
    writeFileSync(file, text);
    expect(() => positions.read('acme'), text).toThrow(
      `the file \`${file}\` is damaged: check with \`trustward audit verify\``,
    );
  }
  expect(() => positionFiles(() => join(folder, 'missing')).write('acme', recorded)).toThrow(
    'cannot be written (ENOENT)',
  );
});

/** Asynchronous: the primary does not wait for it. */
async function replicaOf(primary: Cluster): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'trustward-postgres-'));
  const { uid, gid } = statSync(primary.folder);
  chownSync(folder, uid, gid);
  const data = join(folder, 'data');
  const copy = [
    'pg_basebackup',
    '-D',
    data,
    '-h',
    '127.0.0.1',
    '-p',
    String(primary.port),
    '-U',
    'postgres',
    '-R',
    '-c',
    'fast',
  ];
  const [name, ...args] = process.getuid?.() === 0 ? ['runuser', '-u', 'postgres', '--', ...copy] : copy;
  await run(name as string, args, { cwd: '/' });
  const port = await freePort();
  const file = join(data, 'postgresql.auto.conf');
  const settings = readFileSync(file, 'utf8');
  writeFileSync(file, `${settings}port = ${port}\nunix_socket_directories = '${folder}'\nhot_standby = on\n`);
  const replica = new Cluster(folder, port);
  onTestFinished(() => replica.close());
  await replica.start();
  return replica;
}

async function freePort(): Promise<number> {
  const { createServer } = await import('node:net');
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function countOf(cluster: Cluster, sql: string): Promise<number> {
  return (await cluster.query(sql)).rows[0].n;
}

async function caughtUp(primary: Cluster, replica: Cluster): Promise<void> {
  const { lsn } = (await primary.query('SELECT pg_current_wal_flush_lsn()::text AS lsn')).rows[0];
  await expect
    .poll(async () => (await replica.query(`SELECT pg_last_wal_replay_lsn() >= '${lsn}' AS is`)).rows[0].is, {
      timeout: 60_000,
    })
    .toBe(true);
}
