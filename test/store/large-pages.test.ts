// test: what pages ask of a large database is found by an index, and no statement reads a large table from end to end. The answers are those
// of readers that read everything.
import { beforeAll, describe, expect, it } from 'vitest';
import { episodesOf, type Plan, progressOf } from '../../src/domain/plan.ts';
import type { RunRecord } from '../../src/domain/store.ts';
import { historyOf } from '../../src/engine/explain/history-of.ts';
import { buildOutline, buildReport, wholeDecisions } from '../../src/faces/report/build-report.ts';
import { buildSummary } from '../../src/faces/report/summary/build.ts';
import { SqlReader } from '../../src/store/reader.ts';
import { SqliteWork } from '../../src/store/sqlite/database.ts';
import { type CountingDb, countingDatabase } from '../support/counting-db.ts';
import { fakeClock } from '../support/filled-store.ts';
import { fillLarge, idOf, LARGE_END_MS, SMALL } from '../support/large-database.ts';

const NOW_MS = LARGE_END_MS + 60_000;
const DAY_MS = 86_400_000;

let db: CountingDb;
let reader: SqlReader;
let last: RunRecord;
let middle: RunRecord;

beforeAll(async () => {
  db = countingDatabase();
  fillLarge(db, SMALL);
  reader = new SqlReader(new SqliteWork(db), fakeClock(NOW_MS));
  last = (await reader.run(String(SMALL.runs))) as RunRecord;
  middle = (await reader.run(String(SMALL.runs / 2))) as RunRecord;
});

const RULE = 'rule-00';
const GONE = 'the list has no `nobody` to continue from';

