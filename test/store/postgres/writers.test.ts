// test: the writers of an organization, in however many processes, write one audit with one head; what somebody changes beside them is noticed
// by each of them, before it acts.
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Exemption } from '../../../src/domain/exemption.ts';
import { verifyChain } from '../../../src/engine/audit/signing-key.ts';
import type { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { FakeClock } from '../../support/platform.ts';
import { hasNoPostgres, NEEDS_POSTGRES } from '../../support/postgres.ts';
import { commitOf, decision, episode, intent, plan, run } from '../../support/stored-nouns.ts';
import { InPostgres, newOrganization } from '../../support/stores.ts';

const WAITING = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
const notice = (at: number) => [{ kind: 'notice' as const, body: { at } }];
const stop = { at: 1, by: 'ana', reason: 'enough' };

describe.skipIf(hasNoPostgres)(`writers on PostgreSQL${NEEDS_POSTGRES}`, () => {
  const database = new InPostgres();
  let organization: string;
  let [one, other]: PostgresStore[] = [];
  beforeAll(() => database.prepare(), 180_000);
  afterAll(() => database.end());
  beforeEach(async () => {
    organization = newOrganization();
    one = await opened();
    other = await opened();
  });

  const opened = () => database.openAs(organization, new FakeClock());
  const chain = async (store = one as PostgresStore) => verifyChain(store.auditFrom(1));
  /** As an administrator does, with and without the triggers. */
  const beside = (sql: string, isHidden = false) =>
    database.query(`BEGIN; SELECT set_config('trustward.org', '${organization}', true);
      ${isHidden ? 'SET LOCAL session_replication_role = replica;' : ''} SET LOCAL search_path = trustward; ${sql}; COMMIT`);

  /** A large unit waits at its first decision until it is let go, so that what comes meanwhile does, on any machine. */
  async function heldBack() {
    const client = new pg.Client({ connectionString: database.url('postgres') });
    await client.connect();
    await client.query('BEGIN; LOCK TABLE trustward.decisions IN EXCLUSIVE MODE');
    const letGo = () => client.end();
    const waiting = async () => (await database.query(WAITING)).rows[0].n as number;
    return { waiting, letGo };
  }

  async function filled(): Promise<void> {
    await one?.beginRun(run, notice(0));
    await one?.commitRun(
      commitOf({
        episodes: [{ ...episode, state: 'matching' }],
        intents: [intent],
        decisions: [decision],
        plan,
        notes: notice(1),
      }),
    );
  }

  test('append to one chain, each after the other, whoever comes first', async () => {
    const all = Array.from({ length: 60 }, (_, at) => (at % 2 ? one : other)?.appendAudit(notice(at)));
    await Promise.all(all);
    expect(await chain()).toMatchObject({ ok: true, entries: 60 });
    await one?.setStop(stop, notice(61));
    expect(await other?.stop()).toEqual(stop);
    await other?.setStop(undefined, notice(62));
    await one?.demandIntact();
    await other?.demandIntact();
    expect(await one?.tableDifferences()).toEqual([]);
  });

  test('see what the other one changed, and none calls it changed beside the engine', async () => {
    await filled();
    await other?.markSent({ intentId: 'i1', run: 'r1', notes: notice(2) });
    await one?.settle({ intentId: 'i1', outcome: 'succeeded', note: 'done', notes: notice(3) });
    expect(await other?.intent('i1')).toMatchObject({ status: 'settled', outcome: 'succeeded' });
    for (const store of [one, other]) await store?.demandIntact();
    expect(await (await opened()).tableDifferences()).toEqual([]);
  });

  test('do one of two changes of the same thing', async () => {
    await filled();
    const both = await Promise.allSettled(
      [one, other].map((store) => store?.markSent({ intentId: 'i1', run: 'r1', notes: notice(2) })),
    );
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect((await one?.intent('i1'))?.attempts).toBe(1);
    expect(await chain()).toMatchObject({ ok: true });
  });

  test.each([
    ['a row of a statement by hand', false],
    ['a row changed without its triggers', true],
  ])('find %s, and act no more until a person accepts it', async (_, isHidden) => {
    await filled();
    await beside("UPDATE intents SET target = 'S-9' WHERE id = 'i1'", isHidden);
    await expect(one?.demandIntact()).rejects.toMatchObject({
      code: 'store_edited',
      message: expect.stringContaining('intents'),
    });
    const later = await opened();
    await expect(later.tableDifferences()).resolves.toMatchObject([{ table: 'intents' }]);
    await other?.appendAudit(notice(5));
    await expect(other?.demandIntact()).rejects.toMatchObject({ code: 'store_edited' });
    await later.acceptTables({ stop, notes: notice(6) });
    await later.demandIntact();
    await (await opened()).demandIntact();
    expect(await chain()).toMatchObject({ ok: true });
  });

  test('send nothing after an exemption was removed by hand', async () => {
    await filled();
    const exemption = {
      id: 'x',
      subject: { kind: 'device', id: 'd1' },
      owner: 'ana',
      reason: 'so',
      expiresAt: 9e12,
      createdAt: 1,
      createdBy: 'ana',
    };
    await one?.saveExemption(exemption as Exemption, notice(2));
    await beside('DELETE FROM exemptions');
    const sending = other?.markSent({ intentId: 'i1', run: 'r1', notes: notice(3) });
    await expect(sending).rejects.toMatchObject({ code: 'store_edited' });
    expect(await other?.intent('i1')).toMatchObject({ status: 'planned' });
  });

  test('refuse to append to a chain that lost entries, and to one with a foreign end', async () => {
    await filled();
    await one?.appendAudit(notice(2));
    await other?.appendAudit(notice(3));
    await beside('DELETE FROM audit WHERE seq = 4', true);
    await expect(other?.appendAudit(notice(4))).rejects.toMatchObject({ code: 'store_edited' });
    await beside("INSERT INTO audit (seq, at, kind, bytes, prev, hash) VALUES (4, 1, 'notice', '{}', 'p', 'h')", true);
    await expect(other?.appendAudit(notice(4))).rejects.toMatchObject({ code: 'store_edited' });
  });

  test('refuse a trigger that somebody added, and a wall that somebody took away', async () => {
    const own = new InPostgres();
    await own.prepare();
    const store = await own.openAs(organization, new FakeClock());
    await store.demandIntact();
    await own.query("CREATE FUNCTION trustward.mine() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'");
    await own.query(
      'CREATE TRIGGER mine BEFORE INSERT ON trustward.intents FOR EACH ROW EXECUTE FUNCTION trustward.mine()',
    );
    await expect(store.demandIntact()).rejects.toThrow(
      'table `intents` has the trigger `mine`, which no version of Trustward made',
    );
    await own.query(
      'DROP TRIGGER mine ON trustward.intents; ALTER TABLE trustward.audit DISABLE TRIGGER audit_no_update',
    );
    await expect(store.demandIntact()).rejects.toThrow('table `audit` has no trigger `audit_no_update` that is on');
    await own.query(
      'ALTER TABLE trustward.audit ENABLE TRIGGER audit_no_update; ALTER TABLE trustward.claims NO FORCE ROW LEVEL SECURITY',
    );
    await expect(store.demandIntact()).rejects.toThrow('table `claims` has no wall between organizations');
    await own.query('ALTER TABLE trustward.claims FORCE ROW LEVEL SECURITY');
    await store.demandIntact();
    const wall = 'own_organization ON trustward.claims';
    for (const other of ['USING (true)', 'USING (org = trustward.organization()) WITH CHECK (true)']) {
      await own.query(`DROP POLICY ${wall}; CREATE POLICY ${wall} ${other}`);
      await expect(store.demandIntact(), other).rejects.toThrow('table `claims` has no wall between organizations');
    }
    await own.query(`DROP POLICY ${wall}; CREATE POLICY ${wall} USING (org = trustward.organization())`);
    await store.demandIntact();
    await own.end();
  });

  test('keep the audit append-only, also for the role that owns it', async () => {
    await filled();
    await expect(beside('UPDATE audit SET at = 2')).rejects.toThrow('the audit is append-only');
    await expect(beside('DELETE FROM audit')).rejects.toThrow('the audit is append-only');
    await expect(beside('TRUNCATE audit')).rejects.toThrow('the audit is append-only');
  });

  test('keep texts that PostgreSQL does not have, in columns and in documents', async () => {
    const odd = 'a\0b\ud800c\udc00\u0001d\u{1f600}\\u0000"\\';
    const subject = { kind: 'device' as const, id: odd };
    await one?.beginRun(run, [{ kind: 'notice', body: { odd, target: odd } }]);
    await one?.commitRun(
      commitOf({
        episodes: [{ ...episode, subject, seenSo: [`ban_device ${odd}`] }],
        decisions: [{ ...decision, subject, target: odd, facts: { odd } }],
      }),
    );
    expect((await other?.decisions({ limit: 9, target: odd }))?.[0]).toMatchObject({
      subject,
      target: odd,
      facts: { odd },
    });
    expect(await other?.decisions({ limit: 9, subjectIds: [odd, 'x'] })).toHaveLength(1);
    expect(await other?.episodes(['e1'])).toMatchObject([{ subject }]);
    expect(await other?.audit({ limit: 9, target: odd })).toHaveLength(1);
    expect(await other?.episodesThatSaw(odd)).toMatchObject([{ id: 'e1' }]);
    await one?.demandIntact();
    expect(await (await opened()).tableDifferences()).toEqual([]);
    expect(await chain()).toMatchObject({ ok: true });
  });

  test('keep no first stop waiting, not even one of another process', async () => {
    await one?.beginRun(run, []);
    const decisions = Array.from({ length: 12_000 }, (_, at) => ({ ...decision, id: `y${at}`, intentId: undefined }));
    const back = await heldBack();
    let isWritten = false;
    const large = one?.commitRun(commitOf({ decisions, notes: notice(1) })).then(() => {
      isWritten = true;
    });
    await expect.poll(back.waiting).toBe(1);
    const stopping = other?.setStop(stop, notice(2));
    await expect.poll(back.waiting).toBe(2);
    await back.letGo();
    await stopping;
    expect(isWritten).toBe(false);
    expect(await one?.stop()).toEqual(stop);
    await large;
    expect((await one?.audit({ limit: 1 }))?.[0]?.bytes).toContain('"at":1');
    await other?.demandIntact();
  });

  test('let a large unit wait for those of the same process that come meanwhile', async () => {
    await one?.beginRun(run, []);
    const decisions = Array.from({ length: 12_000 }, (_, at) => ({ ...decision, id: `y${at}`, intentId: undefined }));
    const back = await heldBack();
    const large = one?.commitRun(commitOf({ decisions, notes: notice(1) }));
    await expect.poll(back.waiting).toBe(1);
    const stopping = one?.setStop(stop, notice(2));
    await back.letGo();
    await stopping;
    expect((await one?.audit({ limit: 1 }))?.[0]?.bytes).toContain('"at":2');
    await large;
    expect(await chain()).toMatchObject({ ok: true, entries: 2 });
    expect(await one?.decisions({ limit: 20_000 })).toHaveLength(12_000);
  });
});
