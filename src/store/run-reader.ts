// store: runs, what came of them, and names, as reports and short lists read them, over any connection. In: ids, filters. Out:
// nouns. It loads little, so that a short command starts soon; reader.ts has the rest of the reading half.

import type { PrintKey } from '../base/print-bits.ts';
import { giveWay } from '../base/turns.ts';
import type { DecisionNow, StoredDecision } from '../domain/decision.ts';
import type { Episode } from '../domain/episode.ts';
import type { IdentityReader, PresentPrints } from '../domain/identity.ts';
import { type Intent, timesRefused } from '../domain/intent.ts';
import { type Plan, type PlanRevision, statusAt } from '../domain/plan.ts';
import type { Clock } from '../domain/ports.ts';
import { isLive, leastMode, MODES } from '../domain/rule.ts';
import type { ComparedRun, Run, RunMatches, RunRuleTally, RunTallies } from '../domain/run.ts';
import type { DecisionQuery, RunRecord } from '../domain/store.ts';
import type {
  DecisionOutline,
  EndedDecision,
  EndedKey,
  InboxCounts,
  Newest,
  PlanFilter,
  RecordReader,
  RunReader,
  WorkNow,
  WorkReader,
} from '../domain/store-ports.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import { doneInSteps, inForceSince, readInboxCounts, readWork, rejectedAmong } from './figures.ts';
import { identitiesLike } from './fleet.ts';
import { identitiesNamed, identitiesOf, identitiesSelected, presentIdentities, readPrintKey } from './identities.ts';
import { countsOfRun, firstRunSince, newestDecisions, newestPlans, newestRuns } from './lists.ts';
import { readRollouts, readStop } from './operator.ts';
import { type Db, type Dialect, inForceIn, type Row, readInTurns, rowByPrefix, Where, type Work } from './queries.ts';
import { DECISION, INTENT, planOfRow, runOfRow } from './rows.ts';
import { hasText, intentsOfPlan, storedJson } from './stored-json.ts';

// What a report compares a run with: the run before it, the decisions that ended since, and what earlier runs counted.

const LIVE = JSON.stringify(MODES.filter(isLive));

function* comparedRun(db: Db, run: Run): Work<ComparedRun | undefined> {
  const live = 'SELECT value FROM json_each(?)';
  const row = yield* db.get<{ id: string; seq: number; started_at: number; rules: string }>(
    `SELECT id, seq, started_at, rules FROM runs
     WHERE seq < ? AND status = 'completed' AND scoped = 0 AND (mode IN (${live}) AND daemon_mode IN (${live})) = ?
     ORDER BY seq DESC LIMIT 1`,
    run.seq,
    LIVE,
    LIVE,
    isLive(leastMode(run.mode, run.daemonMode)) ? 1 : 0,
  );
  return row && { id: row.id, seq: row.seq, startedAt: row.started_at, rules: storedJson<string[]>(row.rules) };
}

/** Every rule of which a decision has ended, found in the index one after another. */
const rulesOf = (index: string) => `WITH RECURSIVE named(rule) AS (
    SELECT min(rule) FROM decisions ${index} WHERE ended_seq IS NOT NULL AND rule > ''
    UNION ALL SELECT (SELECT min(rule) FROM decisions ${index} WHERE ended_seq IS NOT NULL AND rule > named.rule)
    FROM named WHERE named.rule IS NOT NULL)
  SELECT rule FROM named WHERE rule IS NOT NULL`;

const KEY = DECISION.only('id', 'rule', 'subject', 'action', 'target');

function* decisionsEnded(
  db: Db,
  { fromSeq, toSeq, rules }: { fromSeq: number; toSeq: number; rules?: readonly string[] },
): Work<EndedKey[]> {
  const index = db.dialect.by('decisions_ended'); // by rule, those that ended between: few rows are read
  const named = rules ?? (yield* db.all<{ rule: string }>(rulesOf(index))).map(({ rule }) => rule);
  const sql = `SELECT ${KEY.names}
    FROM decisions ${index}
    WHERE rule IN (SELECT value FROM json_each(?)) AND ended_seq > ? AND ended_seq <= ? AND run_seq <= ?
    ORDER BY rule, target, subject, id`;
  return (yield* db.all(sql, JSON.stringify(named), fromSeq, toSeq, fromSeq)).map(KEY.nounOf);
}

