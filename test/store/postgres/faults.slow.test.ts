// test: each way in which PostgreSQL fails has one clear line with its remedy, and a kind for `/readyz`; it commits nothing by halves, and the
// store goes on once the server does.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { StoreFault } from '../../../src/domain/database.ts';
import { linkEntry, verifyChain } from '../../../src/engine/audit/signing-key.ts';
import { addressOf } from '../../../src/runtime/compose/postgres.ts';
import { PostgresPool } from '../../../src/store/postgres/pool.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { FakeClock } from '../../support/platform.ts';
import { type Cluster, hasNoPostgres, migratedDatabase, NEEDS_POSTGRES, startCluster } from '../../support/postgres.ts';
import { newOrganization } from '../../support/stores.ts';

const PASSWORD = 'pass-wörd/1';
const notice = [{ kind: 'notice' as const, body: {} }];

const withPassword = (url: string) =>
  addressOf({ kind: 'postgres', url, password: PASSWORD, organization: 'any', beside: 'any' });

describe.skipIf(hasNoPostgres)(`a fault of PostgreSQL${NEEDS_POSTGRES}`, () => {
  let cluster: Cluster;
  let database: string;
  let store: PostgresStore;
  let organization: string;
  let seen: (StoreFault['kind'] | 'wrote')[];
  beforeAll(async () => {
    cluster = await startCluster({ isDurable: true });
    database = await migratedDatabase(cluster);
  }, 180_000);
  afterAll(() => cluster.close());
  beforeEach(async () => {
    seen = [];
    organization = newOrganization();
    store = await opened();
  });

  async function opened(statementMs?: number): Promise<PostgresStore> {
    const watch = {
      failed: ({ kind }: { kind: StoreFault['kind'] }) => seen.push(kind),
      wrote: () => seen.push('wrote'),
    };
    const pool = new PostgresPool(withPassword(cluster.url(database)), {
      watch,
      ...(statementMs !== undefined && { statementMs }),
    });
    onTestFinished(() => pool.close());
    return PostgresStore.open({ pool, organization, link: linkEntry, clock: new FakeClock() });
  }

  /** As people read it, without the password. */
  async function faultOf(work: Promise<unknown> | undefined): Promise<{ code: string; message: string }> {
    const fault = await (work as Promise<unknown>).then(
      () => ({ code: 'none', message: 'it did not fail' }),
      (error) => error as { code: string; message: string },
    );
    expect(fault.message).not.toMatch(/pass-w|\n/);
    return fault;
  }

  const asAdmin = (sql: string) => cluster.query(sql, database);

  test('that is gone is named, and is over when it is back', async () => {
    await store.appendAudit(notice);
    await cluster.stop('immediate');
    const fault = await faultOf(store.appendAudit(notice));
    expect(fault.code).toBe('store_failed');
    expect(fault.message).toMatch(
      new RegExp(`database \`127.0.0.1:${cluster.port}/${database}\`.*it does not answer, or ended the session`),
    );
    expect((await faultOf(store.auditHead())).message).toContain('ECONNREFUSED');
    expect(seen.at(-1)).toBe('gone');
    await cluster.start();
    await store.appendAudit(notice);
    expect(seen.at(-1)).toBe('wrote');
    expect(await verifyChain(store.auditFrom(1))).toMatchObject({ ok: true, entries: 2 });
  });

  test('that is killed leaves each unit whole or undone', async () => {
    const works = Array.from({ length: 60 }, () =>
      store.appendAudit(notice).then(
        () => true,
        () => false,
      ),
    );
    while ((await store.auditHead().catch(() => ({ seq: 99 }))).seq < 5);
    cluster.kill();
    const done = (await Promise.all(works)).filter(Boolean).length;
    await cluster.start();
    const { seq } = await store.auditHead();
    expect(seq).toBeGreaterThanOrEqual(done);
    expect(seq).toBeLessThanOrEqual(done + 1); // an answer to COMMIT may be lost
    await store.appendAudit(notice);
    await store.demandIntact();
    expect(await verifyChain(store.auditFrom(1))).toMatchObject({ ok: true, entries: seq + 1 });
  });

  test('whose session is ended by an administrator is named, and the next unit has a new one', async () => {
    const ended = faultOf(store.appendAudit(Array.from({ length: 5_000 }, () => notice[0] as (typeof notice)[0])));
    const sql =
      "SELECT count(pg_terminate_backend(pid)) AS n FROM pg_stat_activity WHERE application_name = 'trustward' AND datname = current_database() AND state <> 'idle'";
    while (Number((await asAdmin(sql)).rows[0].n) === 0);
    expect((await ended).message).toContain('it does not answer, or ended the session');
    expect((await store.auditHead()).seq).toBe(0);
    await store.appendAudit(notice);
    expect((await store.auditHead()).seq).toBe(1);
  });

  test('that is slow is named, and nothing is committed', async () => {
    const hasty = await opened(300);
    const client = new pg.Client({ connectionString: cluster.url(database, 'postgres') });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query(`BEGIN; SELECT 1 FROM trustward.organizations WHERE org = '${organization}' FOR UPDATE`);
    expect(await faultOf(hasty.appendAudit(notice))).toMatchObject({
      code: 'store_failed',
      message: expect.stringContaining('(57014): it answered too late'),
    });
    expect(seen.at(-1)).toBe('slow');
    expect((await store.auditHead()).seq).toBe(0);
    await client.query('ROLLBACK');
    await hasty.appendAudit(notice);
    expect(seen.at(-1)).toBe('wrote');
  });

  test('that is read-only is named, and can still be read', async () => {
    await cluster.query(`ALTER DATABASE ${database} SET default_transaction_read_only = on`);
    const reader = await opened().catch((error) => error);
    expect(reader).toMatchObject({
      code: 'store_failed',
      message: expect.stringContaining('(25006): it is read-only'),
    });
    expect(seen.at(-1)).toBe('read_only');
    await cluster.query(`ALTER DATABASE ${database} RESET default_transaction_read_only`);
    await (await opened()).appendAudit(notice);
  });

  test('that has no connection left is named', async () => {
    await asAdmin('ALTER ROLE trustward CONNECTION LIMIT 0');
    onTestFinished(async () => void (await asAdmin('ALTER ROLE trustward CONNECTION LIMIT -1')));
    const fault = await faultOf(opened());
    expect(fault.message).toContain('(53300): it has no connection or memory left');
    expect(seen.at(-1)).toBe('crowded');
  });

  test.each([
    ['disk_full', 'full', 'its disk is full'],
    ['out_of_memory', 'crowded', 'no connection or memory left'],
    ['deadlock_detected', 'busy', 'another session holds'],
    ['data_corrupted', 'corrupt', 'its files are damaged'],
    ['io_error', 'io', 'its disk does not answer'],
  ])('%s has its kind and its remedy, and takes the unit back', async (condition, kind, text) => {
    await asAdmin(`CREATE OR REPLACE FUNCTION trustward.failing() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION USING ERRCODE = '${condition}'; END $$;
      CREATE TRIGGER failing BEFORE INSERT ON trustward.audit FOR EACH ROW EXECUTE FUNCTION trustward.failing()`);
    const fault = await faultOf(store.setStop({ at: 1, by: 'ana', reason: 'so' }, notice));
    await asAdmin('DROP TRIGGER failing ON trustward.audit');
    expect(fault.message).toContain(text);
    expect(seen.at(-1)).toBe(kind);
    expect(await store.stop()).toBeUndefined();
    await store.setStop({ at: 1, by: 'ana', reason: 'so' }, notice);
  });

  test.each([
    ['no-such-address', 'TRUSTWARD_DB is no address of PostgreSQL'],
    ['mysql://me:pass-word@host/db', 'TRUSTWARD_DB is no address of PostgreSQL'],
  ])('of the address %s names what to write, and not the address', async (url, text) => {
    const fault = await faultOf((async () => new PostgresPool(url))());
    expect(fault).toMatchObject({ code: 'config', message: expect.stringContaining(text) });
  });

  test.each([
    ['a database that is not there', () => cluster.url('nowhere'), 'there is no such database'],
    ['a role that is not there', () => cluster.url(database, 'nobody'), 'it refuses the login'],
    ['a port where nobody listens', () => 'postgres://me@127.0.0.1:1/x', 'it does not answer'],
    [
      'a server without encryption',
      () => `${cluster.url(database)}?sslmode=verify-full`,
      'no encrypted connection was made',
    ],
  ])('of %s is named', async (_, url, text) => {
    const pool = new PostgresPool(withPassword(url()));
    onTestFinished(() => pool.close());
    expect((await faultOf(pool.migrate())).message).toContain(text);
  });

  test('of a login without the password that the server asks for is named', async () => {
    const rules = join(cluster.folder, 'data', 'pg_hba.conf');
    const before = readFileSync(rules, 'utf8');
    await asAdmin("CREATE ROLE secretive LOGIN PASSWORD 'right'");
    writeFileSync(rules, `host all secretive 127.0.0.1/32 scram-sha-256\n${before}`);
    onTestFinished(() => writeFileSync(rules, before));
    await asAdmin('SELECT pg_reload_conf()');
    const pool = new PostgresPool(cluster.url(database, 'secretive'));
    onTestFinished(() => pool.close());
    expect((await faultOf(pool.migrate())).message).toContain('it refuses the login: check the role');
  });

  test('of a database that has another schema of this name is named', async () => {
    const name = await cluster.createDatabase();
    await cluster.query('CREATE SCHEMA trustward', name, 'trustward');
    const pool = new PostgresPool(cluster.url(name));
    onTestFinished(() => pool.close());
    expect((await faultOf(pool.migrate())).message).toContain('a schema `trustward` of something else');
  });

  test('that is read-only is noticed without a change, and is over when a commit succeeds', async () => {
    await cluster.query(`ALTER DATABASE ${database} SET default_transaction_read_only = on`);
    const watch = {
      failed: ({ kind }: { kind: string }) => seen.push(kind as 'gone'),
      wrote: () => seen.push('wrote'),
    };
    const pool = new PostgresPool(cluster.url(database), { watch });
    onTestFinished(() => pool.close());
    expect((await faultOf(pool.demandWritable())).message).toContain('(25006): it is read-only');
    expect((await faultOf(pool.tryToWrite())).message).toContain('(25006): it is read-only');
    expect(seen).toEqual(['read_only', 'read_only']);
    await cluster.query(`ALTER DATABASE ${database} RESET default_transaction_read_only`);
    const other = new PostgresPool(cluster.url(database), { watch });
    onTestFinished(() => other.close());
    await other.demandWritable();
    await other.tryToWrite();
    expect(seen.at(-1)).toBe('wrote');
  });

  test('settings of the role that would end units early do not count', async () => {
    await asAdmin(
      "ALTER ROLE trustward SET statement_timeout = '20s'; ALTER ROLE trustward SET default_transaction_isolation = 'serializable'",
    );
    onTestFinished(async () => void (await asAdmin('ALTER ROLE trustward RESET ALL')));
    const pool = new PostgresPool(cluster.url(database));
    onTestFinished(() => pool.close());
    const shown = await pool.query<Record<string, string>>(
      "SELECT current_setting('statement_timeout') AS time, current_setting('transaction_isolation') AS isolation",
    );
    expect(shown).toEqual([{ time: '1min', isolation: 'read committed' }]);
  });

  test('of a database without our tables names how they are made', async () => {
    const pool = new PostgresPool(cluster.url(await cluster.createDatabase()));
    onTestFinished(() => pool.close());
    const fault = await faultOf(PostgresStore.open({ pool, organization, link: linkEntry, clock: new FakeClock() }));
    expect(fault.message).toContain('has no tables of this version');
    await pool.migrate();
    await PostgresStore.open({ pool, organization, link: linkEntry, clock: new FakeClock() });
  });
});
