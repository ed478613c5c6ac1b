// test: each database answers the same: each method, long histories, the longest names; and of two organizations neither sees a row of the other.

import { randomBytes, randomInt } from 'node:crypto';
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, test } from 'vitest';
import { KEPT_NAME_BYTES_MAX } from '../../../src/domain/subjects.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { linkEntry, verifyChain } from '../../../src/engine/audit/signing-key.ts';
import { addExemption, endExemption, resumeEverything, stopEverything } from '../../../src/engine/operate/commands.ts';
import { answerPlan, applyPlan } from '../../../src/engine/operate/plans.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import type { Sealing } from '../../../src/store/audit-log.ts';
import { WORK_ROLE } from '../../../src/store/postgres/organization.ts';
import { ownerOf } from '../../../src/store/postgres/tokens-of-all.ts';
import { banRule } from '../../support/engine-on-platform.ts';
import { engineOnStore, type OnStore } from '../../support/engine-on-store.ts';
import { everythingRead } from '../../support/everything-read.ts';
import { CALLS, outcomeOf } from '../../support/ports-script.ts';
import { hasNoPostgres, NEEDS_POSTGRES, OWNER } from '../../support/postgres.ts';
import { claim, commitOf, decision, episode, intent, plan, run } from '../../support/stored-nouns.ts';
import { databases, InPostgres, newOrganization, type OpenedStore } from '../../support/stores.ts';

/** A key that anybody can guess: what is signed is the same on each database. */
const sealing: Sealing = {
  seal: (line, { size, head, at, tables }) =>
    ({ size, head, at, tables, prev: line ?? '', key: 'k', signature: 's' }) as never,
  sign: (prev, seq, bytes) => linkEntry(prev, seq, bytes).slice(0, 16),
  judgeEnd: () => undefined,
  sealed: () => {},
};

const tested = databases().filter(({ isMissing }) => !isMissing);

/** All that can be read is compared after each third call, and after the last one: it takes a second. */
const isReadAfter = (name: string) => {
  const at = CALLS.findIndex(([one]) => one === name);
  return at % 3 === 0 || at === CALLS.length - 1;
};

describe('the ports of the store', () => {
  let stores: OpenedStore[];
  beforeAll(async () => {
    for (const database of tested) await database.prepare();
    stores = await Promise.all(tested.map((database) => database.open(sealing)));
  }, 180_000);
  afterAll(async () => {
    for (const { close } of stores) await close();
    for (const database of tested) await database.end();
  });

  test.skipIf(tested.length < 2).each(CALLS)('are one: %s', async (name, call) => {
    const [first, ...others] = await Promise.all(stores.map(({ store, clock }) => outcomeOf(() => call(store, clock))));
    for (const other of others) expect(other).toEqual(first);
    if (!isReadAfter(name)) return;
    const [read, ...same] = await Promise.all(stores.map(({ store, clock }) => everythingRead(store, clock.nowMs())));
    for (const other of same) expect(other).toEqual(read);
    for (const { store } of stores) expect(await verifyChain(store.auditFrom(1))).toMatchObject({ ok: true });
  });

  test.skipIf(tested.length < 2)('name every method that writes', () => {
    const named = new Set(CALLS.map(([name]) => name.split(' ')[0]?.replace(':', '')));
    const written = [
      'bind',
      'beginRun',
      'finishRun',
      'abortStaleRuns',
      'commitRun',
      'saveIdentities',
      'removeOldRuns',
      'dropPlanIntents',
      'expirePlans',
      'changePlan',
      'replacePlans',
      'observeEvents',
      'appendAudit',
      'keepClockAgreement',
      'keepPrintKey',
      'sealAudit',
      'nameDatabase',
      'acceptRestore',
      'acceptTables',
      'removeArchived',
      'saveExemption',
      'addRequest',
      'answerRequest',
      'setStop',
      'saveAcceptance',
      'release',
      'markSent',
      'settle',
      'withdraw',
      'reopen',
      'resolve',
      'outbox',
      'tokens',
      'answers',
      'feedPositions',
      'noticeBox',
    ];
    expect(written.filter((name) => !named.has(name))).toEqual([]);
  });
});

const RULES = [
  banRule({ id: 'a' }),
  banRule({ id: 'b', field: 'Other', mode: 'approve' }),
  banRule({ id: 'c', field: 'Other', mode: 'enforce', does: 'notify' }),
];
const ANA = { by: 'ana', reason: 'because' };
const DEVICES = ['d1', 'd2', 'd3', 'd\u0000\u{1f600}4'];
const device = fc.constantFrom(...DEVICES);

