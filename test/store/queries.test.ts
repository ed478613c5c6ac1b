// test: what pages, lists and looks ask of a large database is found by an index, and reads no more than it shows.

import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/base/json.ts';
import { seenOfKey } from '../../src/domain/episode.ts';
import { episodesOf, type Plan, progressOf } from '../../src/domain/plan.ts';
import { latelyKey, type RunRecord } from '../../src/domain/store.ts';
import { linkEntry } from '../../src/engine/audit/signing-key.ts';
import { historyOf } from '../../src/engine/explain/history-of.ts';
import { releaseClaims } from '../../src/engine/operate/release.ts';
import { resolveIntent } from '../../src/engine/operate/resolve-intent.ts';
import { buildOutline, buildReport, wholeDecisions } from '../../src/faces/report/build-report.ts';
import { readInbox } from '../../src/faces/report/inbox.ts';
import { auditViews } from '../../src/faces/report/lists-text.ts';
import { buildSummary } from '../../src/faces/report/summary/build.ts';
import { SqlReader } from '../../src/store/reader.ts';
import { SqliteWork } from '../../src/store/sqlite/database.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { storedList } from '../../src/store/stored-json.ts';
import { type CountingDb, countingDatabase } from '../support/counting-db.ts';
import { bodyOf, openEndpoint } from '../support/endpoint.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../support/engine-on-platform.ts';
import {
  addRun,
  decision,
  fakeClock,
  intent,
  openStore,
  plan,
  type RunFill,
  START_MS,
  tally,
} from '../support/filled-store.ts';
import { fillLarge, idOf, LARGE_END_MS, SMALL } from '../support/large-database.ts';
import { addEvent, addFleet, compromise, lookOn } from '../support/looks.ts';

describe('what pages ask of a large database is found by an index, and no statement reads a large table from end to end', () => {
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
    'requests that wait': () => reader.exemptionRequests({ status: 'waiting', limit: 50 }),
    'what a person asked for': () => reader.exemptionRequests({ person: 'ada@example.com', limit: 50 }),
    exemptions: () => reader.exemptionPage({ limit: 50, inForceAt: NOW_MS, before: idOf('exemption', 100) }),
    'a search': () => reader.identitiesNamed('person7@example.com'),
    'the history of a device': () => historyOf(reader, { subjectId: 'device-000123' }, { limit: 50, nowMs: NOW_MS }),
    audit: () => reader.audit({ limit: 50, beforeSeq: 9_000 }),
    'audit of a kind and a time': () => reader.audit({ limit: 50, kind: 'plan.approved', since: NOW_MS - DAY_MS }),
    'audit of an actor': () => reader.audit({ limit: 50, actor: 'ana', kind: 'plan.approved' }),
    'audit of a target': () => reader.audit({ limit: 50, target: 'SN000123', kind: 'intent.settled' }),
    'what waits, and what was done in a week': () => reader.workNow(NOW_MS),
    'what was done by the hour': () => reader.doneInSteps({ untilMs: NOW_MS, steps: 48, stepMs: 3_600_000 }),
    'what a rule did on each of 30 days': () =>
      reader.doneInSteps({ untilMs: NOW_MS, steps: 30, stepMs: DAY_MS, rule: 'rule-03' }),
    'what was in force over a week': () => reader.inForceSince(NOW_MS - 7 * DAY_MS),
    'the inbox': () => readInbox(reader, { limit: 50 }),
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
    'tallies of rules over 30 days': () =>
      reader.ruleTallies(
        Array.from({ length: 121 }, (_, at) => NOW_MS - (at * DAY_MS) / 4),
        20,
      ),
    'whole runs of 30 days': () => reader.wholeRunsSince(NOW_MS - 30 * DAY_MS),
    'names of what the audit is about': async () =>
      auditViews(reader, await reader.audit({ limit: 50, beforeSeq: 9_000 })),
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
    it.each(['last', 'middle'] as const)(
      'has every decision in force, in the order of the report: %s',
      async (which) => {
        const run = which === 'last' ? last : middle;
        const whole = await reader.decisionsOfRun(run);
        const outlines = await reader.outlinesOfRun(run);
        expect(outlines.length).toBeGreaterThan(100);
        expect(whole).toMatchObject(outlines);
      },
    );

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
        (await reader.plans({}, 5)).map(({ intents, ...head }) => ({
          ...head,
          madeAt: head.createdAt,
          intents: intents.length,
        })),
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
});