const READERS: { [title: string]: () => Promise<unknown> } = {
  'the decisions of a rule in force': () => reader.decisionsOfRule(last, RULE, { limit: 50 }),
  'the decisions of a rule in force in an earlier run': () => reader.decisionsOfRule(middle, RULE, { limit: 50 }),
  'the outlines of a run': () => reader.outlinesOfRun(last),
  'the outlines of an earlier run': () => reader.outlinesOfRun(middle),
  'the outline of a plan': () => reader.planOutline(idOf('plan', 1)),
  'the decisions that ended since a run': async () => {
    const ended = await reader.decisionsEnded({ fromSeq: last.seq - 1, toSeq: last.seq });
    await reader.endedDecisions(ended.map(({ id }) => id));
  },
  'the decisions of a run': () => reader.decisionsOfRun(last),
  'runs and their counts': async () => {
    for (const run of await reader.runLines({ limit: 50, before: 90 })) await reader.countsOfRun(run);
  },
  'runs of one status, over all rules': () => reader.runLines({ limit: 50, status: 'aborted', whole: true }),
  plans: () => reader.planLines({}, { limit: 50, before: idOf('plan', 2) }),
  'plans that wait': () => reader.planLines({ status: 'pending' }, { limit: 50 }),
  'plans that are over': () => reader.planLines({ status: 'expired' }, { limit: 50 }),
  'one plan': () => reader.countsOfPlan(idOf('plan', 1)),
  'intents in doubt': () => reader.newestIntents({ outcome: 'unknown', before: idOf('intent', 10) }, 50),
  'intents of one status': () => reader.newestIntents({ status: 'settled' }, 50),
  'failures that are open': () => reader.openFailures(),
  'claims in force': () => reader.claimsInForce({ limit: 50, after: idOf('claim', 7) }),
  'claims of a rule': () => reader.claimsInForce({ limit: 50, rule: 'rule-03', action: 'ban_device' }),
  'claims on what a name names': () =>
    reader.claimsInForce({ limit: 50, on: { targets: ['SN000123'], subjectIds: ['device-000123'] } }),
  'claims by rule and action': () => reader.claimCounts(),
  'exemptions that are over': () => reader.exemptionPage({ limit: 50, overAt: NOW_MS }),
  exemptions: () => reader.exemptionPage({ limit: 50, inForceAt: NOW_MS, before: idOf('exemption', 100) }),
  'a search': () => reader.identitiesNamed('person7@example.com'),
  'the history of a device': () => historyOf(reader, { subjectId: 'device-000123' }, { limit: 50, nowMs: NOW_MS }),
  audit: () => reader.audit({ limit: 50, beforeSeq: 9_000 }),
  'audit of a kind and a time': () => reader.audit({ limit: 50, kind: 'plan.approved', since: NOW_MS - DAY_MS }),
  'audit of an actor': () => reader.audit({ limit: 50, actor: 'ana', kind: 'plan.approved' }),
  'audit of a target': () => reader.audit({ limit: 50, target: 'SN000123', kind: 'intent.settled' }),
  'a summary': () => buildSummary(reader, NOW_MS - DAY_MS, NOW_MS),
  tokens: () => reader.endpointTokens(),
  'a page of tokens': () => reader.tokenPage({ limit: 50 }),
  'plans with their intents': () => reader.plans({ before: idOf('plan', 2) }, 5),
  'claims of one status': () => reader.newestClaims({ status: 'standing', before: idOf('claim', 7) }, 50),
  notifications: () => reader.notifications({ statuses: ['waiting'] }, 50),
  'the outline of a run': () => buildOutline(reader, last),
  'the report of a run': () => buildReport(reader, middle),
  'a run by its id, and the latest': async () => [await reader.run(middle.id), await reader.latestRun()],
  'what a rule led to': () => reader.decisions({ rule: 'rule-03', limit: 51, before: idOf('decision', 9_000) }),
  'the newest decisions about a subject': () => reader.decisions({ subjectId: 'device-000123', limit: 20 }),
  'tallies of rules': () => reader.ruleTallies(30),
  'intents by their ids': () => reader.intents({ ids: [idOf('intent', 7), idOf('intent', 8)] }),
  'intents on a target': () => reader.intents({ target: 'SN000123' }),
  'the newest intents on a target': () => reader.newestIntents({ target: 'SN000123' }, 5),
  'plans that name a subject': () => reader.plans({ status: 'pending', naming: ['device-000123', 'SN000123'] }, 20),
  'how far a plan is': async () => reader.planProgress((await reader.plan(idOf('plan', 1))) as Plan),
  'the open state of a subject': () =>
    reader.openStateOf(NOW_MS, {
      ...{
        kinds: ['device'] as const,
        subjects: ['device-000123'],
        targets: ['device-000123', 'SN000123'],
      },
    }),
  'one entry of the audit, and the last': async () => [
    await reader.audit({ afterSeq: 8_999, beforeSeq: 9_001, limit: 1 }),
    await reader.auditHead(),
  ],
};

const LARGE_TABLES =
  /^SCAN (decisions|episodes|intents|intent_episodes|attempts|audit|runs|claims|identities)\b|^SCAN plans$/;
/** In the order of its key or of an index, and with a LIMIT: a page of it. */
function isWhole(sql: string, detail: string): boolean {
  const isPage = /ORDER BY .* LIMIT \S+$/s.test(sql) && !/WHERE/.test(sql);
  return LARGE_TABLES.test(detail) && !isPage;
}

describe('a page over a large database', () => {
  it.each(Object.entries(READERS))('scans no large table: %s', async (_, read) => {
    db.asked.clear();
    await read();
    expect(db.asked.size).toBeGreaterThan(0);
    const plans = [...db.asked.keys()].map((sql) => ({ sql, plan: db.planOf(sql) }));
    expect(plans.filter(({ sql, plan }) => plan.some((detail) => isWhole(sql, detail)))).toEqual([]);
  });

  it('finds decisions in force without those that ended', async () => {
    db.asked.clear();
    await reader.decisionsOfRule(last, RULE, { limit: 0 });
    const [statement] = [...db.asked.keys()].filter((sql) => sql.includes('decisions_standing'));
    const plan = db.planOf(statement as string).join('\n');
    expect(plan).toContain('INDEX decisions_standing (rule=? AND run_seq<?)');
    expect(plan).toContain('INDEX decisions_ended (rule=? AND ended_seq>?)');
  });

  it('reads no intents for a list of plans', async () => {
    db.asked.clear();
    await reader.planLines({}, { limit: 50 });
    for (const sql of db.asked.keys()) expect(db.planOf(sql).join('\n')).toMatch(/COVERING INDEX plans_/);
  });
});