/** What happens, to every store alike. Its answer, or its error, is compared too. */
const happening = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('enforce' as const, 'dry-run' as const).map((mode) => ({ run: mode })) },
  { weight: 4, arbitrary: fc.record({ compromise: device, value: fc.constantFrom('TRUE', 'FALSE', null) }) },
  { weight: 4, arbitrary: fc.record({ other: device, value: fc.constantFrom('TRUE', 'FALSE') }) },
  { weight: 3, arbitrary: fc.constantFrom(1, 61_000, 3_700_000).map((pass) => ({ pass })) },
  { weight: 2, arbitrary: fc.constantFrom('approve' as const, 'reject' as const).map((answer) => ({ answer })) },
  { weight: 2, arbitrary: fc.constant({ apply: true as const }) },
  { weight: 2, arbitrary: fc.record({ fails: device, as: fc.constantFrom('failed', 'lost', 'hidden', 'late') }) },
  { weight: 1, arbitrary: device.map((exempt) => ({ exempt })) },
  { weight: 1, arbitrary: fc.constant({ endExemption: true as const }) },
  { weight: 1, arbitrary: fc.boolean().map((stop) => ({ stop })) },
  { weight: 1, arbitrary: fc.constant({ seal: true as const }) },
);
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

async function happens(on: OnStore, what: Happening): Promise<unknown> {
  const { engine, store, platform, clock } = on;
  if ('run' in what) return on.run(what.run);
  if ('compromise' in what) return platform.compromised(what.compromise, what.value);
  if ('other' in what) return platform.patch(what.other, { MdmData: { Other: what.value } });
  if ('pass' in what) return clock.pass(what.pass);
  if ('fails' in what) return platform.answer(`S-${what.fails}`, what.as as 'failed');
  if ('seal' in what) return store.sealAudit();
  if ('stop' in what) return what.stop ? stopEverything(engine, ANA) : resumeEverything(engine, ANA);
  if ('exempt' in what) {
    const request = {
      subject: { kind: 'device', id: what.exempt },
      owner: 'ana',
      reason: 'known',
      until: '1h',
      unseen: true,
    };
    return addExemption(engine, request, 'ana');
  }
  if ('endExemption' in what) {
    const [one] = await store.exemptions(clock.nowMs());
    return one && endExemption(engine, one.id, ANA);
  }
  const [plan] = await store.plans({ status: 'apply' in what ? 'approved' : 'pending' }, 1);
  if (!plan) return undefined;
  if ('apply' in what) return applyPlan(engine, plan.id, { by: 'ana' });
  return answerPlan(engine, plan.id, what.answer, { by: 'ana', reason: what.answer === 'reject' ? 'no' : undefined });
}

describe('a history', () => {
  const tested = databases().filter(({ isMissing }) => !isMissing);
  beforeAll(async () => {
    for (const database of tested) await database.prepare();
  }, 180_000);
  afterAll(async () => {
    for (const database of tested) await database.end();
  });

  test.skipIf(tested.length < 2)(
    'is the same on each database, also in its audit',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(happening, { minLength: 8, maxLength: 24 }), async (all) => {
          const engines = await Promise.all(
            tested.map(async (database) => engineOnStore(await database.open(), RULES)),
          );
          for (const { platform } of engines) for (const id of DEVICES) platform.addDevice(id);
          for (const what of all) {
            const [first, ...others] = await Promise.all(engines.map((on) => ended(happens(on, what))));
            for (const other of others) expect(other, JSON.stringify(what)).toEqual(first);
          }
          const [first, ...others] = await Promise.all(engines.map((on) => everythingRead(on.store, on.clock.nowMs())));
          for (const other of others) expect(other).toEqual(first);
          for (const { store } of engines) {
            expect(await verifyChain(store.auditFrom(1))).toMatchObject({ ok: true });
            await store.demandIntact();
            await store.close();
          }
        }),
        { numRuns: Number(process.env.TRUSTWARD_HISTORIES ?? 5), endOnFailure: true },
      );
    },
    300_000,
  );
});

async function ended(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    (value) => ({ value }),
    (error: Error & { code?: string }) => ({ code: error.code, message: error.message }),
  );
}

const MAX = KEPT_NAME_BYTES_MAX;

/** It cannot be compressed: an index takes what a compressed one has. */
function nameOf(bytes: number): string {
  return randomBytes(bytes).toString('base64url').slice(0, bytes);
}

/** PostgreSQL has twice as many bytes of it. */
function hostileName(bytes: number): string {
  return Array.from({ length: bytes }, () => (randomInt(2) === 0 ? '\u0000' : '\u0001')).join('');
}

function ruleOf(text: string): LoadedRule {
  const parsed = parseRule(`${text}\nlimits: { max: 1000, percent: 100 }\n`, 'rule.yaml', { traits: ACTIONS });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.rule;
}