/** Facts and flips are long. */
const ENDED = DECISION.without('facts', 'flip');
const ENDED_COLUMNS = ENDED.names.map((name) => `decisions.${name}`);

function endedDecisions(db: Db, ids: readonly string[]): Promise<EndedDecision[]> {
  const sql = `SELECT ${ENDED_COLUMNS}, episodes.close_reason FROM json_each(?) JOIN decisions ON decisions.id = json_each.value
    LEFT JOIN episodes ON episodes.id = decisions.episode_id ORDER BY json_each.key`;
  return readInTurns(
    ids.map((id) => ({ id })),
    async (some) =>
      (await db.reading(db.all(sql, JSON.stringify(some)))).map((row) => ({
        ...ENDED.nounOf(row),
        episodeClosed: (row.close_reason ?? undefined) as Episode['closeReason'],
      })),
  );
}

const WHOLE = `SELECT seq FROM runs
  WHERE seq <= ? AND status = 'completed' AND scoped = 0 AND tallies IS NOT NULL ORDER BY seq DESC LIMIT ?`;
const MATCHES = `SELECT tally.value ->> '$.rule' AS rule, seq, started_at AS "startedAt", CAST(tally.value ->> '$.match' AS BIGINT) AS match
  FROM runs, json_each(runs.tallies) AS tally WHERE seq = ? AND CAST(tally.value ->> '$.judged' AS BIGINT) = 1`;

/** A run at a time: the examples of many rules are long, and others get their turn between. */
async function matchesOfRuns(db: Db, upToSeq: number, runsMax: number): Promise<RunMatches[]> {
  const matches: RunMatches[] = [];
  for (const { seq } of (await db.reading(db.all<{ seq: number }>(WHOLE, upToSeq, runsMax))).reverse()) {
    matches.push(...(await db.reading(db.all<RunMatches>(MATCHES, seq))));
    await giveWay();
  }
  return matches;
}

const NEWEST = ({ by }: Dialect) => `SELECT seq FROM runs ${by('runs_whole')} WHERE status = 'completed' AND scoped = 0
  AND seq > 0 ORDER BY seq DESC LIMIT ?`;
/** Indexes alone answer it: which run had ended last by a time, and which whole one was the newest then. */
const NEWEST_AT = ({
  by,
}: Dialect) => `SELECT DISTINCT (SELECT max(seq) FROM runs ${by('runs_whole')} WHERE status = 'completed' AND scoped = 0
  AND seq <= (SELECT seq FROM runs WHERE finished_at <= CAST(times.value AS BIGINT) ORDER BY finished_at DESC, seq DESC LIMIT 1)) AS seq
  FROM json_each(?) AS times`;

const WHOLE_SINCE = ({ by }: Dialect) => `SELECT count(*) AS n FROM runs ${by('runs_whole')}
  WHERE status = 'completed' AND scoped = 0 AND seq >= ?`;

function* wholeRunsSince(db: Db, fromMs: number): Work<{ fromSeq: number; count: number }> {
  const fromSeq = yield* firstRunSince(db, fromMs);
  return { fromSeq, count: Number((yield* db.get<{ n: number }>(WHOLE_SINCE(db.dialect), fromSeq))?.n) };
}

const NAMED = `SELECT runs.seq, runs.started_at AS at, runs.tallies FROM json_each(?)
  JOIN runs ON runs.seq = CAST(json_each.value AS BIGINT) WHERE runs.tallies IS NOT NULL`;

async function ruleTallies(db: Db, times: readonly number[], newest: number): Promise<RunTallies[]> {
  type Found = { seq: number | null };
  const found = [
    ...(await db.reading(db.all<Found>(NEWEST(db.dialect), newest))),
    ...(await db.reading(db.all<Found>(NEWEST_AT(db.dialect), JSON.stringify(times)))),
  ];
  const known = new Set(found.flatMap(({ seq }) => (seq === null ? [] : Number(seq))));
  const seqs = [...known].sort((one, other) => other - one);
  const read = seqs.map((seq) => ({ id: String(seq) }));
  const tallies = await readInTurns(read, async (some) => {
    const rows = await db.reading(db.all<{ seq: number; at: number; tallies: string }>(NAMED, JSON.stringify(some)));
    return rows.map(({ seq, at, tallies }) => ({
      seq,
      at,
      tallies: storedJson<RunRuleTally[]>(tallies).flatMap(countsOf),
    }));
  });
  return tallies.sort((one, other) => other.seq - one.seq);
}

