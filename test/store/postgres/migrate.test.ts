// test: PostgreSQL's tables are those of SQLite; migrating is safe to repeat; neighbouring versions live on one schema; moved rows are the same.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, test } from 'vitest';
import { linkEntry, verifyChain } from '../../../src/engine/audit/signing-key.ts';
import { composeReader } from '../../../src/runtime/compose/reader.ts';
import { composeRunReader } from '../../../src/runtime/compose/run-reader.ts';
import { ACTING_TABLES } from '../../../src/store/acting-tables.ts';
import { migratePostgres, postgresVersion, readPostgresMigrations } from '../../../src/store/postgres/organization.ts';
import type { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { moveRows } from '../../../src/store/postgres/postgres-work.ts';
import { migrate, openDatabase, readMigrations } from '../../../src/store/sqlite/database.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { everythingRead } from '../../support/everything-read.ts';
import { freshDatabase } from '../../support/memory-database.ts';
import { FakeClock } from '../../support/platform.ts';
import { CALLS, outcomeOf } from '../../support/ports-script.ts';
import {
  type Cluster,
  hasNoPostgres,
  migratedDatabase,
  NEEDS_POSTGRES,
  sharedCluster,
} from '../../support/postgres.ts';
import { commitOf, decision, episode, intent, plan, run } from '../../support/stored-nouns.ts';
import { InPostgres, newOrganization } from '../../support/stores.ts';

const latest = readPostgresMigrations().at(-1)?.version as number;
/** Who is signed in: SQLite's next number is 31. */
const OF_POSTGRES_ALONE = [30];

describe.skipIf(hasNoPostgres)(`the tables in PostgreSQL${NEEDS_POSTGRES}`, () => {
  let cluster: Cluster;
  const made: string[] = [];

  beforeAll(async () => {
    cluster = await sharedCluster();
  }, 120_000);
  afterAll(async () => {
    for (const name of made) await cluster.dropDatabase(name);
  });

  async function connected(database: string, role?: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: cluster.url(database, role) });
    await client.connect();
    onTestFinished(() => client.end());
    return client;
  }

  async function empty(): Promise<string> {
    const name = await cluster.createDatabase();
    made.push(name);
    return name;
  }

  test('have the version of the newest migration', async () => {
    const client = await connected(await empty());
    expect(await migratePostgres(client, 'here')).toBe(latest);
    expect(await migratePostgres(client, 'here')).toBe(latest);
  });

  test('have the numbers of SQLite, which has no migration of a number that is of PostgreSQL alone', () => {
    const FIRST = 29;
    const of = (all: readonly { version: number }[]) => all.map(({ version }) => version);
    const [theirs, ours] = [of(readMigrations()), of(readPostgresMigrations())];
    expect(ours).toEqual(expect.arrayContaining(theirs.filter((version) => version >= FIRST)));
    expect(theirs.filter((version) => OF_POSTGRES_ALONE.includes(version))).toEqual([]);
    expect([...new Set(ours.filter((version) => !theirs.includes(version)))]).toEqual(OF_POSTGRES_ALONE);
  });

  test('are brought up to date from the version before, and that version goes on with them', async () => {
    const client = await connected(await empty());
    const before = readPostgresMigrations().filter(({ version }) => version < latest);
    const former = before.at(-1)?.version;
    expect(await migratePostgres(client, 'here', before)).toBe(former);
    expect(await migratePostgres(client, 'here')).toBe(latest);
    expect(await migratePostgres(client, 'here', before)).toBe(latest);
  });

  test('are made once when processes start at once', async () => {
    const database = await empty();
    const clients = await Promise.all([1, 2, 3, 4].map(() => connected(database)));
    const reached = await Promise.all(clients.map((client) => migratePostgres(client, 'here')));
    expect(new Set(reached)).toEqual(new Set([latest]));
  });

  // Two neighbouring versions work on one schema. The older one computes digests of these tables by the columns that it found, and refuses triggers that
  // it does not know: a migration that needs either has to come with a way for both. What values a column may have is no part of a digest.
  test('that acting rests on, and triggers, stay as the first version made them', () => {
    const touches = (sql: string) =>
      ACTING_TABLES.some((table) =>
        new RegExp(`ALTER\\s+TABLE\\s+trustward\\.${table}\\s+(?!(DROP\\s+CONSTRAINT|ADD\\s+CHECK)\\b)`, 'i').test(sql),
      ) || /CREATE\s+(OR\s+REPLACE\s+)?(CONSTRAINT\s+)?TRIGGER|DROP\s+TRIGGER/i.test(sql);
    expect(touches('ALTER TABLE trustward.intents ADD COLUMN note text')).toBe(true);
    const later = readPostgresMigrations().filter(({ version }) => version > 29);
    expect(later.filter(({ sql }) => touches(sql)).map(({ name }) => name)).toEqual([]);
  });

  test('take nothing from a database whose migration fails', async () => {
    const client = await connected(await empty());
    const broken = { version: 90, name: '0090-broken.sql', sql: 'CREATE TABLE trustward.half (n int); SELECT 1 / 0' };
    await expect(migratePostgres(client, 'here', [...readPostgresMigrations(), broken])).rejects.toThrow(
      'division by zero',
    );
    expect(await postgresVersion(client)).toBe(0);
  });

  test('are worked on when they are newer by one version, and refused when by more', async () => {
    const client = await connected(await empty());
    await migratePostgres(client, 'here');
    await client.query('UPDATE trustward.schema_version SET version = $1', [latest + 1]);
    expect(await migratePostgres(client, 'here')).toBe(latest + 1);
    await client.query('UPDATE trustward.schema_version SET version = $1', [latest + 2]);
    await expect(migratePostgres(client, 'here:1/x')).rejects.toThrow(
      /`here:1\/x` was written by a newer version.*update/,
    );
  });

  test('are refused with the commands for an administrator when the role may not make them', async () => {
    const database = await empty();
    await cluster.query('CREATE ROLE plain_reader LOGIN').catch(() => {});
    const client = await connected(database, 'plain_reader');
    await expect(migratePostgres(client, 'here')).rejects.toMatchObject({
      code: 'store_failed',
      message: expect.stringContaining('CREATE ROLE trustward_work NOLOGIN; GRANT trustward_work TO'),
    });
  });

  test('have each column of SQLite, with its type, and belong to an organization', async () => {
    const database = await migratedDatabase(cluster);
    made.push(database);
    const sqlite = freshDatabase();
    const wanted = sqlite
      .all<{ name: string; column: string; type: string; isRequired: number; key: number }>(
        `SELECT tables.name, columns.name AS "column", columns.type, columns."notnull" AS isRequired, columns.pk AS "key"
         FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite%'`,
      )
      .map(({ name, column, type, isRequired, key }) => {
        const of = { TEXT: 'text', INTEGER: 'bigint', BLOB: 'bytea' }[type];
        return `${name}.${column} ${of} ${isRequired || key ? 'required' : ''} ${type === 'TEXT' ? 'C' : ''}`;
      });
    const { rows } = await cluster.query(
      `SELECT table_name AS name, column_name AS column, data_type AS type, is_nullable AS nullable, collation_name AS collation
       FROM information_schema.columns WHERE table_schema = 'trustward'`,
      database,
    );
    const found = rows.map(({ name, column, type, nullable, collation }) => {
      return `${name}.${column} ${type} ${nullable === 'NO' ? 'required' : ''} ${collation ?? ''}`;
    });
    expect(wanted.length).toBeGreaterThan(200);
    expect(found).toEqual(expect.arrayContaining(wanted));
    const { rows: apart } = await cluster.query(
      `SELECT relname FROM pg_class WHERE relnamespace = 'trustward'::regnamespace AND relkind = 'r'
         AND NOT (relrowsecurity AND relforcerowsecurity AND EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = pg_class.oid))
       ORDER BY relname`,
      database,
    );
    // No session of an organization may read the tokens of all, or whose a token is.
    expect(apart).toEqual(['schema_version', 'token_owners', 'tokens_of_all'].map((relname) => ({ relname })));
    const { rows: open } = await cluster.query(
      `SELECT relname FROM pg_class WHERE relname IN ('token_owners', 'tokens_of_all')
         AND has_table_privilege('trustward_work', oid, 'SELECT, INSERT, UPDATE, DELETE')`,
      database,
    );
    expect(open).toEqual([]);
    const { rows: unled } = await cluster.query(
      `SELECT indexrelid::regclass AS index FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
       WHERE relnamespace = 'trustward'::regnamespace AND indkey[0] <> (
         SELECT attnum FROM pg_attribute WHERE attrelid = indrelid AND attname = 'org')`,
      database,
    );
    expect(unled).toEqual([]);
  });
});

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

