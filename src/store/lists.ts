// store: the lists that people page through, newest first. In: filters and a limit. Out: one page of nouns.
// INVARIANT: every statement here has a LIMIT, and an index serves its order (test/store/paged-lists.test.ts). Each order is total.
// Errors of all: AppError `usage` when the row that a page follows is gone: an empty page would look like the end of the list.
import type { StoredDecision } from '../domain/decision.ts';
import { nameKey } from '../domain/identity.ts';
import type { Intent } from '../domain/intent.ts';
import type { PlanStatus } from '../domain/plan.ts';
import type { Newest, StateFilter } from '../domain/record-reader.ts';
import type { Run, RunCounts, RunQuery } from '../domain/run.ts';
import type { DecisionQuery } from '../domain/store.ts';
import { demandRow } from './demand-row.ts';
import { usersOf } from './identities.ts';
import type { Db, Row, Work } from './queries.ts';
import { decisionOfRow, intentOfRow, runLineOfRow } from './rows.ts';
import { Where } from './where.ts';

export function* newestIntents(db: Db, filter: StateFilter & { before?: string }, limit: number): Work<Newest<Intent>> {
  const where = new Where();
  where.add('status = ?', filter.status);
  where.add('outcome = ?', filter.outcome);
  where.add('target = ?', filter.target);
  const { rows, total } = yield* newest(db, 'intents', where, 'created_at', limit, filter.before);
  return { rows: rows.map(intentOfRow), total };
}

/** The number of all and the page, of one state of the database. `before`: the id of the last row of the page before. */
export function* newest(
  db: Db,
  table: string,
  where: Where,
  at: string,
  limit: number,
  before?: string,
): Work<Newest<Row>> {
  const counted = { sql: `SELECT count(*) AS n FROM ${table} ${where.text}`, values: [...where.values] };
  where.add(`(${at}, id) < (SELECT ${at}, id FROM ${table} WHERE id = ?)`, before);
  const page = `SELECT * FROM ${table} ${where.text} ORDER BY ${at} DESC, id DESC LIMIT ?`;
  return yield* db.snapshot(function* () {
    yield* demandRow(db, table, before);
    return {
      total: Number((yield* db.get<{ n: number }>(counted.sql, ...counted.values))?.n),
      rows: yield* db.all(page, ...where.values, limit),
    };
  });
}

/** Without what they found, which is long. */
const RUN_COLUMNS = `seq, id, mode, daemon_mode, run_trigger, rules, rule_set_hash, rules_dir, started_at, finished_at,
  status, error, demo, scoped, counts_with`;

export function* newestRuns(db: Db, query: RunQuery): Work<Run[]> {
  const where = new Where();
  where.add('seq < ?', query.before);
  if (query.since !== undefined) where.add('seq >= ?', yield* firstRunSince(db, query.since));
  where.add('status = ?', query.status);
  where.add('scoped = ?', query.whole ? 0 : undefined);
  where.add('(counts_with IS NULL) = ?', query.overLists ? 1 : undefined);
  const sql = `SELECT ${RUN_COLUMNS} FROM runs ${where.text} ORDER BY seq DESC LIMIT ?`;
  return (yield* db.all(sql, ...where.values, query.limit)).map(runLineOfRow);
}

const RUN_COUNTS = `SELECT decision AS what, count(*) AS n FROM decisions WHERE run_seq = ? GROUP BY 1
  UNION ALL SELECT CASE WHEN outcome IN ('succeeded', 'confirmed') THEN 'done' WHEN outcome = 'failed' THEN 'failed' ELSE 'open' END, count(*)
    FROM intents WHERE run_id = ? AND released = 0 AND status <> 'withdrawn' AND outcome IS DISTINCT FROM 'dry_run' GROUP BY 1`;