const LISTS = [
  '/api/intents',
  '/api/intents?status=settled',
  '/api/intents?outcome=parked',
  '/api/intents?status=settled&outcome=parked',
  '/api/claims',
  '/api/claims?status=standing',
  '/api/intents?status=planned&before=intent1',
  '/api/plans?before=plan1',
  '/api/plans?status=pending&before=plan1',
  '/api/decisions',
  '/api/decisions?run=run1',
  '/api/decisions?rule=ban-compromised-device',
  '/api/decisions?subject=device-1',
  '/api/decisions?target=SERIAL-1',
  '/api/decisions?decision=hold',
  '/api/decisions?action=ban_device&since=12h',
  '/api/decisions?rule=ban-compromised-device&decision=act&before=decision1',
  '/api/decisions?run=run1&subject=device-1&before=decision1',
  '/api/subjects/device/device-1',
  '/api/plans',
  '/api/plans?status=pending',
  '/api/plans?status=applied',
  '/api/plans?status=expired',
  '/api/runs',
  '/api/runs?before=9',
  '/api/audit',
  '/api/audit?after=1',
  '/api/audit?kind=notice',
  '/api/audit?kind=notice&before=9',
  '/api/audit?target=SERIAL-1',
  '/api/audit?actor=ana&since=12h',
  '/api/notifications',
  '/api/notifications?status=given_up',
];

async function filled() {
  const db = countingDatabase();
  const clock = fakeClock();
  const store = new SqliteStore(db, linkEntry, clock);
  await addRun(store, {
    mode: 'enforce',
    decisions: [decision({ intentId: 'intent1' })],
    intents: [intent()],
    plan: plan(decision()),
  });
  await store.appendAudit([{ kind: 'notice', body: { target: 'SERIAL-1' } }]);
  const endpoint = openEndpoint({ reader: store, clock });
  db.asked.clear();
  return { ...endpoint, store, db };
}

describe('the actions that a change window holds', () => {
  it('are counted from an index of them: whoever asks for the health of the daemon makes no pass over its decisions', async () => {
    const { store, db } = await filled();
    await store.heldInForce('frozen');
    const [asked = ''] = [...db.asked.keys()].filter((sql) => sql.includes('AS held'));
    expect(db.planOf(asked).filter((detail) => detail.includes(' decisions '))).toEqual([
      expect.stringContaining('USING INDEX decisions_held (reason=?)'),
    ]);
  });
});

/** Reads of one row, of rows that the caller named, or of the open claims of one subject. */
const NAMED =
  /^SELECT \S+ FROM \w+ WHERE (id (=|>=|IN)|seq =)|^SELECT seq, hash FROM audit|^SELECT id, seq FROM runs WHERE id IN|^SELECT \* FROM identities WHERE no IN|^SELECT no, content FROM planned_intents WHERE no IN|^SELECT \* FROM claims WHERE status = \? AND subject = \?|LIMIT 1$/;

function isPaged(db: CountingDb, sql: string): boolean {
  const isCount = sql.startsWith('SELECT count(*)');
  const plan = db.planOf(sql);
  if (isCount) return plan.every((detail) => detail.includes('COVERING INDEX'));
  return sql.includes('LIMIT ?') && plan.every((detail) => !/TEMP B-TREE/.test(detail) && !isUnordered(sql, detail));
}

/** Reads a table from end to end although a filter was given. */
function isUnordered(sql: string, detail: string): boolean {
  return /^SCAN (?!json_each)/.test(detail) && / = \?/.test(sql);
}

