// scenario: somebody who can write to the database file changes rows, a plan or the audit, or the file itself, also under a running engine: nothing is called.

import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/base/json.ts';
import { checkpointHash } from '../../src/domain/checkpoint.ts';
import { planDigest } from '../../src/domain/digest.ts';
import type { Plan } from '../../src/domain/plan.ts';

import { linkEntry } from '../../src/engine/audit/signing-key.ts';
import {
  addExemption,
  type ExemptionAsked,
  resumeEverything,
  stopEverything,
} from '../../src/engine/operate/commands.ts';
import { answerPlan, applyPlan } from '../../src/engine/operate/plans.ts';
import { type Daemon, startDaemon } from '../../src/runtime/daemon/daemon.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';

describe('somebody who can write to the database file changes a plan, and its digest, and the audit', () => {
  let org: Organization;
  let planId: string;

  beforeEach(async () => {
    org = await startOrganization({
      devices: 80,
      rules: { ban: BAN_COMPROMISED.replace('mode: enforce', 'mode: approve') },
    });
    org.console.fleet.addDevice({ serial: 'HELD-1', mdm_compromised: 'TRUE' });
    planId = (await org.run('enforce')).run.planId as string;
  });
  afterEach(() => org.close());

  const approve = () => answerPlan(org.composition.engine, planId, 'approve', { by: 'ada', reason: 'looked at it' });
  const apply = () => applyPlan(org.composition.engine, planId, { by: 'ada' });

  function byHand<T>(work: (db: Database.Database) => T): T {
    const db = new Database(org.dbFile);
    try {
      return work(db);
    } finally {
      db.close();
    }
  }

  /** Another target under the same plan; with `whole` its digest is made to match. */
  function forge({ whole }: { whole: boolean }): string {
    return byHand((db) => {
      // A waiting plan lists the numbers of rows that plans share; an answered one has its own.
      const row = db.prepare('SELECT intents, digest FROM plans WHERE id = ?').get(planId) as Record<string, string>;
      const own = (row.intents as string).replaceAll('HELD-1', 'SOMEBODY-ELSE');
      const intents = (JSON.parse(own) as (number | Plan['intents'][number])[]).map((no) => {
        if (typeof no !== 'number') return no;
        const shared = db.prepare('SELECT content FROM planned_intents WHERE no = ?').get(no) as { content: string };
        const forged = shared.content.replaceAll('HELD-1', 'SOMEBODY-ELSE');
        db.prepare('UPDATE planned_intents SET content = ? WHERE no = ?').run(forged, no);
        return JSON.parse(forged) as Plan['intents'][number];
      });
      const digest = whole ? planDigest(intents) : (row.digest as string);
      db.prepare('UPDATE plans SET intents = ?, digest = ? WHERE id = ?').run(own, digest, planId);
      return digest;
    });
  }

  async function expectRefused(answer: Promise<unknown>, why: string, what = 'sealed'): Promise<void> {
    await expect(answer).rejects.toMatchObject({
      code: 'conflict',
      message: `plan ${planId} differs from what was ${what}: ${why}; nothing of it is done; check the record with \`audit verify\``,
    });
    expect(org.console.writes()).toEqual([]);
  }

  describe('a plan whose row was edited', () => {
    it('does not match its own digest, and is refused', async () => {
      forge({ whole: false });
      await expectRefused(approve(), 'its intents do not match its digest');
    });

    it('together with its digest does not match the audit, and is refused', async () => {
      forge({ whole: true });
      await expectRefused(approve(), "the audit's entry `plan.sealed` has another digest for it");
      expect((await org.composition.engine.store.plan(planId))?.status).toBe('pending');
    });

    it('after it was approved is not applied', async () => {
      await approve();
      forge({ whole: true });
      await expectRefused(apply(), "the audit's entry `plan.sealed` has another digest for it");
      expect((await org.composition.engine.store.plan(planId))?.status).toBe('approved');
    });

    it('to be approved is not applied, since the audit has no approval', async () => {
      byHand((db) => db.prepare("UPDATE plans SET status = 'approved' WHERE id = ?").run(planId));
      await expectRefused(
        apply(),
        'the audit has no entry `plan.approved` for it, or the entry was archived',
        'approved',
      );
    });

    it('is still refused with a second entry appended to the audit for it', async () => {
      const digest = forge({ whole: true });
      await org.composition.engine.store.appendAudit([{ kind: 'plan.sealed', body: { plan: planId, digest } }]);
      const tables = [{ table: 'planned_intents' }, { table: 'plans' }];
      expect(await org.composition.verifyAudit()).toMatchObject({ ok: false, tables });
      await expectRefused(approve(), "the audit's entry `plan.sealed` has another digest for it");
    });

    it('together with the audit breaks the chain, which names the entry', async () => {
      const { digest } = (await org.composition.engine.store.plan(planId)) as Plan;
      const forged = forge({ whole: true });
      const seq = byHand((db) => {
        db.exec('DROP TRIGGER audit_no_update');
        const sealed = "kind = 'plan.sealed'";
        db.prepare(`UPDATE audit SET bytes = replace(bytes, ?, ?) WHERE ${sealed}`).run(digest, forged);
        return (db.prepare(`SELECT seq FROM audit WHERE ${sealed}`).get() as { seq: number }).seq;
      });
      expect(await org.composition.verifyAudit()).toMatchObject({ ok: false, bad: { seq } });
    });
  });

  describe('a plan that no run sealed', () => {
    it('is refused, since the audit has no entry for it', async () => {
      byHand((db) => db.prepare("UPDATE plans SET id = 'made-by-hand' WHERE id = ?").run(planId));
      planId = 'made-by-hand';
      await expectRefused(approve(), 'the audit has no entry `plan.sealed` for it, or the entry was archived');
    });

    it('can still be rejected', async () => {
      byHand((db) => db.prepare("UPDATE plans SET id = 'made-by-hand' WHERE id = ?").run(planId));
      const { engine } = org.composition;
      expect((await answerPlan(engine, 'made-by-hand', 'reject', { by: 'ada' })).status).toBe('rejected');
    });
  });
});

