// store: what processes share, in memory and in PostgreSQL: who is signed in, and the replay that a page asked for.
import { randomBytes } from 'node:crypto';
import { serialize } from 'node:v8';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Caller, PersonSession, SignInStore } from '../../../src/domain/endpoint-token.ts';
import { REPLAY_WITHIN_MS, type ReplayBeside, type ReplayKeeper } from '../../../src/domain/replay.ts';
import { SignedInMemory } from '../../../src/faces/http/sign-in.ts';
import { ReplayInMemory } from '../../../src/runtime/daemon/own-process.ts';
import { PostgresPool, PostgresReplays } from '../../../src/store/postgres/pool.ts';
import { PostgresSignIns } from '../../../src/store/postgres/tokens-of-all.ts';
import { fakeClock } from '../../support/filled-store.ts';
import { InPostgres, newOrganization } from '../../support/stores.ts';

describe('who is signed in, in memory and in PostgreSQL', () => {
  const MINUTE = 60_000;
  const HOUR = 60 * MINUTE;
  const ANA: Caller = { name: 'ana (token ci)', scope: 'approve', token: randomBytes(32).toString('hex') };
  const HERE: Caller = { name: 'ana (page)', scope: 'admin', token: undefined };
  const newHash = () => randomBytes(32).toString('hex');

  interface Opened {
    store: SignInStore;
    /** Of another process that knows the same, where there is one. */
    other: SignInStore;
    pass(ms: number): Promise<void>;
  }

  const postgres = new InPostgres();
  const second = { pool: undefined as PostgresPool | undefined };

  const STORES = [
    {
      name: 'memory',
      isMissing: false,
      open: (): Opened => {
        const clock = fakeClock();
        const store = new SignedInMemory(clock);
        return { store, other: store, pass: async (ms) => clock.advance(ms) };
      },
    },
    {
      name: postgres.name,
      isMissing: postgres.isMissing,
      open: (): Opened => {
        const organization = newOrganization();
        const pass = async (ms: number) => {
          const back = (column: string) => `${column} = ${column} - interval '${ms} milliseconds'`;
          await postgres.query(
            `UPDATE trustward.sign_ins SET ${back('made_at')}, ${back('used_at')} WHERE org = '${organization}'`,
          );
        };
        return {
          store: new PostgresSignIns(postgres.pool, organization),
          other: new PostgresSignIns(second.pool as PostgresPool, organization),
          pass,
        };
      },
    },
  ];

  beforeAll(async () => {
    if (postgres.isMissing) return;
    await postgres.prepare();
    second.pool = new PostgresPool(postgres.url());
  }, 120_000);
  afterAll(async () => {
    await second.pool?.close();
    if (!postgres.isMissing) await postgres.end();
  });

  for (const { name, isMissing, open } of STORES)
    describe.skipIf(isMissing)(`sign-ins in ${name}`, { timeout: 120_000 }, () => {
      const callersOf = async (store: SignInStore, ...hashes: string[]) =>
        (await store.find('session', hashes)).map(({ caller }) => caller);

      test('are found by their hash and kind, at each process', async () => {
        const { store, other } = open();
        const [link, session] = [newHash(), newHash()];
        await store.add('link', link, ANA);
        await store.add('session', session, HERE);
        expect(await other.find('link', [link, session, newHash()])).toMatchObject([{ hash: link, caller: ANA }]);
        expect(await callersOf(other, link, session)).toEqual([HERE]);
        expect(await other.find('session', [])).toEqual([]);
      });

      test('begin once with a link, and only with a link', async () => {
        const { store, other } = open();
        const [link, session, again] = [newHash(), newHash(), newHash()];
        await store.add('link', link, ANA);
        expect(await other.redeem(link, session)).toEqual(ANA);
        expect(await store.redeem(link, again)).toBeUndefined();
        expect(await store.redeem(session, again)).toBeUndefined();
        expect(await store.find('link', [link])).toEqual([]);
        expect(await callersOf(store, session, again)).toEqual([ANA]);
      });

      test('begin once when many ask with one link at the same time', async () => {
        const { store, other } = open();
        for (let round = 0; round < 5; round += 1) {
          const link = newHash();
          await store.add('link', link, ANA);
          const sessions = Array.from({ length: 8 }, newHash);
          const asked = sessions.map((session, index) => (index % 2 === 0 ? store : other).redeem(link, session));
          const winners = (await Promise.all(asked)).filter((caller) => caller !== undefined);
          expect(winners).toEqual([ANA]);
          expect(await callersOf(store, ...sessions)).toEqual([ANA]);
        }
      });

      test('end at each process once one is told so', async () => {
        const { store, other } = open();
        const [mine, yours] = [newHash(), newHash()];
        await store.add('session', mine, ANA);
        await store.add('session', yours, ANA);
        expect(await other.remove('session', mine)).toBe(true);
        expect(await other.remove('session', mine)).toBe(false);
        expect((await store.find('session', [mine, yours])).map(({ hash }) => hash)).toEqual([yours]);
      });

      const person: PersonSession = {
        ...{ issuer: 'https://id.example.com', sub: 'u1', sid: 's1', groups: ['a'], endsAt: 9, askedAt: 1 },
        ...{ sealed: 'x', seen: [], askingUntil: 0 },
      };

      test('of persons are kept with what changes of them, and end by what the provider names', async () => {
        const { store, other } = open();
        const hashes = [newHash(), newHash(), newHash(), newHash()] as const;
        const persons = [person, { ...person, sid: 's2' }, { ...person, sid: undefined }, { ...person, sub: 'u2' }];
        for (const [index, hash] of hashes.entries()) await store.add('session', hash, ANA, persons[index]);
        await other.keep(hashes[0], { groups: ['b'], endsAt: 10 });
        const [kept] = await store.find('session', [hashes[0]]);
        expect(kept?.person).toEqual({ ...person, groups: ['b'], endsAt: 10 });
        const left = async () => (await store.find('session', hashes)).map(({ hash }) => hashes.indexOf(hash)).sort();
        const { issuer } = person;
        expect(await other.endOfPerson({ issuer: 'https://else.example.com', sub: 'u1', sid: undefined })).toBe(0);
        expect(await other.endOfPerson({ issuer, sub: undefined, sid: 's2' })).toBe(1);
        expect(await left()).toEqual([0, 2, 3]);
        expect(await other.endOfPerson({ issuer, sub: 'u1', sid: 's1' })).toBe(2);
        expect(await left()).toEqual([3]);
        expect(await other.endOfPerson({ issuer, sub: 'u2', sid: undefined })).toBe(1);
      });

      test('of persons are asked about by one at a time, and what counts once counts once', async () => {
        const { store, other, pass } = open();
        const [session, begun] = [newHash(), newHash()];
        await store.add('session', session, ANA, person);
        const turns = await Promise.all([store, other, store].map((each) => each.takeTurn(session, 100, 200)));
        expect(turns.filter(Boolean)).toHaveLength(1);
        expect([await other.takeTurn(session, 199, 300), await other.takeTurn(session, 200, 300)]).toEqual([
          false,
          true,
        ]);
        const seen = await Promise.all([store, other].map((each, index) => each.see(session, `org-${index}`)));
        const again = await Promise.all([store, other].map((each) => each.see(session, 'org-1')));
        const [kept] = await store.find('session', [session]);
        expect([seen, again, kept?.person?.seen.sort()]).toEqual([
          [true, true],
          [false, false],
          ['org-0', 'org-1'],
        ]);
        const added = await Promise.all([store, other].map((each) => each.add('ended', begun, ANA)));
        expect(added.sort()).toEqual([false, true]);
        await store.add('begun', session.replace(/^./, 'f'), ANA);
        await pass(10 * MINUTE);
        expect(await store.remove('begun', session.replace(/^./, 'f'))).toBe(false);
      });

      test('are over in time: a link after ten minutes, a session after twelve hours, or two without a use', async () => {
        const { store, pass } = open();
        const [link, used, idle] = [newHash(), newHash(), newHash()];
        await store.add('link', link, ANA);
        await store.add('session', used, ANA);
        await store.add('session', idle, ANA);
        await pass(9 * MINUTE);
        expect(await store.find('link', [link])).toHaveLength(1);
        await pass(MINUTE);
        expect(await store.find('link', [link])).toEqual([]);
        expect(await store.redeem(link, newHash())).toBeUndefined();
        await pass(HOUR + 49 * MINUTE);
        await store.noteUse(used);
        expect(await callersOf(store, used, idle)).toHaveLength(2);
        await pass(MINUTE);
        expect((await store.find('session', [used, idle])).map(({ hash }) => hash)).toEqual([used]);
        for (let hours = 3; hours < 12; hours += 1) {
          await pass(HOUR);
          await store.noteUse(used);
          expect(await callersOf(store, used)).toHaveLength(1);
        }
        await pass(HOUR);
        await store.noteUse(used);
        expect(await callersOf(store, used)).toEqual([]);
      });

      test('show how long they were not used', async () => {
        const { store, pass } = open();
        const session = newHash();
        await store.add('session', session, ANA);
        await pass(30 * MINUTE);
        expect((await store.find('session', [session]))[0]?.unusedMs).toBeGreaterThanOrEqual(30 * MINUTE);
        await store.noteUse(session);
        expect((await store.find('session', [session]))[0]?.unusedMs).toBeLessThan(30 * MINUTE);
      });

      test('of one token are bounded, and take no place of another', async () => {
        const { store } = open();
        const kept = newHash();
        await store.add('link', kept, HERE);
        const links = Array.from({ length: 103 }, newHash);
        for (const link of links) await store.add('link', link, ANA);
        const found = new Set((await store.find('link', [kept, ...links])).map(({ hash }) => hash));
        expect([kept, ...links].filter((hash) => !found.has(hash))).toEqual(links.slice(0, 3));
      });
    });

  describe.skipIf(postgres.isMissing)(`sign-ins in ${postgres.name}`, { timeout: 120_000 }, () => {
    const ofAll = () => new PostgresSignIns(postgres.pool, '*');

    test('of one organization are none of another, nor of all', async () => {
      const [alpha, beta] = [newOrganization(), newOrganization()].map((id) => new PostgresSignIns(postgres.pool, id));
      const [link, session] = [newHash(), newHash()];
      await alpha?.add('link', link, ANA);
      await alpha?.add('session', session, ANA);
      for (const stranger of [beta, ofAll()]) {
        expect(await stranger?.find('session', [session])).toEqual([]);
        expect(await stranger?.redeem(link, newHash())).toBeUndefined();
        await stranger?.remove('session', session);
        await stranger?.noteUse(session);
      }
      expect(await alpha?.find('link', [link])).toHaveLength(1);
      expect(await alpha?.find('session', [session])).toHaveLength(1);
    });

    test('end with their token the moment that it is revoked or expires, also one of all organizations', async () => {
      const { store: own, organization } = await postgres.open();
      const store = new PostgresSignIns(postgres.pool, organization);
      const hash = newHash();
      const token = { id: newHash(), name: 'ci', scope: 'read' as const, hash, createdAt: 1, createdBy: 'ana' };
      const whole = { ...token, expiresAt: undefined, revokedAt: undefined, revokedBy: undefined, usedAt: undefined };
      await own.tokens().save(whole, []);
      const ofOwn = { name: 'ci', scope: 'read' as const, token: hash };
      const provider = { name: 'provider:desk', scope: 'read' as const, token: newHash() };
      const [first, second, third, link] = [newHash(), newHash(), newHash(), newHash()];
      await store.add('session', first, ofOwn);
      await store.add('link', link, ofOwn);
      await store.add('session', second, provider);
      await ofAll().add('session', third, provider);
      const open = async () => {
        const all = [...(await store.find('session', [first, second])), ...(await ofAll().find('session', [third]))];
        const found = new Set(all.map((each) => each.hash));
        return [first, second, third].filter((each) => found.has(each));
      };
      const add = `INSERT INTO trustward.tokens_of_all (id, name, scope, hash, created_at, created_by) VALUES`;
      await postgres.query(`${add} ('${newHash()}', '${newHash()}', 'read', '${provider.token}', 1, 'ana')`);
      expect(await open()).toEqual([first, second, third]);
      await own.tokens().save({ ...whole, revokedAt: 2, revokedBy: 'ana' }, []);
      expect(await open()).toEqual([second, third]);
      expect(await store.find('link', [link])).toEqual([]);
      expect(await store.redeem(link, newHash())).toBeUndefined();
      await postgres.query(`UPDATE trustward.tokens_of_all SET expires_at = 5 WHERE hash = '${provider.token}'`);
      expect(await open()).toEqual([]);
      // What is over goes with the next one that is added.
      await store.add('session', newHash(), HERE);
      const { rows } = await postgres.query(`SELECT name FROM trustward.sign_ins WHERE org = '${organization}'`);
      expect(rows).toEqual([{ name: HERE.name }]);
    });

    test('are looked for without writing', async () => {
      const store = new PostgresSignIns(postgres.pool, newOrganization());
      const session = newHash();
      await store.add('session', session, ANA);
      const version = async () =>
        (await postgres.query(`SELECT xmin, ctid FROM trustward.sign_ins WHERE hash = '${session}'`)).rows;
      const before = await version();
      for (let count = 0; count < 5; count += 1) expect(await store.find('session', [session])).toHaveLength(1);
      await store.noteUse(session); // within a minute of the last one
      expect(await version()).toEqual(before);
    });

    test('wait for no unit of work of their organization', async () => {
      const { organization } = await postgres.open();
      const store = new PostgresSignIns(postgres.pool, organization);
      await postgres.pool.transaction('BEGIN', async (client) => {
        await client.query(`SELECT 1 FROM trustward.organizations WHERE org = '${organization}' FOR UPDATE`);
        const session = newHash();
        await store.add('session', session, ANA);
        expect(await store.find('session', [session])).toHaveLength(1);
        await store.remove('session', session);
      });
    });
  });
});

describe('the replay that a page asked for, in memory and in PostgreSQL', () => {
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
});
