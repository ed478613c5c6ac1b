// test: of two organizations in one database, neither sees, changes or counts a row of the other: through the ports, and by a connection of
// its own that names another organization, or none.
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { WORK_ROLE } from '../../../src/store/postgres/organization.ts';
import { ownerOf } from '../../../src/store/postgres/tokens-of-all.ts';
import { everythingRead } from '../../support/everything-read.ts';
import { CALLS, outcomeOf } from '../../support/ports-script.ts';
import { hasNoPostgres, NEEDS_POSTGRES, OWNER } from '../../support/postgres.ts';
import { claim, commitOf, decision, episode, intent, plan, run } from '../../support/stored-nouns.ts';
import { InPostgres, newOrganization, type OpenedStore } from '../../support/stores.ts';

describe.skipIf(hasNoPostgres)(`two organizations in one database${NEEDS_POSTGRES}`, () => {
  const database = new InPostgres();
  let one: OpenedStore & { organization: string };
  let other: OpenedStore & { organization: string };
  beforeAll(() => database.prepare(), 180_000);
  afterAll(() => database.end());
  beforeEach(async () => {
    [one, other] = [await database.open(), await database.open()];
  });

  /** As an application that logged in by itself, and not through the store. */
  async function connected(organization?: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: database.url(OWNER) });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query('SET search_path = trustward, pg_catalog');
    if (organization !== undefined) await client.query("SELECT set_config('trustward.org', $1, false)", [organization]);
    return client;
  }

  async function filled(): Promise<void> {
    await one.store.beginRun(run, []);
    await one.store.commitRun(
      commitOf({ episodes: [episode], intents: [intent], claims: [claim], decisions: [decision], plan }),
    );
  }

  /** The last two are of the endpoint: a session that works for an organization may not read them. */
  const OF_NO_ORGANIZATION = ['schema_version', 'token_owners', 'tokens_of_all'];
  const tables = async () => {
    const sql = `SELECT relname AS name FROM pg_class WHERE relnamespace = 'trustward'::regnamespace AND relkind = 'r'
      AND relname NOT IN (${OF_NO_ORGANIZATION.map((name) => `'${name}'`).join(', ')}) ORDER BY 1`;
    return (await database.query(sql)).rows.map(({ name }) => name as string);
  };

  test('one shows nothing of what the other does, whatever that is', async () => {
    const empty = await everythingRead(other.store, other.clock.nowMs());
    for (const [, call] of CALLS) await outcomeOf(() => call(one.store, one.clock));
    expect(await everythingRead(other.store, other.clock.nowMs())).toEqual(empty);
    expect((await one.store.auditHead()).seq).toBeGreaterThan(300);
  });

  test('both have the same ids, numbers and audit when they do the same', async () => {
    for (const { store } of [one, other]) {
      await store.beginRun(run, [{ kind: 'notice', body: {} }]);
      await store.commitRun(commitOf({ episodes: [episode], intents: [intent], decisions: [decision], plan }));
      await store.markSent({ intentId: 'i1', run: 'r1', notes: [{ kind: 'notice', body: {} }] });
    }
    const [first, second] = await Promise.all(
      [one, other].map(({ store, clock }) => everythingRead(store, clock.nowMs())),
    );
    expect(second).toEqual(first);
  });

  test('an id of the other is unknown', async () => {
    await filled();
    expect(await one.store.intent('i1')).toMatchObject({ id: 'i1' });
    expect(await other.store.intent('i1')).toBeUndefined();
    expect(await other.store.plan('p1')).toBeUndefined();
    expect(await other.store.run('r1')).toBeUndefined();
    expect(await other.store.decisionsById(['x1'])).toEqual([]);
    await expect(other.store.settle({ intentId: 'i1', outcome: 'succeeded', notes: [] } as never)).rejects.toThrow();
    expect(await one.store.intent('i1')).toMatchObject({ status: 'planned' });
  });

  test('a connection that names none sees no row of any table, and writes none', async () => {
    await filled();
    const client = await connected();
    for (const table of await tables()) {
      await expect(client.query(`SELECT * FROM ${table}`), table).rejects.toThrow(
        'unrecognized configuration parameter',
      );
    }
    await client.query("SELECT set_config('trustward.org', '', false)");
    for (const table of await tables()) {
      expect((await client.query(`SELECT count(*)::int AS n FROM ${table}`)).rows, table).toEqual([{ n: 0 }]);
    }
    await expect(client.query("INSERT INTO meta (key, value) VALUES ('a', 'b')")).rejects.toThrow();
    await expect(client.query("INSERT INTO meta (org, key, value) VALUES ('', 'a', 'b')")).rejects.toThrow(
      'row-level security',
    );
  });

  test('a session that works for one reads neither the tokens of all nor whose a token is', async () => {
    const client = await connected(one.organization);
    await client.query(`SET ROLE ${WORK_ROLE}`);
    for (const table of ['token_owners', 'tokens_of_all'])
      await expect(client.query(`SELECT * FROM ${table}`), table).rejects.toThrow('permission denied');
  });

  test('a session that works for one cannot say whose a token of another is', async () => {
    const client = await connected(newOrganization());
    await client.query(`SET ROLE ${WORK_ROLE}`);
    await client.query('CREATE TEMPORARY TABLE copied (hash text, org text, revoked_at bigint)');
    const trigger = `CREATE TRIGGER copying AFTER INSERT ON copied FOR EACH ROW EXECUTE FUNCTION trustward.note_token_owner()`;
    await expect(client.query(trigger)).rejects.toThrow('permission denied');
    // The trigger of the owner goes on: a token of this organization has an owner.
    const { pool } = database;
    const hash = 'ab'.repeat(32);
    const token = { id: 'own', name: 'own', scope: 'read', createdAt: 1, createdBy: 'ana', hash };
    await one.store.tokens().save({ ...token, expiresAt: undefined, revokedAt: undefined } as never, []);
    expect(await ownerOf(pool, hash)).toBe(one.organization);
  });

  test('a connection that names another one sees, changes and adds no row of the first', async () => {
    await filled();
    const before = await everythingRead(one.store, one.clock.nowMs());
    const client = await connected(newOrganization());
    for (const table of await tables()) {
      expect((await client.query(`SELECT count(*)::int AS n FROM ${table}`)).rows, table).toEqual([{ n: 0 }]);
      if (/^(audit|checkpoints|audit_archives)$/.test(table)) continue;
      expect((await client.query(`DELETE FROM ${table}`)).rowCount, table).toBe(0);
    }
    expect((await client.query("UPDATE intents SET status = 'settled'")).rowCount).toBe(0);
    const stolen = `INSERT INTO meta (org, key, value) VALUES ('${one.organization}', 'a', 'b')`;
    await expect(client.query(stolen)).rejects.toThrow('row-level security');
    await expect(client.query(`UPDATE organizations SET org = '${one.organization}'`)).resolves.toMatchObject({
      rowCount: 0,
    });
    expect(await everythingRead(one.store, one.clock.nowMs())).toEqual(before);
  });

  test('the role that the store works as owns nothing, makes nothing, and passes no wall', async () => {
    const client = await connected(one.organization);
    await client.query('SET ROLE trustward_work');
    await expect(client.query('ALTER TABLE intents DISABLE ROW LEVEL SECURITY')).rejects.toThrow('must be owner');
    await expect(client.query('DROP TABLE meta')).rejects.toThrow('must be owner');
    await expect(client.query('TRUNCATE audit')).rejects.toThrow('permission denied');
    await expect(client.query('CREATE TABLE trustward.mine (n int)')).rejects.toThrow('permission denied');
    const { rows } = await client.query("SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = 'trustward_work'");
    expect(rows).toEqual([{ rolsuper: false, rolbypassrls: false }]);
  });

  test('a connection that served one organization shows the next one nothing of it', async () => {
    await filled();
    const reads = Array.from({ length: 40 }, (_, at) => (at % 2 ? one : other).store.intent('i1'));
    const found = await Promise.all(reads);
    expect(found.map((intent) => intent?.id)).toEqual(
      Array.from({ length: 40 }, (_, at) => (at % 2 ? 'i1' : undefined)),
    );
  });
});