/** A rule that was not judged has no counts: its zeros would show as no match. */
function countsOf({ rule, match, no_match, unknown, error, judged }: RunRuleTally): RunTallies['tallies'] {
  return judged ? [{ rule, match, no_match, unknown, error }] : [];
}

function* runNumbers(db: Db, ids: readonly string[]): Work<Pick<Run, 'id' | 'seq'>[]> {
  if (ids.length === 0) return [];
  const sql = 'SELECT id, seq FROM runs WHERE id IN (SELECT value FROM json_each(?))';
  return (yield* db.all<Pick<Run, 'id' | 'seq'>>(sql, JSON.stringify(ids))).map(({ id, seq }) => ({
    id,
    seq: Number(seq),
  }));
}

function* planRevisions(db: Db, planId: string): Work<PlanRevision[]> {
  const sql = 'SELECT digest, run_id, created_at, change FROM plan_revisions WHERE plan_id = ? ORDER BY no';
  return (yield* db.all<Row>(sql, planId)).map(({ digest, run_id, created_at, change }) => ({
    digest: digest as string,
    runId: run_id as string,
    createdAt: Number(created_at),
    change: storedJson(change),
  }));
}

function revisionsSo(db: Db, planId: string, digest: string): Work<Row[]> {
  const sql = `SELECT digest, run_id, created_at, intents FROM plan_revisions
    WHERE plan_id = ? AND substr(digest, 1, length(?)) = ? ORDER BY no DESC`;
  return db.all(sql, planId, digest, digest);
}

export class SqlRunReader implements RunReader, IdentityReader, WorkReader {
  constructor(
    protected readonly db: Db,
    protected readonly clock: Clock,
  ) {}

  /** With what a person has said no to since. */
  protected async answered(decisions: StoredDecision[]): Promise<DecisionNow[]> {
    const held = decisions.filter(({ decision, endedSeq }) => decision === 'hold' && endedSeq === undefined);
    if (held.length === 0) return decisions;
    const { intentKey } = await import('../domain/digest.ts');
    const rejected = await this.db.reading(rejectedAmong(this.db, held, intentKey));
    return decisions.map((one) => (rejected.has(one) ? { ...one, isRejected: true } : one));
  }

  /** A method that drives a program which only reads. */
  protected asks<Asked extends unknown[], T>(program: (db: Db, ...asked: Asked) => Work<T>) {
    return async (...asked: Asked): Promise<T> => this.db.reading(program(this.db, ...asked));
  }

  /** A method that reads in its own turns. */
  protected over<Asked extends unknown[], T>(read: (db: Db, ...asked: Asked) => T) {
    return (...asked: Asked): T => read(this.db, ...asked);
  }

  runLines = this.asks(newestRuns);
  runNumbers = this.asks(runNumbers);
  ruleTallies = this.over(ruleTallies);
  wholeRunsSince = this.asks(wholeRunsSince);
  countsOfRun = this.asks(countsOfRun);
  comparedRun = this.asks(comparedRun);
  decisionsEnded = this.asks(decisionsEnded);
  endedDecisions = this.over(endedDecisions);
  matchesOfRuns = this.over(matchesOfRuns);
  async decisions(query: DecisionQuery): Promise<DecisionNow[]> {
    return this.answered(await this.db.reading(newestDecisions(this.db, query)));
  }
  stop = this.asks(readStop);
  rollouts = this.asks(readRollouts);
  identitiesNamed = this.asks(identitiesNamed);
  identitiesOf = this.asks(identitiesOf);
  identitiesLike = this.asks(identitiesLike);
  identitiesSelected = this.asks(identitiesSelected);
  /** Undefined in a database that no run of a version with such a key has read for. */
  printKey = this.asks(readPrintKey);