describe('the outline of a run', () => {
  it.each(['last', 'middle'] as const)('has every decision in force, in the order of the report: %s', async (which) => {
    const run = which === 'last' ? last : middle;
    const whole = await reader.decisionsOfRun(run);
    const outlines = await reader.outlinesOfRun(run);
    expect(outlines.length).toBeGreaterThan(100);
    expect(whole).toMatchObject(outlines);
  });

  it('finds what ended since another run, with the end of its episode', async () => {
    const between = { fromSeq: middle.seq, toSeq: last.seq };
    const sql = 'SELECT id FROM decisions WHERE run_seq <= ? AND ended_seq > ? AND ended_seq <= ?';
    const whole = db.all<{ id: string }>(sql, between.fromSeq, between.fromSeq, between.toSeq).map(({ id }) => id);
    const ended = await reader.decisionsEnded(between);
    expect(ended.length).toBeGreaterThan(100);
    expect(ended.map(({ id }) => id).sort()).toEqual(whole.sort());
    const ofRule = await reader.decisionsEnded({ ...between, rules: ['rule-03'] });
    expect(ofRule).toEqual(ended.filter(({ rule }) => rule === 'rule-03'));
    const some = ended.slice(0, 300);
    expect(await reader.endedDecisions(some.map(({ id }) => id))).toMatchObject(some);
  });

  it('shows its plan as the whole plan does, and names damage', async () => {
    const id = idOf('plan', 1);
    const { intents, ...head } = (await reader.plan(id)) as Plan;
    const outline = await reader.planOutline(id);
    expect(outline).toMatchObject(head);
    expect(intents).toMatchObject(outline?.intents ?? []);
    expect(outline?.intents).toHaveLength(intents.length);
    expect(await reader.planOutline('nobody')).toBeUndefined();
    db.run("UPDATE plans SET intents = '[{]' WHERE id = ?", idOf('plan', 3));
    await expect(reader.planOutline(idOf('plan', 3))).rejects.toMatchObject({ code: 'store_damaged' });
    db.run("UPDATE plans SET intents = '[]' WHERE id = ?", idOf('plan', 3));
  });
});

describe('the page of a run', () => {
  it.each(['pending', 'interrupted', 'superseded'])(
    'has the figures of the file, with a plan that is %s',
    async (status) => {
      const id = idOf('plan', 1);
      db.run(
        'UPDATE plans SET status = ?, decided_at = 1, superseded_by = ? WHERE id = ?',
        ...[status, status === 'superseded' ? JSON.stringify([idOf('plan', 2)]) : null, id],
      );
      const { decisions, ...file } = await buildReport(reader, last);
      const { decisions: outlines, ...page } = await buildOutline(reader, last);
      expect(page).toEqual({ ...file, plan: { ...file.plan, held: [] } });
      expect(await wholeDecisions(reader, outlines)).toEqual(decisions);
      expect(file.changes.gone).toBeGreaterThan(0);
      expect(decisions.some(({ inPlan }) => inPlan)).toBe(true);
      db.run("UPDATE plans SET status = 'pending', decided_at = NULL, superseded_by = NULL WHERE id = ?", id);
    },
  );
});

