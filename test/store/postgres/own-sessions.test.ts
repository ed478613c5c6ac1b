// test: a pooler of transactions is refused before anything is made or locked through it, and a server is not.
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Asked, demandOwnSessions } from '../../../src/store/postgres/pool.ts';
import { hasNoPostgres, NEEDS_POSTGRES, sharedCluster } from '../../support/postgres.ts';

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
