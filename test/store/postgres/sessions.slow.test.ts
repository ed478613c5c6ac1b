// store: what organizations in PostgreSQL rest on: a real cluster, no pooler of transactions, every text, channels that are heard, keys that are held.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, test } from 'vitest';
import type { Listening } from '../../../src/domain/lease.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { listening } from '../../../src/store/postgres/lease.ts';
import { type Asked, demandOwnSessions, PostgresPool } from '../../../src/store/postgres/pool.ts';
import { PostgresWork } from '../../../src/store/postgres/postgres-work.ts';
import { fromStored, numbered, toStored } from '../../../src/store/postgres/shared-tables.ts';
import { hasNoPostgres, NEEDS_POSTGRES, sharedCluster, startCluster } from '../../support/postgres.ts';
import { InPostgres, newOrganization } from '../../support/stores.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

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

describe.skipIf(hasNoPostgres)(`two connections${NEEDS_POSTGRES}`, () => {
  async function connected(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: (await sharedCluster()).url('postgres', 'postgres') });
    await client.connect();
    onTestFinished(() => client.end());
    return client;
  }

  test('to a server have a session each', async () => {
    await demandOwnSessions(await connected(), await connected(), 'db/x');
  });

  test('that are given one session in turn are those of a pooler, also when another client comes between', async () => {
    const [session, others] = [await connected(), await connected()];
    let turns = 0;
    const one: Asked = { query: (sql) => session.query(sql) };
    const other: Asked = { query: (sql) => (++turns < 3 ? others : session).query(sql) };
    await expect(demandOwnSessions(one, other, 'db/x')).rejects.toMatchObject({
      code: 'config',
      message: expect.stringMatching(
        /^database `db\/x` is reached through a pooler of transactions, [^\n]*name the server/,
      ),
    });
    expect(turns).toBe(3);
  });
});

describe("every text of JavaScript is stored in PostgreSQL and comes back, as a value and within a document; and a statement's `?` are numbered where they are values", () => {
  /** With half pairs, the character 0, the mark, and what looks like an escape of JSON. */
  const odd = fc.array(
    fc.oneof(
      fc.constantFrom(
        '\0',
        '\u0001',
        '\ud83d',
        '\ude00',
        '\u{1f600}',
        '\\',
        '\\u0000',
        '\\ud800',
        '"',
        '0',
        '1',
        'd800',
        'a',
        'é',
      ),
      fc.string({ unit: 'binary' }),
    ),
    { maxLength: 12 },
  );
  const text = odd.map((parts) => parts.join(''));

  test('a text that is made storable has neither the character 0 nor half of a pair, and comes back', () => {
    fc.assert(
      fc.property(text, (one) => {
        const stored = toStored(one);
        expect(stored).not.toContain('\0');
        expect(Buffer.from(stored).toString()).toBe(stored);
        expect(fromStored(stored)).toBe(one);
      }),
    );
  });

  test('texts that PostgreSQL has are stored as they are, and keep their order', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        expect(toStored(one)).toBe(one);
        expect(toStored(`${one}\0`) < toStored(`${one}a${other}`)).toBe(true);
      }),
    );
  });

  test.each([
    ['SELECT ? WHERE a = ? LIMIT ?', 'SELECT $1 WHERE a = $2 LIMIT $3'],
    ["SELECT '?', 'it''s ?', ? -- what?\n, \"a?\", ?", "SELECT '?', 'it''s ?', $1 -- what?\n, \"a?\", $2"],
  ])('the values of `%s` are numbered', (sql, expected) => {
    expect(numbered(sql)).toBe(expected);
  });

  describe.skipIf(hasNoPostgres)(`PostgreSQL${NEEDS_POSTGRES}`, () => {
    const database = new InPostgres();
    beforeAll(() => database.prepare(), 180_000);
    afterAll(() => database.end());

    test('gives every text back, as a value, as an element of a list and as a member of a document', async () => {
      const db = new PostgresWork(database.pool, newOrganization());
      const sql = `SELECT CAST(? AS TEXT) AS value, (SELECT value FROM json_each(?)) AS element, json_extract(?, '$.a[0].b') AS member,
      (SELECT inner_one.value ->> '$.b' FROM json_each(?, '$.a') AS outer_one, json_each(outer_one.value) AS inner_one) AS nested`;
      await fc.assert(
        fc.asyncProperty(text, async (one) => {
          const documents = [[one], { a: [{ b: one }] }, { a: [[{ b: one }]] }].map((document) =>
            JSON.stringify(document),
          );
          const found = await db.reading(db.get(sql, one, ...documents));
          expect(found).toEqual({ value: one, element: one, member: one, nested: one });
        }),
        { numRuns: 400 },
      );
    });
  });
});

describe('hearing a channel of PostgreSQL over a connection that breaks in each way that connections break', () => {
  const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  /** All pauses of the listener are short. */
  const clock = { sleep: (_ms: number, signal?: AbortSignal) => sleep(20, undefined, { signal }) };

  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function opened() {
    const cluster = await sharedCluster();
    const name = await cluster.createDatabase();
    const url = new URL(cluster.url(name));
    const direct = new PostgresPool(url.href);
    const proxy = await TcpProxy.start(Number(url.port));
    url.port = String(proxy.port);
    const pool = new PostgresPool(url.href);
    closing.push(
      () => cluster.dropDatabase(name),
      () => direct.close(),
      () => proxy.close(),
      () => pool.close(),
    );
    return { direct, proxy, pool };
  }

  /** What is heard, and how often something may have been missed. */
  function hearing() {
    const all: string[] = [];
    let misses = 0;
    let noticed = Promise.withResolvers<void>();
    const notice = () => {
      noticed.resolve();
      noticed = Promise.withResolvers();
    };
    return {
      all,
      heard: (payload: string) => {
        all.push(payload);
        notice();
      },
      missed: () => {
        misses += 1;
        notice();
      },
      until: async (payload: string) => {
        while (!all.includes(payload)) await noticed.promise;
      },
      again: async () => {
        for (const least = misses + 2; misses < least; ) await noticed.promise;
      },
    };
  }

  describe.skipIf(hasNoPostgres)(`a channel${NEEDS_POSTGRES}`, () => {
    it.each([
      ['is cut', async ({ proxy }) => proxy.cut()],
      [
        'is ended by the server',
        async ({ direct }) => {
          await direct.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' OR query = 'SELECT 1'",
          );
        },
      ],
      [
        'hangs without a word, and is ended meanwhile',
        async ({ direct, proxy }) => {
          proxy.hang();
          await direct.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' OR query = 'SELECT 1'",
          );
          while (proxy.accepted < 2) await sleep(50);
          proxy.resume();
        },
      ],
    ] as [string, (world: Awaited<ReturnType<typeof opened>>) => Promise<void>][])(
      'is heard again after its connection %s, and what was told between counts as missed',
      async (_how, breaks) => {
        const world = await opened();
        const ear = hearing();
        const listened: Listening = listening({ pool: world.pool, clock, log: silent }, 'told', ear);
        closing.push(() => listened.close());
        await ear.again();
        await world.direct.query("SELECT pg_notify('told', 'before')");
        await ear.until('before');
        await breaks(world);
        while (world.proxy.accepted < 2) await sleep(20);
        await ear.again();
        await world.direct.query("SELECT pg_notify('told', 'after')");
        await ear.until('after');
        expect(ear.all).toEqual(['before', 'after']);
      },
      60_000,
    );
  });
});

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
