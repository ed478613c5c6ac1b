// store: the replay that a page asked for, in memory and in PostgreSQL: one at a time, and its end is seen by all who share it.
import { serialize } from 'node:v8';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REPLAY_WITHIN_MS, type ReplayBeside, type ReplayKeeper } from '../../../src/domain/replay.ts';
import { ReplayInMemory } from '../../../src/runtime/daemon/http-deps.ts';
import { PostgresReplays } from '../../../src/store/postgres/pool.ts';
import { InPostgres, newOrganization } from '../../support/stores.ts';

const postgres = new InPostgres();
const BEGUN: ReplayBeside = {
  asked: { way: 'what_if', since: '30d', rule: undefined },
  ...{ by: 'ana', startedAt: 5, finishedAt: undefined, found: undefined, fault: undefined },
};
const ENDED: ReplayBeside = { ...BEGUN, finishedAt: 9, found: { runs: 3 } };

const KEEPERS: { name: string; isMissing: boolean; open(): [ReplayKeeper, ReplayKeeper] }[] = [
  {
    name: 'memory',
    isMissing: false,
    open: () => {
      const keeper = new ReplayInMemory();
      return [keeper, keeper];
    },
  },
  {
    name: postgres.name,
    isMissing: postgres.isMissing,
    open: () => {
      const organization = newOrganization();
      return [new PostgresReplays(postgres.pool, organization), new PostgresReplays(postgres.pool, organization)];
    },
  },
];

beforeAll(() => (postgres.isMissing ? undefined : postgres.prepare()), 120_000);
afterAll(() => (postgres.isMissing ? undefined : postgres.end()));

for (const { name, isMissing, open } of KEEPERS)
  describe.skipIf(isMissing)(`a replay in ${name}`, { timeout: 120_000 }, () => {
    test('is seen by all from its beginning to its end', async () => {
      const [one, other] = open();
      expect(await other.last()).toBeUndefined();
      expect(await one.begin(BEGUN)).toBe(true);
      expect(await other.last()).toEqual(BEGUN);
      const noted = { ...BEGUN, notes: ['users were not read'] };
      await one.goesOn(BEGUN, noted);
      expect(await other.last()).toEqual(noted);
      await one.end(noted, ENDED);
      expect(await other.last()).toEqual(ENDED);
    });

    test('begins once, whoever asks, until it has ended', async () => {
      const [one, other] = open();
      const eva = { ...BEGUN, by: 'eva' };
      const begun = await Promise.all([one.begin(BEGUN), other.begin(eva)]);
      expect(begun.filter(Boolean)).toHaveLength(1);
      const first = begun[0] ? BEGUN : eva;
      expect(await one.begin(eva)).toBe(false);
      await one.end(first, { ...first, finishedAt: 9 });
      expect(await other.begin(eva)).toBe(true);
      await one.end(BEGUN, ENDED); // of another one: it changes nothing
      expect(await one.last()).toEqual(eva);
    });
  });

describe.skipIf(postgres.isMissing)(`a replay in ${postgres.name}`, { timeout: 120_000 }, () => {
  test('of one organization is none of another', async () => {
    const [alpha, beta] = [newOrganization(), newOrganization()].map((id) => new PostgresReplays(postgres.pool, id));
    expect(await alpha?.begin(BEGUN)).toBe(true);
    expect(await beta?.last()).toBeUndefined();
    expect(await beta?.begin(BEGUN)).toBe(true);
  });

  test('is kept as JSON, and one that the version before kept is read', async () => {
    const organization = newOrganization();
    const keeper = new PostgresReplays(postgres.pool, organization);
    await keeper.begin(BEGUN);
    await keeper.end(BEGUN, ENDED);
    const own = `FROM trustward.asks WHERE org = '${organization}'`;
    const { rows } = await postgres.query(`SELECT said, answer ${own}`);
    expect([rows[0].said, rows[0].answer].map((bytes) => JSON.parse(String(bytes)))).toEqual([BEGUN, ENDED]);
    const before = serialize({ ...ENDED, by: 'eva' }).toString('hex');
    await postgres.query(`UPDATE trustward.asks SET answer = '\\x${before}' WHERE org = '${organization}'`);
    expect(await keeper.last()).toEqual({ ...ENDED, by: 'eva' });
  });

  test('whose endpoint ended is named as that once its time is over, and another one may begin', async () => {
    const organization = newOrganization();
    const keeper = new PostgresReplays(postgres.pool, organization);
    await keeper.begin(BEGUN);
    const late = `${REPLAY_WITHIN_MS + 120_000} milliseconds`;
    await postgres.query(
      `UPDATE trustward.asks SET asked_at = asked_at - interval '${late}' WHERE org = '${organization}'`,
    );
    expect((await keeper.last())?.fault).toContain('the endpoint that made it has ended');
    expect(await keeper.begin({ ...BEGUN, by: 'eva' })).toBe(true);
    expect(await keeper.last()).toEqual({ ...BEGUN, by: 'eva' });
  });
});
