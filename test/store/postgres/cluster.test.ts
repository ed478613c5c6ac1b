// test: the cluster that tests of PostgreSQL work on is a real one, and nothing of it is left behind.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { hasNoPostgres, NEEDS_POSTGRES, sharedCluster, startCluster } from '../../support/postgres.ts';

describe.skipIf(hasNoPostgres)(`the PostgreSQL of tests${NEEDS_POSTGRES}`, () => {
  test('what was committed survives a kill of the server', async () => {
    const cluster = await startCluster();
    onTestFinished(() => cluster.close());
    await cluster.query('CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)');
    expect((await cluster.query('SHOW fsync')).rows).toEqual([{ fsync: 'on' }]);
    cluster.kill();
    await cluster.start();
    expect((await cluster.query('SELECT n FROM kept')).rows).toEqual([{ n: 7 }]);
    await cluster.stop('immediate');
    await expect(cluster.query('SELECT 1')).rejects.toThrow('ECONNREFUSED');
    await cluster.start();
    expect((await cluster.query('SELECT n FROM kept')).rows).toEqual([{ n: 7 }]);
  });

  test('a cluster is taken away when its owner is killed', async () => {
    const owner = spawn('sleep', ['60'], { stdio: 'ignore' });
    const cluster = await startCluster({ isDurable: false, ownerPid: owner.pid as number });
    onTestFinished(() => cluster.close());
    const pid = cluster.pid();
    owner.kill('SIGKILL');
    const isThere = () => existsSync(cluster.folder) || existsSync(`/proc/${pid}/cwd`);
    for (let tries = 0; isThere() && tries < 200; tries += 1) await sleep(100);
    expect(isThere()).toBe(false);
  });

  test('each test has a database of its own, in which texts are not in the order of bytes', async () => {
    const cluster = await sharedCluster();
    const [one, other] = [await cluster.createDatabase(), await cluster.createDatabase()];
    onTestFinished(async () => {
      await cluster.dropDatabase(one);
      await cluster.dropDatabase(other);
    });
    await cluster.query('CREATE TABLE mine (n int)', one);
    await expect(cluster.query('SELECT * FROM mine', other)).rejects.toThrow('does not exist');
    const { rows } = await cluster.query("SELECT 'a' < 'B' AS is_by_language", one);
    expect(rows).toEqual([{ is_by_language: true }]);
  });
});