describe('somebody who can write to the database file, but has no key, deletes a stop and hides it', () => {
  const NOBODY = { by: 'ada', reason: 'test' };
  /** What the audit records of a table without rows. */
  let empty: string;
  let org: Organization;

  beforeEach(async () => {
    // One after the other: what is edited between two calls is before the second.
    const env = { TRUSTWARD_ACT_CONCURRENCY: '1' };
    org = await startOrganization({ devices: 80, rules: { ban: BAN_COMPROMISED }, env });
    org.console.fleet.addDevice({ serial: 'SN-1', mdm_compromised: 'TRUE' });
    await org.run('enforce');
    expect(org.effects('device_banned')).toHaveLength(1);
    org.console.fleet.addDevice({ serial: 'SN-2', mdm_compromised: 'TRUE' });
    empty = lastTables().stop_switch as string;
    await stopEverything(engine(), NOBODY);
  });
  afterEach(() => org.close());

  const engine = () => org.composition.engine;

  function byHand(work: (db: Database.Database) => void): void {
    const db = new Database(org.dbFile);
    try {
      work(db);
    } finally {
      db.close();
    }
  }

  function lastTables(): Record<string, string> {
    let line = '{}';
    byHand((db) => {
      line = (db.prepare('SELECT line FROM checkpoints ORDER BY size DESC LIMIT 1').get() as { line: string }).line;
    });
    return (JSON.parse(line) as { tables: Record<string, string> }).tables;
  }

  async function expectNothingCalled(): Promise<void> {
    await org.run('enforce').catch(() => {});
    expect(org.effects('device_banned')).toHaveLength(1);
    expect(engine().daemonMode).toBe('dry-run');
  }

  async function whileAway(work: (db: Database.Database) => void): Promise<void> {
    await org.composition.close();
    byHand(work);
    await org.restart();
  }

  /** A checkpoint over the whole chain, as the engine would make it, but not signed by its key. */
  function forgeCheckpoint(db: Database.Database, tables: Record<string, string> | undefined): void {
    const end = db.prepare('SELECT seq AS size, hash AS head, at FROM audit ORDER BY seq DESC LIMIT 1').get() as {
      size: number;
      head: string;
      at: number;
    };
    const last = db.prepare('SELECT line FROM checkpoints ORDER BY size DESC LIMIT 1').get() as { line: string };
    const { keyId, signature } = JSON.parse(last.line) as { keyId: string; signature: string };
    const line = canonicalJson({ ...end, previous: checkpointHash(last.line), keyId, signature, tables });
    db.prepare('INSERT INTO checkpoints (size, line) VALUES (?, ?)').run(end.size, line);
  }

  /** Adds a row to the audit, well linked, so that a checkpoint can be forged over it. */
  function append(db: Database.Database): void {
    const end = db.prepare('SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1').get() as {
      seq: number;
      hash: string;
    };
    const at = Date.now();
    const bytes = canonicalJson({ at, body: {}, kind: 'run.finished' });
    const insert = db.prepare('INSERT INTO audit (seq, at, kind, bytes, prev, hash) VALUES (?, ?, ?, ?, ?, ?)');
    insert.run(end.seq + 1, at, 'run.finished', bytes, end.hash, linkEntry(end.hash, end.seq + 1, bytes));
  }

  describe('a checkpoint in the database that the key did not sign', () => {
    it('does not record tables', async () => {
      await whileAway((db) => {
        db.exec('DELETE FROM stop_switch');
        append(db);
        forgeCheckpoint(db, { ...lastTables(), stop_switch: empty });
      });
      await expectNothingCalled();
    });

    it('does not make the tables unrecorded', async () => {
      await whileAway((db) => {
        db.exec('DELETE FROM stop_switch');
        append(db);
        forgeCheckpoint(db, undefined);
      });
      await expectNothingCalled();
    });
  });

  it('an entry before the last one, with another digest written into it, does not record tables', async () => {
    await engine().store.appendAudit([{ kind: 'alert.raised', body: {} }]);
    byHand((db) => {
      db.exec('DELETE FROM stop_switch; DROP TRIGGER audit_no_update');
      db.prepare(`UPDATE audit SET bytes = json_set(bytes, '$.digests.stop_switch', ?)
      WHERE bytes LIKE '%"digests":%"stop_switch"%'`).run(empty);
      db.exec(
        "CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END",
      );
    });
    await expectNothingCalled();
  });

  const TRIGGER = 'CREATE TRIGGER helpful AFTER INSERT ON runs BEGIN DELETE FROM stop_switch; END';

  describe('a trigger that somebody put into the database', () => {
    it('under the engine never runs as its own change', async () => {
      byHand((db) => db.exec(TRIGGER));
      await expectNothingCalled();
      expect(await engine().store.stop()).toBeDefined();
    });

    it('while no engine runs is refused at the start, before it could run', async () => {
      const start = whileAway((db) => db.exec(TRIGGER));
      await expect(start).rejects.toMatchObject({
        code: 'store_edited',
        message: expect.stringContaining('`helpful`'),
      });
      byHand((db) => {
        expect(db.prepare('SELECT * FROM stop_switch').all()).toHaveLength(1);
        db.exec('DROP TRIGGER helpful');
      });
      await org.restart();
      expect(org.composition.health.fault()).toBeUndefined();
    });

    it('is found by a verification', async () => {
      byHand((db) => db.exec(TRIGGER));
      const { tables } = await org.composition.verifyAudit();
      expect(tables).toEqual([{ table: 'sqlite_schema', text: expect.stringContaining('`helpful`') }]);
    });
  });

  /** An index keeps what was left out of it while it had another form for a moment. */
  function emptyIndex(db: Database.Database, name: string, none: string): void {
    db.unsafeMode();
    db.pragma('writable_schema = ON');
    const form = db.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').pluck().get(name) as string;
    const set = db.prepare('UPDATE sqlite_schema SET sql = ? WHERE name = ?');
    set.run(none, name);
    const other = new Database(org.dbFile);
    other.exec(`REINDEX ${name}`);
    other.close();
    set.run(form, name);
  }

  describe('a row that was taken out of an index, not out of its table,', () => {
    it('is in force, if it is an exemption', async () => {
      const subject = { kind: 'device', id: 'd-1' } as const;
      await addExemption(
        engine(),
        { subject, unseen: true, owner: 'o', reason: 'r', until: '1h' } as ExemptionAsked,
        'ada',
      );
      const before = await engine().store.exemptions(Date.now());
      expect(before).toHaveLength(1);
      const none = 'CREATE INDEX exemptions_in_force ON exemptions (expires_at) WHERE expires_at < 0';
      byHand((db) => emptyIndex(db, 'exemptions_in_force', none));
      expect(await engine().store.exemptions(Date.now())).toEqual(before);
    });

    it('is missed at the start, and nothing is called', async () => {
      await resumeEverything(engine(), NOBODY);
      const none = "CREATE INDEX claims_status ON claims (status, target) WHERE status = ''";
      await whileAway((db) => emptyIndex(db, 'claims_status', none));
      expect(org.composition.health.fault()).toMatchObject({ kind: 'corrupt' });
      await expectNothingCalled();
    });
  });

  it('a stop that is deleted in the middle of a run is missed before the next call', async () => {
    await resumeEverything(engine(), NOBODY);
    org.console.fleet.addDevice({ serial: 'SN-3', mdm_compromised: 'TRUE' });
    const { store } = engine();
    const { settle } = store;
    store.settle = async (settled) => {
      await settle.call(store, settled);
      await stopEverything(engine(), NOBODY);
      byHand((db) => db.exec('DELETE FROM stop_switch'));
    };
    await org.run('enforce').catch(() => {});
    expect(org.effects('device_banned')).toHaveLength(2);
    expect(engine().daemonMode).toBe('dry-run');
  });

  it('the database of before a stop, put back while no engine runs, is taken for a restored one', async () => {
    await resumeEverything(engine(), NOBODY);
    byHand((db) => db.pragma('wal_checkpoint(TRUNCATE)'));
    copyFileSync(org.dbFile, `${org.dbFile}.old`);
    await stopEverything(engine(), NOBODY);
    await org.composition.close();
    copyFileSync(`${org.dbFile}.old`, org.dbFile);
    await org.restart();
    await expectNothingCalled();
  });
});