describe('a list of the endpoint', () => {
  it.each(LISTS)('reads no more than its page: %s', async (path) => {
    const { ask, db } = await filled();
    expect((await ask('GET', path)).status).toBe(200);
    const lists = [...db.asked.keys()].filter((sql) => !NAMED.test(sql));
    expect(lists.length).toBeGreaterThan(0);
    expect(lists.flatMap((sql) => (isPaged(db, sql) ? [] : [[sql, db.planOf(sql)]]))).toEqual([]);
  });

  it('of intents or claims has the newest first, and the number of all', async () => {
    const { ask, store } = await filled();
    const intents = Array.from({ length: 5 }, (_, index) =>
      intent({
        id: `more${index}`,
        target: `T-${index}`,
        createdAt: index,
        status: 'settled',
        outcome: 'failed',
        basis: [],
      }),
    );
    await addRun(store, { id: 'run2', mode: 'enforce', intents });
    expect(await bodyOf<object>(ask('GET', '/api/intents?status=settled&outcome=failed&limit=2'))).toMatchObject({
      intents: [{ id: 'more4' }, { id: 'more3' }],
      total: 5,
    });
    expect(await bodyOf<object>(ask('GET', '/api/intents?limit=1'))).toMatchObject({
      intents: [{ id: 'intent1' }],
      total: 6,
    });
    expect(await bodyOf<object>(ask('GET', '/api/claims?limit=1'))).toEqual({ claims: [], total: 0, next: null });
  });
});

const who = { by: 'ana', reason: 'test' };
const ids = (on: OnPlatform) => [...on.platform.devices.keys()];
const everyone = (on: OnPlatform, is: 'TRUE' | 'FALSE') => {
  for (const id of ids(on)) on.platform.compromised(id, is);
};
const answers = (on: OnPlatform, ...given: ('lost' | 'hidden' | 'failed')[]) => {
  for (const id of ids(on)) on.platform.answer(`S-${id}`, ...given);
};
const banned = async (on: OnPlatform) => {
  everyone(on, 'TRUE');
  await on.run();
  on.clock.pass(QUIET_MS);
};
const forbid = banRule({ id: 'wait', mode: 'approve' });

const scenes: { [title: string]: (on: OnPlatform) => Promise<unknown> } = {
  'banning and undoing': async (on) => {
    await banned(on);
    everyone(on, 'FALSE');
    await on.run();
  },
  'what failed is tried again': async (on) => {
    answers(on, 'failed');
    await banned(on);
    await on.run();
  },
  'doubts are read back and sent once more': async (on) => {
    answers(on, 'lost', 'hidden');
    await banned(on);
    await on.run();
    on.clock.pass(QUIET_MS);
    await on.run();
  },
  'a plan is approved and applied': async (on) => {
    on.rules(forbid);
    everyone(on, 'TRUE');
    const { plan } = await on.run();
    await on.apply(await on.approve(plan));
  },
  'what was banned is deleted, and was seen so by another rule': async (on) => {
    await banned(on);
    on.rules(banRule(), banRule({ id: 'second' }), banRule({ id: 'drop', does: 'delete_device' }));
    const { plan } = await on.run();
    await on.apply(await on.approve(plan));
  },
  'an intent stays planned or sent, and is left to the next run': async (on) => {
    everyone(on, 'TRUE');
    const { settle } = on.store;
    on.store.settle = async () => {};
    await on.run();
    on.store.settle = settle;
    await on.run();
  },
  'two rules claim, one of them is gone, and a person releases the target': async (on) => {
    on.rules(banRule(), banRule({ id: 'second' }));
    await banned(on);
    on.rules(banRule());
    await on.run();
    for (const id of ids(on)) await releaseClaims(on.engine, `S-${id}`, who);
  },
  'a person resolves doubts as done': async (on) => {
    answers(on, 'lost');
    await banned(on);
    for (const { id } of await on.store.intentsIn('unknown')) await resolveIntent(on.engine, id, 'done', who);
  },
};