describe.skipIf(hasNoPostgres)(`moved rows${NEEDS_POSTGRES}`, () => {
  const postgres = new InPostgres();
  const dir = mkdtempSync(join(tmpdir(), 'trustward-moved-'));
  beforeAll(() => postgres.prepare(), 180_000);
  afterAll(async () => {
    await postgres.end();
    rmSync(dir, { recursive: true, force: true });
  });

  it('show the same as the file, and are followed as before', async () => {
    const clock = new FakeClock();
    const db = openDatabase(join(dir, 'trustward.db'));
    migrate(db);
    const source = new SqliteStore(db, linkEntry, clock);
    for (const [, call] of CALLS) await outcomeOf(() => call(source, clock));
    const organization = newOrganization();
    const rows = await moveRows({
      pool: postgres.pool,
      organization,
      source: db,
      clock,
      check: async (reader) => expect(await reader.tableDifferences()).toEqual([]),
      mark: () => source.markMoved('there', [{ kind: 'database.moved', body: { to: 'there' } }]),
    });
    expect([...rows].filter(([, count]) => count > 0).length).toBeGreaterThan(20);
    const moved = await postgres.openAs(organization, clock);
    expect(await everythingRead(moved, clock.nowMs())).toEqual(await everythingRead(source, clock.nowMs()));
    const [call] = CALLS.map(([, one]) => one);
    for (const store of [source, moved]) await outcomeOf(() => call?.(store, clock));
    expect(await moved.tableDifferences()).toEqual([]);
    expect((await moved.auditHead()).seq).toBe((await source.auditHead()).seq);
    await moved.close();
    await source.close();
  });

  it('of a table that PostgreSQL does not have are not left behind: nothing is moved', async () => {
    const clock = new FakeClock();
    const db = openDatabase(join(dir, 'other.db'));
    migrate(db);
    const source = new SqliteStore(db, linkEntry, clock);
    db.exec('CREATE TABLE another (id TEXT)');
    const organization = newOrganization();
    const parts = { pool: postgres.pool, organization, source: db, clock, check: async () => {}, mark: async () => {} };
    await expect(moveRows(parts)).rejects.toThrow(/different columns \(`another\.id`\)/);
    await source.close();
  });
});
