// store: the lists that people page through, newest first. In: filters and a limit. Out: one page of nouns.
// INVARIANT: every statement here has a LIMIT, and an index serves its order (test/store/queries.test.ts). Each order is total.
// Errors of all: AppError `usage` when the row that a page follows is gone: an empty page would look like the end of the list.
import { LIFTED_BY_TIME, type StoredDecision } from '../domain/decision.ts';
import { type Claim, OPEN_CLAIM_STATUSES } from '../domain/episode.ts';
import { nameKey } from '../domain/identity.ts';
import type { Intent } from '../domain/intent.ts';
import {
  type BegunIntent,
  episodesOf,
  type OutlinedIntent,
  type PlanOutline,
  type PlanProgress,
  type PlanStatus,
  progressOf,
  statusAt,
} from '../domain/plan.ts';
import type { Run, RunCounts, RunQuery } from '../domain/run.ts';
import type { DecisionQuery } from '../domain/store.ts';
import type {
  ClaimQuery,
  Newest,
  PagedClaims,
  PageReader,
  PlanFilter,
  PlanHead,
  PlanLine,
  StateFilter,
} from '../domain/store-ports.ts';
import { usersOf } from './identities.ts';
import { type Db, type Dialect, demandRow, ofEach, type Row, Where, type Work } from './queries.ts';
import { CLAIM, DECISION, INTENT, PLAN_HEAD, RUN } from './rows.ts';
import { storedJson } from './stored-json.ts';