async function played(scene: (on: OnPlatform) => Promise<unknown>, devices: number) {
  const db = countingDatabase();
  const ceilings = { run: { max: 1_000, percent: 100 }, day: { max: 1_000, percent: 100 } };
  const on = startOnPlatform({
    db,
    settings: (given) => ({
      ...given,
      act: { ...given.act, ceilings, runFailuresMax: 1_000 },
      decide: { ...given.decide, ceilings },
    }),
  });
  for (let number = 1; number <= devices; number += 1) on.platform.addDevice(`d${number}`);
  await scene(on);
  return { on, db };
}

/** Tables of SQLite's own functions hold what was handed over or the names of tables and columns, and no more. */
const HANDED = /^SCAN (json_each|CONSTANT ROW|\d+-ROW VALUES|sqlite_master|sqlite_schema|pragma_table_info)/;
/** One row for each stretch of time without a gap. */
const COVERAGE = 'SCAN coverage';
/** What people wrote one by one: all of it is asked for, and no index is believed. */
const EXEMPTIONS = 'SCAN exemptions';
/** Columns of few values: to search by them alone is to read a good part of the table. */
const FEW = new Set(['status', 'state', 'outcome', 'live', 'kind', 'rule', 'action', 'mode', 'ended_seq']);

function isWhole(detail: string): boolean {
  if (detail.startsWith('SCAN')) return !HANDED.test(detail) && detail !== COVERAGE && detail !== EXEMPTIONS;
  const by = /^SEARCH .*\((.*)\)$/.exec(detail)?.[1];
  const columns = by?.split(' AND ').map((term) => term.replace(/[=<>].*$/, ''));
  return columns?.every((column) => FEW.has(column)) ?? false;
}

describe('what is asked once per target', () => {
  it.each(Object.entries(scenes))('is found by an index: %s', async (_, scene) => {
    const [few, many] = [(await played(scene, 2)).db, (await played(scene, 5)).db];
    const grows = [...many.asked].filter(([sql, { times }]) => times > (few.asked.get(sql)?.times ?? 0));
    expect(grows.length).toBeGreaterThan(10);
    const whole = grows.flatMap(([sql]) => {
      const plan = many.planOf(sql);
      return plan.some(isWhole) ? [[sql, plan]] : [];
    });
    expect(whole).toEqual([]);
  });

  it.each(Object.entries(scenes))('equals what the whole open state has about the target: %s', async (_, scene) => {
    const { on, db } = await played(scene, 3);
    const open = await on.store.openState(on.clock.nowMs());
    const byId = <T extends { id: string }>(items: readonly T[]) => items.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    for (const { target } of db.all<{ target: string }>('SELECT DISTINCT target FROM decisions')) {
      const about = <T extends { target: string }>(items: readonly T[]) => items.filter((one) => one.target === target);
      expect(byId(await on.store.openClaimsOn(target))).toEqual(byId(about(open.claims)));
      expect(byId(await on.store.intentsOn(target))).toEqual(byId(about(open.intents)));
      expect(byId(await on.store.decisionsOn(target))).toEqual(byId(about(open.decisions)));
      const saw = open.episodes.filter(
        ({ state, seenSo }) => state !== 'closed' && seenSo.some((key) => seenOfKey(key).target === target),
      );
      expect(byId(await on.store.episodesThatSaw(target))).toEqual(byId(saw));
    }
    const all = db.all<{ id: string }>('SELECT id FROM episodes').map(({ id }) => id);
    expect(byId(await on.store.episodesInForce(all))).toEqual(byId(open.episodes));
    for (const [action, count] of open.attempts24h)
      expect(await on.store.attemptsSince(action, on.clock.nowMs() - 86_400_000)).toBe(count);
  });
});

const RULES = [banRule(), banRule({ id: 'second' }), banRule({ id: 'wait', mode: 'approve', does: 'delete_device' })];