  /** INVARIANT: an id that begins with a digit begins with 0, so that a run's number is never the beginning of an id. */
  async run(idOrNumber: string): Promise<RunRecord | undefined> {
    const row = /^[1-9]\d{0,14}$/.test(idOrNumber)
      ? await this.db.reading(this.db.get('SELECT * FROM runs WHERE seq = ?', Number(idOrNumber)))
      : await this.db.reading(rowByPrefix(this.db, 'runs', idOrNumber));
    return row && runOfRow(row);
  }

  /** What finding open failures takes is loaded where there are failures. */
  async inboxCounts(): Promise<InboxCounts> {
    const counts = await this.db.reading(readInboxCounts(this.db, this.clock.nowMs()));
    if (counts.failed === 0) return { ...counts, refused: 0 };
    const { readOpenFailures } = await import('./open-state.ts');
    const open = await this.db.reading(readOpenFailures(this.db));
    const refused = open.filter((intent) => timesRefused(intent) > 0).length;
    return { ...counts, failed: open.length - refused, refused };
  }

  async workNow(doneUntilMs: number): Promise<WorkNow> {
    return { ...(await this.db.reading(readWork(this.db, doneUntilMs))), inbox: await this.inboxCounts() };
  }

  doneInSteps = this.asks(doneInSteps);
  inForceSince = this.asks(inForceSince);

  async latestRun(): Promise<RunRecord | undefined> {
    return (await this.runsOverLists(1))[0];
  }

  async runs(limit: number, before?: number): Promise<RunRecord[]> {
    const rows = await this.db.reading(
      this.db.all(
        'SELECT * FROM runs WHERE seq < ? ORDER BY seq DESC LIMIT ?',
        before ?? Number.MAX_SAFE_INTEGER,
        limit,
      ),
    );
    return rows.map(runOfRow);
  }

  async runsOverLists(limit: number): Promise<RunRecord[]> {
    const newest = `SELECT seq FROM runs ${this.db.dialect.by('runs_over_lists')} WHERE counts_with IS NULL AND seq < ? ORDER BY seq DESC LIMIT ?`;
    return (
      await this.db.reading(
        this.db.all(`SELECT * FROM runs WHERE seq IN (${newest}) ORDER BY seq DESC`, Number.MAX_SAFE_INTEGER, limit),
      )
    ).map(runOfRow);
  }

  async decisionsOfRun(run: RunRecord): Promise<StoredDecision[]> {
    const columns =
      'id, decision, rule, target, subject, octet_length(facts) + octet_length(effect) + octet_length(subject_name) AS bytes';
    const { sql, values } = inForceIn(this.db.dialect, run, columns);
    const found = await this.db.reading(
      this.db.all<{ id: string; bytes: number }>(
        `SELECT id, bytes FROM ${sql}
       ORDER BY CASE decision WHEN 'act' THEN 0 WHEN 'hold' THEN 1 ELSE 2 END, rule, target, subject, id`,
        ...values,
      ),
    );
    const named =
      'SELECT decisions.* FROM json_each(?) JOIN decisions ON decisions.id = json_each.value ORDER BY json_each.key';
    return readInTurns(found, async (ids) =>
      (await this.db.reading(this.db.all(named, JSON.stringify(ids)))).map(DECISION.nounOf),
    );
  }

  async intents(filter: Parameters<RecordReader['intents']>[0]): Promise<Intent[]> {
    const where = new Where();
    where.add('status = ?', filter.status);
    where.add('outcome = ?', filter.outcome);
    where.add('target = ?', filter.target);
    where.add('id IN (SELECT value FROM json_each(?))', filter.ids && JSON.stringify(filter.ids));
    where.add(
      'id IN (SELECT intent_id FROM intent_episodes WHERE live = 1 AND episode_id IN (SELECT value FROM json_each(?)))',
      filter.liveFor && JSON.stringify(filter.liveFor),
    );
    return (
      await this.db.reading(this.db.all(`SELECT * FROM intents ${where.text} ORDER BY created_at, id`, ...where.values))
    ).map(INTENT.nounOf);
  }

  async plan(idOrPrefix: string): Promise<Plan | undefined> {
    const row = await this.db.reading(rowByPrefix(this.db, 'plans', idOrPrefix));
    return row && this.planNow(row);
  }