export function* countsOfRun(db: Db, { seq, id }: Pick<Run, 'seq' | 'id'>): Work<RunCounts> {
  const counts = { act: 0, hold: 0, skip: 0, done: 0, failed: 0, open: 0 };
  for (const { what, n } of yield* db.all<{ what: keyof RunCounts; n: number }>(RUN_COUNTS, seq, id)) counts[what] = n;
  return counts;
}

const SUBJECTS_OF_OWNER = `SELECT id FROM identities WHERE no IN (SELECT no FROM identity_owners WHERE owner_key = ?)
  UNION SELECT value FROM json_each(?)`;

/** Decisions are in the order of their runs. */
export const FIRST_OF_RUN = 'SELECT rowid FROM decisions WHERE run_seq >= ? ORDER BY run_seq, rowid LIMIT 1';

/** The number of the first run that was not over before this time; a number after all runs without one. */
export function* firstRunSince(db: Db, atMs: number): Work<number> {
  const ended = 'SELECT seq FROM runs WHERE finished_at >= ? ORDER BY finished_at, seq LIMIT 1';
  const underWay = 'SELECT seq FROM runs WHERE finished_at IS NULL ORDER BY seq LIMIT 1';
  const found = [yield* db.get<{ seq: number }>(ended, atMs), yield* db.get<{ seq: number }>(underWay)];
  return Math.min(...found.map((row) => row?.seq ?? Number.MAX_SAFE_INTEGER));
}

export function* newestDecisions(db: Db, query: DecisionQuery): Work<StoredDecision[]> {
  const where = new Where();
  where.add('run_seq = ?', query.runSeq);
  where.add('run_seq <= ?', query.inForceIn);
  where.add('(ended_seq IS NULL OR ended_seq > ?)', query.inForceIn);
  where.add('rule = ?', query.rule);
  const subjects = query.subjectIds ?? (query.subjectId === undefined ? undefined : [query.subjectId]);
  if (subjects?.length === 1) where.add('subject = ?', subjects[0]);
  else where.add('subject IN (SELECT value FROM json_each(?))', subjects && JSON.stringify(subjects));
  where.add('target = ?', query.target);
  where.add('decision = ?', query.decision);
  where.add('action = ?', query.action);
  if (query.owner !== undefined)
    where.add(
      `subject IN (${SUBJECTS_OF_OWNER})`,
      nameKey(query.owner),
      JSON.stringify(yield* usersOf(db, query.owner)),
    );
  if (query.since !== undefined) {
    where.add(`rowid >= (${FIRST_OF_RUN})`, yield* firstRunSince(db, query.since));
    where.add('written_at >= ?', query.since);
  }
  yield* demandRow(db, 'decisions', query.before);
  where.add('rowid < (SELECT rowid FROM decisions WHERE id = ?)', query.before);
  const sql = `SELECT * FROM decisions ${where.text} ORDER BY rowid DESC LIMIT ?`;
  return (yield* db.all(sql, ...where.values, query.limit)).map(decisionOfRow);
}

/** `statusAt` derives the requested status from the stored status and the time. `columns`: of the rows; `before`: an id. */
export function* newestPlans(
  db: Db,
  status: PlanStatus | undefined,
  nowMs: number,
  limit: number,
  { columns = '*', before }: { columns?: string; before?: string | undefined } = {},
): Work<Row[]> {
  const where = new Where();
  if (status === 'expired') {
    // Such a text of the status keeps the query on the index of times: by status, all such plans would be sorted first.
    where.add("(status || '' = 'expired' OR status || '' IN ('pending', 'approved') AND expires_at <= ?)", nowMs);
  } else {
    where.add('status = ?', status);
    if (status === 'pending' || status === 'approved') where.add('expires_at > ?', nowMs);
  }
  yield* demandRow(db, 'plans', before);
  where.add('(created_at, id) < (SELECT created_at, id FROM plans WHERE id = ?)', before);
  const sql = `SELECT ${columns} FROM plans ${where.text} ORDER BY created_at DESC, id DESC LIMIT ?`;
  return yield* db.all(sql, ...where.values, limit);
}