const OF_USERS = `
id: ${'u'.repeat(100)}
subject: user
when: { "==": [{ var: Name }, "leaver"] }
then: delete_device
mode: approve
tests: [{ name: t, given: { Name: leaver }, expect: match }]`;

const ofServices = (bundle: string) => `
id: into-a-bundle
subject: service
when: { "==": [{ var: ServiceName }, "odd"] }
then: { action: add_to_bundle, with: { bundle: ${bundle} } }
mode: enforce
tests: [{ name: t, given: { ServiceName: odd }, expect: match }]`;

describe.each(databases().map((database) => [database.name, database] as const))('long names on %s', (_, database) => {
  beforeAll(() => (database.isMissing ? undefined : database.prepare()), 120_000);
  afterAll(() => (database.isMissing ? undefined : database.end()));

  async function begun() {
    const opened = await database.open();
    onTestFinished(() => opened.close());
    const bundle = nameOf(MAX);
    const rules = [banRule({ id: 'b'.repeat(100) }), ruleOf(OF_USERS), ruleOf(ofServices(bundle))];
    const on = await engineOnStore(opened, rules);
    on.platform.bundles.set(bundle, new Set());
    return { ...on, bundle };
  }

  it.skipIf(database.isMissing)(
    'are kept and acted on up to the longest, also two in one target and hostile ones',
    { timeout: 120_000 },
    async () => {
      const { platform, run, store, clock, bundle } = await begun();
      const serials = [nameOf(MAX), hostileName(MAX)];
      for (const serial of serials)
        platform.addDevice(hostileName(MAX), {
          SerialNumber: serial,
          Emails: [nameOf(3_000)],
          MdmData: { CompromisedStatus: 'TRUE' },
        });
      const email = hostileName(MAX);
      platform.users.set(email, { Email: email, Name: 'leaver', SerialNumbers: serials });
      const service = nameOf(MAX);
      platform.services.set(service, { ServiceID: service, ServiceName: 'odd', ServiceSpec: '{}', Enabled: 'TRUE' });
      platform.eventLog.push({ id: hostileName(MAX), created_at: clock.nowMs(), user_principal: {} });
      const first = await run('enforce');
      expect(first).toMatchObject({ status: 'completed' });
      expect(platform.effects.toSorted()).toEqual(
        [...serials.map((serial) => `ban ${serial}`), `bundle ${service} ${bundle}`].toSorted(),
      );
      const held = await store.decisions({ rule: 'u'.repeat(100), limit: 10 });
      expect(held.map(({ target }) => target).toSorted()).toEqual(
        serials.map((serial) => `${serial} ${email}`).toSorted(),
      );
      expect(await run('enforce')).toMatchObject({ status: 'completed' });
    },
  );

  it.skipIf(database.isMissing)(
    'that are longer are rejected with their record, named and counted, and the others are judged',
    { timeout: 120_000 },
    async () => {
      const { platform, run } = await begun();
      platform.addDevice('good', { MdmData: { CompromisedStatus: 'TRUE' } });
      platform.addDevice('odd', { SerialNumber: nameOf(3_000), MdmData: { CompromisedStatus: 'TRUE' } });
      platform.addDevice(`X${nameOf(MAX)}`, {});
      platform.users.set('ana', { Email: 'ana', Name: 'leaver', SerialNumbers: ['S-good', nameOf(3_000)] });
      platform.users.set('bea', { Email: 'bea', Name: 'stays', SerialNumbers: [] });
      const service = nameOf(3_000);
      platform.services.set(service, { ServiceID: service, ServiceName: 'odd', ServiceSpec: '{}', Enabled: 'TRUE' });
      platform.services.set('svc', { ServiceID: 'svc', ServiceName: 'good', ServiceSpec: '{}', Enabled: 'TRUE' });
      const { status, findings } = await run('enforce');
      expect(status).toBe('completed');
      expect(platform.effects).toEqual(['ban S-good']);
      const sources = findings?.snapshot.sources;
      const readOf = (source: 'devices' | 'users' | 'services') => {
        const { count, unreadable, trusted } = sources?.[source] ?? {};
        return { count, unreadable: unreadable?.count, examples: unreadable?.examples.join('\n'), trusted };
      };
      expect(readOf('devices')).toEqual({
        ...{ count: 1, unreadable: 2, trusted: true },
        examples: expect.stringMatching(
          /^record 2: SerialNumber is longer than 512 bytes \(DeviceID odd\)\nrecord 3: DeviceID is longer than 512 bytes \(X.{100,130}…\)$/,
        ),
      });
      expect(readOf('users')).toEqual({
        ...{ count: 1, unreadable: 1, trusted: true },
        examples: 'record 1: one of its SerialNumbers is longer than 512 bytes (Email ana)',
      });
      expect(readOf('services')).toMatchObject({ count: 1, unreadable: 1, trusted: true });
    },
  );
});

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