  async plans({ status, naming, before }: PlanFilter, limit: number): Promise<Plan[]> {
    const plans: Plan[] = [];
    // As texts they are in the JSON: a plan of 10,000 intents is only read as such when it has one of them.
    const texts = naming?.map((name) => JSON.stringify(name));
    for (const row of await this.db.reading(newestPlans(this.db, status, this.clock.nowMs(), limit, { before }))) {
      if (texts === undefined || (await this.db.reading(hasText(this.db, row, texts))))
        plans.push(await this.planNow(row));
    }
    return plans;
  }

  planRevisions = this.asks(planRevisions);

  async planAt(id: string, digest: string): Promise<Plan | undefined> {
    const row = await this.db.reading(this.db.get('SELECT * FROM plans WHERE id = ?', id));
    const was = await this.db.reading(revisionsSo(this.db, id, digest));
    const all = row && (row.digest as string).startsWith(digest) ? [row, ...was] : was;
    const [one] = all;
    if (!row || !one || all.some((other) => other.digest !== one.digest)) return undefined; // a beginning may fit several
    return this.planNow({ ...row, ...one });
  }

  private async planNow(row: Row): Promise<Plan> {
    const plan = planOfRow(row, await intentsOfPlan(this.db, row));
    return { ...plan, status: statusAt(plan, this.clock.nowMs()) };
  }

  async presentPrints(kind: SubjectKind, key: PrintKey): Promise<PresentPrints> {
    return (await presentIdentities(this.db, kind, key)).prints;
  }

  async close(): Promise<void> {
    await this.db.close();
  }

  /** When the newest completed run over lists ended, epoch ms. By the order of runs, since the clock may have jumped. */
  async lastCompletedAt(): Promise<number | undefined> {
    const sql =
      "SELECT finished_at FROM runs WHERE status = 'completed' AND counts_with IS NULL ORDER BY seq DESC LIMIT 1";
    return (await this.db.reading(this.db.get<{ finished_at: number }>(sql)))?.finished_at;
  }
}

// All decisions in force in a run without what makes their rows long, a page of those of one rule, and chosen ones
// whole: a page counts and groups all of them, and shows few.

const OUTLINE = DECISION.without('runId', 'writtenAt', 'endedSeq', 'facts', 'flip', 'episodeId', 'outcomeText');
const ORDER = "CASE decision WHEN 'act' THEN 0 WHEN 'hold' THEN 1 ELSE 2 END, rule, target, subject, id";
const ROWS_AT_ONCE = 1_000;

export async function outlinesOfRun(db: Db, run: RunRecord): Promise<DecisionOutline[]> {
  const { sql, values } = inForceIn(db.dialect, run, OUTLINE.names.join());
  const rows = await db.reading(db.all<Row>(`SELECT * FROM ${sql} ORDER BY ${ORDER}`, ...values));
  const outlines: DecisionOutline[] = [];
  for (const [at, row] of rows.entries()) {
    if (at % ROWS_AT_ONCE === 0) await giveWay();
    outlines.push(OUTLINE.nounOf(row));
  }
  return outlines;
}

/** INVARIANT: an index has these columns, so that only the rows of the page are read. */
const ORDERED = 'id, rule, decision, target, subject';

export async function decisionsOfRule(
  db: Db,
  run: RunRecord,
  rule: string,
  { after, limit }: { after?: string; limit: number },
): Promise<Newest<StoredDecision>> {
  const { sql, values } = inForceIn(db.dialect, run, ORDERED, rule);
  const ids = (await db.reading(db.all<{ id: string }>(`SELECT id FROM ${sql} ORDER BY ${ORDER}`, ...values))).map(
    ({ id }) => id,
  );
  const from = after === undefined ? 0 : ids.indexOf(after) + 1;
  const isUnknown = after !== undefined && from === 0;
  return { rows: await decisionsById(db, isUnknown ? [] : ids.slice(from, from + limit)), total: ids.length };
}

export function decisionsById(db: Db, ids: readonly string[]): Promise<StoredDecision[]> {
  const sql =
    'SELECT decisions.* FROM json_each(?) JOIN decisions ON decisions.id = json_each.value ORDER BY json_each.key';
  const found = ids.map((id) => ({ id }));
  return readInTurns(found, async (some) => (await db.reading(db.all(sql, JSON.stringify(some)))).map(DECISION.nounOf));
}
