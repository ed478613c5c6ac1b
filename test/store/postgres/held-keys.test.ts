// store: requests with a key that a process answers, as two processes on one PostgreSQL know of them.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { PostgresPool } from '../../../src/store/postgres/pool.ts';
import { hasNoPostgres, NEEDS_POSTGRES } from '../../support/postgres.ts';
import { InPostgres } from '../../support/stores.ts';

describe.skipIf(hasNoPostgres)(`a request with a key${NEEDS_POSTGRES}`, () => {
  const postgres = new InPostgres();
  let one: PostgresPool;
  let other: PostgresPool;

  beforeAll(async () => {
    await postgres.prepare();
    [one, other] = [new PostgresPool(postgres.url()), new PostgresPool(postgres.url())];
  }, 120_000);
  afterAll(async () => {
    await Promise.all([one.close(), other.close()]);
    await postgres.end();
  });

  async function until(holds: () => Promise<boolean>): Promise<void> {
    while (!(await holds())) await systemClock.sleep(20);
  }

  /** The sessions that have such a lock. */
  async function sessions(): Promise<number[]> {
    const { rows } = await postgres.query(
      "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
    );
    return rows.map(({ pid }) => pid as number);
  }

  it('is answered by one at a time, and is of its organization', async () => {
    const release = await one.keys.hold('acme', 'id');
    expect(release).toBeDefined();
    expect([await other.keys.hold('acme', 'id'), await one.keys.hold('acme', 'id')]).toEqual([undefined, undefined]);
    const others = [await other.keys.hold('beta', 'id'), await other.keys.hold('acme', 'other')];
    for (const each of others) await each?.();
    await release?.();
    const again = await other.keys.hold('acme', 'id');
    expect(again).toBeDefined();
    await again?.();
    expect(await sessions()).toEqual([]);
  });

  it('is held again when the connection broke, and given back all the same', { timeout: 60_000 }, async () => {
    const release = await one.keys.hold('acme', 'id');
    const [pid] = await sessions();
    await postgres.query(`SELECT pg_terminate_backend(${pid})`);
    await until(async () => (await sessions()).some((each) => each !== pid));
    expect(await other.keys.hold('acme', 'id')).toBeUndefined();
    await release?.();
    const free = await other.keys.hold('acme', 'id');
    expect(free).toBeDefined();
    await free?.();
  });

  it('is free when the process that answered it has ended', { timeout: 60_000 }, async () => {
    const ending = new PostgresPool(postgres.url());
    expect(await ending.keys.hold('acme', 'id')).toBeDefined();
    expect(await other.keys.hold('acme', 'id')).toBeUndefined();
    await ending.close();
    await until(async () => (await sessions()).length === 0);
    const release = await other.keys.hold('acme', 'id');
    expect(release).toBeDefined();
    await release?.();
  });
});