/** Devices that were banned, are in doubt, wait for a person and failed; two share one serial number. */
async function scene() {
  const db = countingDatabase();
  const on = startOnPlatform({ db, rules: RULES });
  for (const id of ['done', 'lost', 'failed', 'clean', 'late']) on.platform.addDevice(id);
  on.platform.answer('S-lost', 'lost');
  on.platform.answer('S-failed', 'failed');
  for (const id of ['done', 'lost', 'failed']) on.platform.compromised(id, 'TRUE');
  await on.run();
  on.clock.pass(QUIET_MS);
  on.platform.compromised('late', 'TRUE');
  await on.run();
  return { db, on };
}

const about = (id: string) => ({
  kinds: ['device' as const],
  subjects: [id],
  targets: [`S-${id}`],
});

const byId = <T extends { id: string }>(items: readonly T[]) => items.toSorted((a, b) => (a.id < b.id ? -1 : 1));

describe('the open state of one subject', () => {
  it.each(['done', 'lost', 'failed', 'clean', 'late'])('is what the whole has about it: %s', async (id) => {
    const { on } = await scene();
    const nowMs = on.clock.nowMs();
    const whole = await on.store.openState(nowMs);
    const isOwn = ({ target }: { target: string }) => target === `S-${id}`;
    const one = await on.store.openStateOf(nowMs, about(id));
    expect({ ...one, episodes: byId(one.episodes), decisions: byId(one.decisions) }).toEqual({
      ...whole,
      episodes: byId(whole.episodes.filter(({ subject }) => subject.id === id)),
      claims: whole.claims.filter(isOwn),
      decisions: byId(whole.decisions.filter(isOwn)),
      intents: whole.intents.filter(isOwn),
      // Limits of a day count the episodes of others, of which no other row is read.
      lately: new Map([
        ...whole.episodes.map(({ rule, subject, since }) => [latelyKey(rule, subject.id), { since }] as const),
        ...(whole.lately ?? []),
      ]),
      lastAttempts: new Map([...whole.lastAttempts].filter(([key]) => key.endsWith(` S-${id}`))),
    });
    expect(one.decisions.length > 0).toBe(id !== 'clean');
  });

  /** The attempts of the last day are counted for the ceilings, which are about all subjects. */
  it('is found by indexes, however much is open of others', async () => {
    const { on, db } = await scene();
    db.asked.clear();
    await on.store.openStateOf(on.clock.nowMs(), about('done'));
    const scans = [...db.asked.keys()].flatMap((sql) =>
      db
        .planOf(sql)
        .filter((detail) => /^SCAN (episodes|claims|decisions|intents|attempts|intent_episodes)\b/.test(detail)),
    );
    expect(scans).toEqual([]);
  });
});

const TABLES = 'runs|events|decisions|episodes|claims|intents|attempts|intent_episodes';

describe('a look', () => {
  it.each(['nothing', 'acted'])('that ends with `%s` scans no table', async (result) => {
    const db = countingDatabase();
    const on = startOnPlatform({ db });
    await addFleet(on, 20);
    compromise(on, 'd1');
    await lookOn(on);
    if (result === 'acted') compromise(on, 'd2');
    else addEvent(on, 'd3');
    db.asked.clear();
    expect((await lookOn(on)).result).toBe(result);
    const own = [...db.asked.keys()].filter((sql) => sql.startsWith('SELECT') || sql.startsWith('WITH'));
    const scans = own.flatMap((sql) => db.planOf(sql).filter((one) => new RegExp(`^SCAN (${TABLES})\\b`).test(one)));
    expect(scans).toEqual([]);
    await on.close();
  });
});