export function* newestIntents(db: Db, filter: StateFilter & { before?: string }, limit: number): Work<Newest<Intent>> {
  const where = new Where();
  where.add('status = ?', filter.status);
  where.add('outcome = ?', filter.outcome);
  where.add('target = ?', filter.target);
  const { rows, total } = yield* newest(db, 'intents', where, 'created_at', limit, filter.before);
  return { rows: rows.map(INTENT.nounOf), total };
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

export function* newestRuns(db: Db, query: RunQuery): Work<Run[]> {
  const where = new Where();
  where.add('seq < ?', query.before);
  if (query.since !== undefined) where.add('seq >= ?', yield* firstRunSince(db, query.since));
  where.add('status = ?', query.status);
  where.add('scoped = ?', query.whole ? 0 : undefined);
  where.add('(counts_with IS NULL) = ?', query.overLists ? 1 : undefined);
  const sql = `SELECT ${RUN.names} FROM runs ${where.text} ORDER BY seq DESC LIMIT ?`;
  return (yield* db.all(sql, ...where.values, query.limit)).map(RUN.nounOf);
}

const BY_TIME = JSON.stringify([...LIFTED_BY_TIME]);
const RUN_COUNTS = `SELECT CASE WHEN decision = 'skip' AND reason IN (SELECT value FROM json_each(?)) THEN 'wait' ELSE decision END AS what, count(*) AS n
    FROM decisions WHERE run_seq = ? GROUP BY 1
  UNION ALL SELECT CASE WHEN outcome IN ('succeeded', 'confirmed') THEN 'done' WHEN outcome = 'failed' THEN 'failed' ELSE 'open' END, count(*)
    FROM intents WHERE run_id = ? AND released = 0 AND status <> 'withdrawn' AND outcome IS DISTINCT FROM 'dry_run' GROUP BY 1`;

export function* countsOfRun(db: Db, { seq, id }: Pick<Run, 'seq' | 'id'>): Work<RunCounts> {
  const counts = { act: 0, hold: 0, wait: 0, skip: 0, done: 0, failed: 0, open: 0 };
  const rows = yield* db.all<{ what: keyof RunCounts; n: number }>(RUN_COUNTS, BY_TIME, seq, id);
  for (const { what, n } of rows) counts[what] = n;
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
  return (yield* db.all(sql, ...where.values, query.limit)).map(DECISION.nounOf);
}

/** Of plans that wait with the same content one: a live run's before a dry one's, then the newest. Value: the time. */
export const ONCE = ({ by }: Dialect) => `(plans.status <> 'pending' OR NOT EXISTS (SELECT 1
  FROM (SELECT id FROM plans ${by('plans_status')} WHERE status = 'pending' AND expires_at > ?) AS waiting
  JOIN plans AS same ${by('plans_heads')} ON same.id = waiting.id WHERE same.digest = plans.digest AND
    (CASE WHEN same.mode = 'dry-run' THEN 0 ELSE 1 END, same.created_at, same.id) >
    (CASE WHEN plans.mode = 'dry-run' THEN 0 ELSE 1 END, plans.created_at, plans.id)))`;

/** `statusAt` derives the requested status from the stored status and the time. `columns`: of the rows; `before`: an id. */
export function* newestPlans(
  db: Db,
  status: PlanStatus | undefined,
  nowMs: number,
  limit: number,
  { columns = '*', before, once }: { columns?: string; before?: string | undefined; once?: boolean } = {},
): Work<Row[]> {
  const where = new Where();
  if (once === true) where.add(ONCE(db.dialect), nowMs);
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

// Plans for pages: a list without their intents, which may be megabytes, and how far applying one is.

/** An index, or the row, has the number of intents: they are not read. */
const linesOf = ({ by, planned, releases }: Dialect) => `SELECT ${PLAN_HEAD.names},
    ${planned} AS planned, ${releases} AS releases,
    (SELECT min(created_at) FROM plan_revisions WHERE plan_id = plans.id) AS made_at
  FROM plans ${by('plans_heads')} WHERE id IN (SELECT value FROM json_each(?))`;

export function* planLines(
  db: Db,
  { status, once = false }: PlanFilter,
  { before, limit }: { before?: string; limit: number },
  nowMs: number,
): Work<PlanLine[]> {
  const ids = (yield* newestPlans(db, status, nowMs, limit, { columns: 'id', before, once })).map(
    ({ id }) => id as string,
  );
  const lines = new Map(
    (yield* db.all(linesOf(db.dialect), JSON.stringify(ids))).map((row) => [row.id, lineOf(row, nowMs)]),
  );
  return ids.flatMap((id) => lines.get(id) ?? []);
}

function lineOf(row: Row, nowMs: number): PlanLine {
  const head = planHeadOf(row, nowMs);
  return {
    ...head,
    madeAt: row.made_at === null ? head.createdAt : Number(row.made_at),
    intents: head.dropped?.intents ?? (row.planned as number | null) ?? undefined,
    releases: (row.releases as string | null) ?? undefined,
  };
}

function planHeadOf(row: Row, nowMs: number): PlanHead {
  const head = PLAN_HEAD.nounOf(row);
  return { ...head, status: statusAt(head, nowMs) };
}

export function* planProgress(db: Db, plan: PlanOutline): Work<PlanProgress> {
  return progressOf(plan, yield* liveOf(db, plan));
}

const LIVE = `SELECT one.episode_id, one.action, one.target, status, outcome, sent_at FROM intent_episodes AS one
  JOIN intents ON intents.id = one.intent_id WHERE one.live = 1 AND one.episode_id IN (SELECT value FROM json_each(?))`;

/** The live intents of its episodes, without their facts. */
function* liveOf(db: Db, plan: PlanOutline): Work<BegunIntent[]> {
  return (yield* db.all(LIVE, JSON.stringify(episodesOf(plan)))).map((row) => ({
    action: row.action as BegunIntent['action'],
    target: row.target as string,
    status: row.status as BegunIntent['status'],
    outcome: (row.outcome ?? undefined) as BegunIntent['outcome'],
    sentAt: (row.sent_at ?? undefined) as BegunIntent['sentAt'],
    basis: [{ episodeId: row.episode_id as string }],
  }));
}

// Claims, a page at a time: those in force with their counts, the oldest first; all of a status, the newest first.

type ClaimCounts = Awaited<ReturnType<PageReader['claimCounts']>>;

const COUNT =
  'SELECT status, rule, action, count(*) AS count FROM claims WHERE status = ? GROUP BY status, rule, action ORDER BY rule, action';
const BEFORE = '(opened_at, id) < (SELECT opened_at, id FROM claims WHERE id = ?)';
const AFTER = '(opened_at, id) > (SELECT opened_at, id FROM claims WHERE id = ?)';
/** Two ways to few rows: an index of each. */
const ON = `id IN (SELECT id FROM claims WHERE status = ? AND target IN (SELECT value FROM json_each(?))
  UNION SELECT id FROM claims WHERE status = ? AND subject IN (SELECT value FROM json_each(?)))`;

export function claimsInForce(db: Db, { status, after, limit, ...filter }: ClaimQuery): Work<Newest<Claim>> {
  const statuses = status === undefined ? OPEN_CLAIM_STATUSES : [status];
  const wheres = statuses.map((one) => matching(one, filter));
  return claimPage(db, wheres, { isNewestFirst: false, beyond: after, limit });
}

/** Errors: AppError `usage` when the claim that the page follows is gone. */
export function newestClaims(db: Db, { status, before }: PagedClaims, limit: number): Work<Newest<Claim>> {
  const statuses = status === 'open' ? OPEN_CLAIM_STATUSES : [status];
  const wheres = statuses.map((one) => matching(one, {}));
  return claimPage(db, wheres, { isNewestFirst: true, beyond: before, limit });
}

interface Part {
  isNewestFirst: boolean;
  beyond: string | undefined;
  limit: number;
}

/** One statement for each status: an index has the claims of one status in their order. */
function* claimPage(db: Db, wheres: readonly Where[], { isNewestFirst, beyond, limit }: Part): Work<Newest<Claim>> {
  const sign = isNewestFirst ? -1 : 1;
  const order = isNewestFirst ? 'opened_at DESC, id DESC' : 'opened_at, id';
  return yield* db.snapshot(function* () {
    if (isNewestFirst) yield* demandRow(db, 'claims', beyond);
    const pages: Newest<Claim>[] = [];
    for (const where of wheres) {
      const counted = `SELECT count(*) AS n FROM claims ${where.text}`;
      const total = Number((yield* db.get<{ n: number }>(counted, ...where.values))?.n);
      where.add(isNewestFirst ? BEFORE : AFTER, beyond);
      const sql = `SELECT * FROM claims ${where.text} ORDER BY ${order} LIMIT ?`;
      pages.push({ total, rows: (yield* db.all(sql, ...where.values, limit)).map(CLAIM.nounOf) });
    }
    return {
      total: pages.reduce((sum, page) => sum + page.total, 0),
      rows: pages
        .flatMap(({ rows }) => rows)
        .sort((one, other) => sign * (one.openedAt - other.openedAt || (one.id < other.id ? -1 : 1)))
        .slice(0, limit),
    };
  });
}

function matching(
  status: Claim['status'] | undefined,
  { rule, action, on }: Omit<ClaimQuery, 'status' | 'after' | 'limit'>,
): Where {
  const where = new Where();
  where.add('status = ?', status);
  where.add('rule = ?', rule);
  where.add('action = ?', action);
  if (on && status) where.add(ON, status, JSON.stringify(on.targets), status, JSON.stringify(on.subjectIds));
  return where;
}

export function* claimCounts(db: Db): Work<ClaimCounts> {
  return yield* db.snapshot(() => ofEach(OPEN_CLAIM_STATUSES, (status) => db.all<ClaimCounts[number]>(COUNT, status)));
}

// A plan with what its decisions and its progress are found by.

/** A row for each rule and subject that an intent is based on. An intent is in the plan, or the number of a shared row. */
const BASES = `SELECT one.no, one.intent ->> '$.action' AS action, one.intent ->> '$.target' AS target,
    basis.value ->> '$.rule' AS rule, basis.value ->> '$.subjectId' AS "subjectId", basis.value ->> '$.episodeId' AS "episodeId"
  FROM (SELECT planned.key AS no, CASE WHEN planned.type = 'integer'
      THEN (SELECT content FROM planned_intents WHERE planned_intents.no = CAST(planned.value AS BIGINT)) ELSE planned.value END AS intent
    FROM plans, jsonb_each(plans.intents) AS planned WHERE plans.id = ?) AS one, jsonb_each(one.intent, '$.basis') AS basis`;

/** Errors: AppError `store_damaged`. */
export function* planOutline(db: Db, id: string, nowMs: number): Work<PlanOutline | undefined> {
  const row = yield* db.get(`SELECT ${PLAN_HEAD.names} FROM plans ${db.dialect.by('plans_heads')} WHERE id = ?`, id);
  return row && { ...planHeadOf(row, nowMs), intents: outlinedIntents(yield* basesOf(db, id)) };
}

function* basesOf(db: Db, id: string): Work<Row[]> {
  try {
    return yield* db.all(BASES, id);
  } catch (error) {
    storedJson((yield* db.get<{ intents: string }>('SELECT intents FROM plans WHERE id = ?', id))?.intents); // it names the damage
    throw error;
  }
}

function outlinedIntents(bases: readonly Row[]): OutlinedIntent[] {
  const intents = new Map<unknown, OutlinedIntent & { basis: OutlinedIntent['basis'][number][] }>();
  for (const { no, action, target, rule, subjectId, episodeId } of bases) {
    const basis = { rule, subjectId, episodeId } as OutlinedIntent['basis'][number];
    const known = intents.get(no);
    if (known) known.basis.push(basis);
    else intents.set(no, { action, target, basis: [basis] } as OutlinedIntent & { basis: [typeof basis] });
  }
  return [...intents.values()];
}