describe("the database's file, its lock or its write-ahead log is deleted or replaced under a running engine", () => {
  let org: Organization;
  beforeEach(async () => {
    org = await startOrganization({
      devices: 40,
      // One call at a time: what was sent before the file was replaced is under way.
      env: { TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *', TRUSTWARD_ACT_CONCURRENCY: '1' },
    });
    await org.run('enforce');
  });
  afterEach(() => org.close());

  const ANA = { by: 'ana', reason: 'to be safe' };
  const compromise = (serial: string) => org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' });

  function replace(file: string): void {
    copyFileSync(file, `${file}.other`);
    renameSync(`${file}.other`, file);
  }

  const CASES: [string, () => void][] = [
    ['database deleted', () => rmSync(org.dbFile)],
    ['database replaced by a copy of itself', () => replace(org.dbFile)],
    ['database moved away', () => renameSync(org.dbFile, `${org.dbFile}.moved`)],
    ['write-ahead log deleted', () => rmSync(`${org.dbFile}-wal`)],
    ['lock deleted', () => rmSync(`${org.dbFile}.lock`)],
    ['lock replaced', () => replace(`${org.dbFile}.lock`)],
  ];

  describe.each(CASES)('%s under an engine', (_, happen) => {
    it('calls nothing, and claims no commit', async () => {
      compromise('LATER-1');
      const before = await org.composition.engine.store.auditHead();
      happen();
      await expect(org.run('enforce')).rejects.toMatchObject({
        code: 'store_failed',
        message: expect.stringMatching(/was deleted or replaced.*restart/),
      });
      await expect(stopEverything(org.composition.engine, ANA)).rejects.toMatchObject({ code: 'store_failed' });
      expect(org.effects('device_banned')).toEqual([]);
      expect(await org.composition.engine.store.auditHead()).toEqual(before);
    });

    it('is not ready, also before the next run, until a restart', async () => {
      const daemon: Daemon = await startDaemon(org.composition);
      const readyz = async () => {
        const answer = await fetch(`${daemon.url}/readyz`);
        const { checks } = (await answer.json()) as { checks: { name: string; text: string }[] };
        return { status: answer.status, text: checks.find(({ name }) => name === 'database')?.text };
      };
      try {
        await expect.poll(async () => (await readyz()).status).toBe(200);
        happen();
        expect(await readyz()).toEqual({
          status: 503,
          text: expect.stringMatching(/deleted or replaced.*restart/),
        });
        expect(org.composition.engine.daemonMode).toBe('dry-run');
      } finally {
        await daemon.stop();
      }
    });
  });

  describe('a file replaced in the middle of a run', () => {
    it('lets no further call through', async () => {
      const banned = ['LATER-1', 'LATER-2', 'LATER-3'].map(compromise);
      const { engine } = org.composition;
      const { updateDevices } = engine.api;
      engine.api.updateDevices = async (...given) => {
        const answer = await updateDevices.apply(engine.api, given);
        replace(org.dbFile);
        return answer;
      };
      await expect(org.run('enforce')).rejects.toMatchObject({ code: 'store_failed' });
      expect(org.effects('device_banned')).toHaveLength(1);
      expect(banned).toContain(org.effects('device_banned')[0]);
    });
  });

  it('an engine whose lock was taken over leaves the address of the other daemon alone', async () => {
    const address = `${org.dbFile}.daemon.json`;
    rmSync(`${org.dbFile}.lock`);
    writeFileSync(address, '{"pid":1,"url":"http://127.0.0.1:1"}\n');
    await org.composition.close();
    expect(existsSync(address)).toBe(true);
    expect(readFileSync(address, 'utf8')).toContain('"pid":1');
    rmSync(address);
    await org.restart();
  });
});