describe('the counts of the rules over time', () => {
  const STEP_MS = 10_000;
  /** When the run of this number has ended. */
  const at = (index: number) => START_MS + index * STEP_MS + 3_000;

  it('are those of the completed runs that were the newest at the times asked for, newest first, each once', async () => {
    const clock = fakeClock();
    const store = openStore(clock);
    const add = async (fill: RunFill) => {
      await addRun(store, { startedAt: clock.nowMs(), ...fill });
      clock.advance(STEP_MS);
    };
    for (const [index, match] of [3, 5, 8].entries())
      await add({ id: `run${index}`, tallies: [tally({ rule: 'a', match })] });
    await add({ id: 'broken', error: 'lost', tallies: [tally({ rule: 'a' })] });
    await add({ id: 'open', finished: false, tallies: [tally({ rule: 'a' })] });
    const matches = async (...times: number[]) =>
      (await store.ruleTallies(times, 0)).map(({ seq, tallies }) => [seq, tallies[0]?.match]);
    expect(await matches(at(90), at(80), at(1), at(-1))).toEqual([
      [3, 8],
      [2, 5],
    ]);
    expect(await matches(at(0))).toEqual([[1, 3]]);
    expect((await store.ruleTallies([at(90)], 0))[0]?.at).toBe(START_MS + 2 * STEP_MS);
    expect(await matches()).toEqual([]);
    expect((await store.ruleTallies([at(0)], 1)).map(({ seq }) => seq)).toEqual([3, 1]);
  });

  it('leave out runs over chosen rules, and rules that a run did not judge', async () => {
    const store = openStore();
    const tallies = [tally({ rule: 'a', match: 1, unknown: 2 }), tally({ rule: 'b', judged: false })];
    await addRun(store, { id: 'whole', tallies });
    await addRun(store, { id: 'chosen', scoped: true, tallies });
    const [whole, ...others] = await store.ruleTallies([at(90)], 30);
    expect(others).toEqual([]);
    expect(whole).toMatchObject({ seq: 1, tallies: [{ rule: 'a', match: 1, unknown: 2 }] });
    expect(whole?.tallies).toHaveLength(1);
  });

  it('are found by indexes', async () => {
    const db = countingDatabase();
    const store = new SqliteStore(db, linkEntry, fakeClock());
    await addRun(store, { tallies: [tally({ rule: 'a' })] });
    db.asked.clear();
    await store.ruleTallies([at(90)], 30);
    const plans = [...db.asked.keys()].map((sql) => db.planOf(sql));
    expect(plans[0]?.join()).toMatch(/^SEARCH runs USING COVERING INDEX runs_whole/);
    expect(plans[1]?.join()).toMatch(/USING COVERING INDEX runs_whole .*USING COVERING INDEX runs_by_end/);
    expect(plans.flat().filter((detail) => /SCAN (?!json_each|times)/.test(detail))).toEqual([]);
  });
});

describe('a long list of a column is what was written, and is read with turns for others', () => {
  const FILLING = 'x'.repeat(70_000);

  it('a long list comes back as it was written, whatever its texts hold', async () => {
    const item = fc.oneof(
      fc.jsonValue(),
      fc.string({ unit: 'binary' }),
      fc.constantFrom('"', '\\', '[{,}]', '\\"]', ''),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(item, { maxLength: 8 }), async (items) => {
        const text = canonicalJson([FILLING, ...items, [FILLING, { a: FILLING }], FILLING, ...items]);
        expect(await storedList(text, async () => {})).toEqual(JSON.parse(text));
      }),
      { numRuns: 200 },
    );
  });

  it('others get their turn after every few characters, and not in a short list', async () => {
    const restsIn = async (count: number) => {
      let rests = 0;
      await storedList(canonicalJson(Array.from({ length: count }, () => ({ text: 'y'.repeat(1_000) }))), async () => {
        rests += 1;
      });
      return rests;
    };
    expect(await restsIn(10)).toBe(0);
    expect(await restsIn(10_000)).toBeGreaterThan(30);
  });

  it('a list that the disk has damaged is reported as damage', async () => {
    const text = canonicalJson(Array.from({ length: 10 }, () => FILLING));
    const cut = text.slice(0, -1);
    const joined = text.replace('","', '""');
    const quoted = `${text.slice(0, 300_000)}"${text.slice(300_000)}`;
    for (const damaged of [cut, joined, quoted])
      await expect(storedList(damaged, async () => {})).rejects.toMatchObject({ code: 'store_damaged' });
  });
});
