// scenario: somebody who can write to the database file changes a plan, and its digest, and the audit: each is refused
// or detected.
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Plan } from '../../src/domain/plan.ts';
import { planDigest } from '../../src/engine/approve/plans.ts';
import { answerPlan, applyPlan } from '../../src/engine/operate/plans.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';

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

const approve = () => answerPlan(org.composition.engine, planId, 'approve', 'ada', 'looked at it');
const apply = () => applyPlan(org.composition.engine, planId, 'ada');

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
    expect((await answerPlan(engine, 'made-by-hand', 'reject', 'ada', undefined)).status).toBe('rejected');
  });
});