describe('the decisions of a rule in force', () => {
  it.each(['last', 'middle'] as const)(
    'are read page by page without a gap, in the order of the report: %s',
    async (which) => {
      const run = which === 'last' ? last : middle;
      const own = (await reader.decisionsOfRun(run)).filter(({ rule }) => rule === RULE);
      expect(own.length).toBeGreaterThan(3);
      const found: unknown[] = [];
      for (let after: string | undefined; ; ) {
        const { rows, total } = await reader.decisionsOfRule(run, RULE, { limit: 3, ...(after && { after }) });
        expect(total).toBe(own.length);
        found.push(...rows);
        after = rows.at(-1)?.id;
        if (rows.length < 3) break;
      }
      expect(found).toEqual(own);
    },
  );

  it('are none after one that does not exist, and none of a rule that the run did not judge', async () => {
    expect(await reader.decisionsOfRule(last, RULE, { limit: 3, after: 'nobody' })).toMatchObject({ rows: [] });
    expect(await reader.decisionsOfRule(last, 'no-such-rule', { limit: 3 })).toEqual({ rows: [], total: 0 });
  });
});

describe('plans, claims, intents and exemptions', () => {
  it('have a line for each plan, and counts of all of it', async () => {
    const id = idOf('plan', 1);
    const whole = await reader.plan(id);
    const lines = await reader.planLines({}, { limit: 5 });
    expect(lines).toEqual(
      (await reader.plans({}, 5)).map(({ intents, ...head }) => ({ ...head, intents: intents.length })),
    );
    expect(await reader.planLines({}, { limit: 5, before: lines[1]?.id as string })).toMatchObject([
      { id: idOf('plan', 3) },
      {},
      {},
      {},
      {},
    ]);
    expect(await reader.planLines({ status: 'pending' }, { limit: 5 })).toMatchObject([{ id }]);
    const counts = await reader.countsOfPlan(id);
    expect(counts).toHaveLength(20);
    for (const { rules, count } of counts) {
      expect(whole?.intents.filter(({ basis }) => basis[0]?.rule === rules[0]).length).toBe(count);
    }
    expect(await reader.countsOfPlan('nobody')).toEqual([]);
  });

  it('show how far a plan was applied, as the whole of its intents does', async () => {
    const id = idOf('plan', 2);
    db.run("UPDATE plans SET status = 'interrupted', decided_at = 1 WHERE id = ?", id);
    const plan = (await reader.plan(id)) as Plan;
    const progress = await reader.planProgress(plan);
    expect(progress).toEqual(progressOf(plan, await reader.intents({ liveFor: episodesOf(plan) })));
    expect(Object.keys(progress.outcomes)).toContain('parked');
    db.run("UPDATE plans SET status = 'superseded', decided_at = NULL WHERE id = ?", id);
  });

  it('page through claims from the oldest on, of both statuses', async () => {
    const all = (await reader.claims({})).map(({ id }) => id);
    const found: string[] = [];
    for (let after: string | undefined; ; ) {
      const { rows, total } = await reader.claimsInForce({ limit: 120, ...(after && { after }) });
      expect(total).toBe(all.length);
      found.push(...rows.map(({ id }) => id));
      after = rows.at(-1)?.id;
      if (rows.length < 120) break;
    }
    expect(found).toEqual(all);
    expect(await reader.claimsInForce({ limit: 5, after: 'nobody' })).toMatchObject({ rows: [] });
    const counts = await reader.claimCounts();
    expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(all.length);
    const bans = counts.filter(({ status, action }) => status === 'standing' && action === 'ban_device');
    expect(bans.reduce((sum, { count }) => sum + count, 0)).toBe(900);
  });

  it('go on before the row that is named, and are refused before one that does not exist', async () => {
    const intents = await reader.newestIntents({ outcome: 'failed' }, 10);
    const next = await reader.newestIntents({ outcome: 'failed', before: intents.rows[3]?.id as string }, 6);
    expect(next).toEqual({ rows: intents.rows.slice(4), total: intents.total });
    await expect(reader.newestIntents({ before: 'nobody' }, 6)).rejects.toThrow(GONE);
    const exemptions = await reader.exemptions();
    const page = await reader.exemptionPage({ limit: 3, before: exemptions[4]?.id as string });
    expect(page).toEqual({ rows: exemptions.slice(5, 8), total: exemptions.length });
    await expect(reader.exemptionPage({ limit: 3, before: 'nobody' })).rejects.toThrow(GONE);
  });
});
