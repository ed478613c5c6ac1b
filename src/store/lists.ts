// store: the lists that people page through, newest first. In: filters and a limit. Out: one page of nouns.
// INVARIANT: every statement here has a LIMIT, and an index serves its order (test/store/paged-lists.test.ts). Each order is total.
import type { Claim } from '../domain/claim.ts';
import type { StoredDecision } from '../domain/decision.ts';
import type { Intent } from '../domain/intent.ts';
import type { PlanStatus } from '../domain/plan.ts';
import type { ClaimFilter, Newest, StateFilter } from '../domain/record-reader.ts';
import type { DecisionQuery } from '../domain/store.ts';
import type { Db, Row } from './database.ts';
import { claimOfRow, decisionOfRow, intentOfRow } from './rows.ts';
import { Where } from './where.ts';

export function newestIntents(db: Db, filter: StateFilter, limit: number): Newest<Intent> {
  const where = new Where();
  where.add('status = ?', filter.status);
  where.add('outcome = ?', filter.outcome);
  const { rows, total } = newest(db, 'intents', where, 'created_at', limit);
  return { rows: rows.map(intentOfRow), total };
}

export function newestClaims(db: Db, filter: Pick<ClaimFilter, 'status'>, limit: number): Newest<Claim> {
  const where = new Where();
  where.add('status = ?', filter.status);
  const { rows, total } = newest(db, 'claims', where, 'opened_at', limit);
  return { rows: rows.map(claimOfRow), total };
}

/** The number of all and the page, of one state of the database. */
function newest(db: Db, table: string, { text, values }: Where, at: string, limit: number): Newest<Row> {
  const counted = `SELECT count(*) AS n FROM ${table} ${text}`;
  const page = `SELECT * FROM ${table} ${text} ORDER BY ${at} DESC, id DESC LIMIT ?`;
  return db.snapshot(() => ({
    total: Number(db.get<{ n: number }>(counted, ...values)?.n),
    rows: db.all(page, ...values, limit),
  }));
}

export function newestDecisions(db: Db, query: DecisionQuery): StoredDecision[] {
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
  where.add('rowid < (SELECT rowid FROM decisions WHERE id = ?)', query.before);
  const sql = `SELECT * FROM decisions ${where.text} ORDER BY rowid DESC LIMIT ?`;
  return db.all(sql, ...where.values, query.limit).map(decisionOfRow);
}

/** `statusAt` derives the requested status from the stored status and the time. */
export function newestPlans(db: Db, status: PlanStatus | undefined, nowMs: number, limit: number): Row[] {
  const where = new Where();
  if (status === 'expired') {
    // The plus signs keep the query on the index of times: by status, all such plans would be sorted first.
    where.add("(+status = 'expired' OR +status IN ('pending', 'approved') AND expires_at <= ?)", nowMs);
  } else {
    where.add('status = ?', status);
    if (status === 'pending' || status === 'approved') where.add('expires_at > ?', nowMs);
  }
  const sql = `SELECT * FROM plans ${where.text} ORDER BY created_at DESC, id DESC LIMIT ?`;
  return db.all(sql, ...where.values, limit);
}
