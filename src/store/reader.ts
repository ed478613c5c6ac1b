// store: the reading half of the port, over any connection. The HTTP endpoint, lists and the reading commands use it.

import type { ActingTableReader, JudgeEnd, TableDifference } from '../domain/audit-entry.ts';
import type { CheckpointReader } from '../domain/checkpoint.ts';
import type { DecisionNow } from '../domain/decision.ts';
import type { Claim, Episode } from '../domain/episode.ts';
import type { Intent } from '../domain/intent.ts';
import { type PlannedCount, plannedCounts } from '../domain/plan.ts';
import type { Movement } from '../domain/snapshot.ts';
import type { DiskUse, OpenStateAbout, RunRecord } from '../domain/store.ts';
import type {
  AuditReader,
  ClaimFilter,
  CountedDecision,
  HeldSince,
  Newest,
  NewMatch,
  OpenStateReader,
  PageReader,
  PlanFilter,
  PullReader,
  RecordReader,
  RequestQuery,
  WatchReader,
} from '../domain/store-ports.ts';
import type { ReadingName } from '../domain/subjects.ts';
import { tableDifferences } from './acting-tables.ts';
import {
  allCheckpointLines,
  auditEntries,
  auditedDigest,
  auditedYes,
  auditNaming,
  checkpointAt,
  checkpointLinesAfter,
  DATABASE_ID,
  entriesFrom,
  headOf,
  sealOver,
} from './audit-rows.ts';
import { eventsFrom, readCoverage, serviceUse } from './event-log.ts';
import { joinedLater, membersNow } from './exemption-members.ts';
import { readRequest, readRequests } from './exemption-requests.ts';
import { heldInForce, heldSince, readFigures, readLastFindings } from './figures.ts';
import { fleetPage } from './fleet.ts';
import { decisionsOn, readKeptLatency } from './intent-log.ts';
import {
  claimCounts,
  claimsInForce,
  newestClaims,
  newestIntents,
  planLines,
  planOutline,
  planProgress,
} from './lists.ts';
import { readNotices } from './notices.ts';
import { readOpenFailures, readOpenState, readOpenStateOf } from './open-state.ts';
import { exemptionPage, readAcceptances, readExemption, readExemptions } from './operator.ts';
import { readNotifications } from './outbox.ts';
import { type Db, type Dialect, readMeta, rowByPrefix, Where, type Work } from './queries.ts';
import { CLAIM, DECISION, episodeOfRow, INTENT } from './rows.ts';
import { decisionsById, decisionsOfRule, outlinesOfRun, SqlRunReader } from './run-reader.ts';
import { readBaseline, readClockAgreement } from './run-rows.ts';
import { hasNewSignals, newSignals, transmitterStates } from './signal-box.ts';
import { storedJson } from './stored-json.ts';
import { readTokens, tokenPage } from './token-table.ts';

// What looks between two whole runs ask. In: the number of the last whole run, a time. Out: nouns. INVARIANT: every
// query here is answered by an index (test/store/queries.test.ts): it is asked every few seconds.

function* lastWholeId(db: Db): Work<string | undefined> {
  const last = `SELECT max(seq) FROM runs ${db.dialect.by('runs_whole')} WHERE status = 'completed' AND scoped = 0`;
  return (yield* db.get<{ id: string }>(`SELECT id FROM runs WHERE seq = (${last})`))?.id;
}

/** Of the platform's own log. */
function* eventTimes(db: Db, fromMs: number): Work<Map<string, number>> {
  const rows = yield* db.all<{ id: string; at: number }>(
    'SELECT id, created_at AS at FROM events WHERE created_at >= ? AND transmitter IS NULL',
    fromMs,
  );
  return new Map(rows.map(({ id, at }) => [id, at]));
}

const COUNTED = DECISION.only('rule', 'subject', 'reason', 'action', 'target', 'mode', 'cappedBy');
const OWNERS = `(SELECT json_group_array(owner.value) FROM json_each(effect, '$.devices') AS device,
  json_each(device.value, '$.owners') AS owner)`;

/** Both halves are looked up by rule: the rules are few. */
const counted = ({
  by,
}: Dialect) => `WITH asked(rule) AS (SELECT DISTINCT value FROM runs, json_each(runs.rules) WHERE seq >= ?)
  SELECT ${COUNTED.names}, ${OWNERS} AS owners FROM (
    SELECT * FROM decisions ${by('decisions_standing')} WHERE ended_seq IS NULL AND rule IN (SELECT rule FROM asked)
    UNION ALL
    SELECT * FROM decisions ${by('decisions_ended')} WHERE ended_seq > ? AND rule IN (SELECT rule FROM asked)) AS counted
  WHERE verdict = 'match' AND reason IN (SELECT value FROM json_each(?))`;

function* countedSince(db: Db, runSeq: number, reasons: readonly string[]): Work<CountedDecision[]> {
  return (yield* db.all(counted(db.dialect), runSeq, runSeq, JSON.stringify(reasons))).map((row) => ({
    ...COUNTED.nounOf(row),
    owners: storedJson<string[]>(row.owners).map((owner) => owner.toLowerCase()),
  }));
}

const NEW_MATCH = DECISION.only('subject', 'facts');

function* newMatchesSince(db: Db, runSeq: number, atMs: number): Work<NewMatch[]> {
  const sql = `SELECT ${NEW_MATCH.names} FROM decisions ${db.dialect.by('decisions_by_run')}
    WHERE run_seq > ? AND verdict = 'match' AND since > ? ORDER BY run_seq, rowid`;
  return (yield* db.all(sql, runSeq, atMs)).map(NEW_MATCH.nounOf);
}

/** An intent that was tried again with success is none. */
function* failuresOfRun(db: Db, runId: string): Work<number> {
  const sql = `SELECT count(*) AS n FROM attempts JOIN intents ON intents.id = attempts.intent_id
    WHERE attempts.run_id = ? AND (attempts.refused = 1 OR outcome IN ('failed', 'unknown', 'parked') OR outcome IS NULL)`;
  return Number((yield* db.get<{ n: number }>(sql, runId))?.n);
}

function* readMovement(db: Db, source: ReadingName, form: string): Work<Movement | undefined> {
  const row = yield* db.get('SELECT movement FROM movements WHERE source = ? AND form = ?', source, form);
  return row && storedJson<Movement>(row.movement);
}

function* episodesById(db: Db, ids: readonly string[]): Work<Episode[]> {
  const sql = 'SELECT * FROM episodes WHERE id IN (SELECT value FROM json_each(?)) ORDER BY since, id';
  return (yield* db.all(sql, JSON.stringify(ids))).map(episodeOfRow);
}

function* intentNamed(db: Db, idOrPrefix: string): Work<Intent | undefined> {
  const row = yield* rowByPrefix(db, 'intents', idOrPrefix);
  return row && INTENT.nounOf(row);
}

function* sentAfter(db: Db, { id, target }: Pick<Intent, 'id' | 'target'>): Work<Intent[]> {
  const last = '(SELECT max(id) FROM attempts WHERE intent_id = intents.id)';
  const sql = `SELECT * FROM intents WHERE target = ? AND id <> ?
      AND ${last} > (SELECT max(id) FROM attempts WHERE intent_id = ?) ORDER BY ${last}`;
  return (yield* db.all(sql, target, id, id)).map(INTENT.nounOf);
}

function* claimsMatching(db: Db, filter: ClaimFilter): Work<Claim[]> {
  const where = new Where();
  where.add('status = ?', filter.status);
  where.add('subject = ?', filter.subjectId);
  const sql = `SELECT * FROM claims ${where.text} ORDER BY opened_at, id`;
  return (yield* db.all(sql, ...where.values)).map(CLAIM.nounOf);
}

export class SqlReader
  extends SqlRunReader
  implements
    RecordReader,
    PageReader,
    AuditReader,
    PullReader,
    OpenStateReader,
    CheckpointReader,
    ActingTableReader,
    Omit<WatchReader, 'attemptsOfRun'>
{
  // Of the whole database, and of looks at the event log.

  async tableDifferences(judgeEnd?: JudgeEnd): Promise<readonly TableDifference[]> {
    return tableDifferences(this.db, judgeEnd);
  }

  async diskUse(): Promise<DiskUse> {
    return this.db.diskUse();
  }

  async lastWholeRun(known?: RunRecord): Promise<RunRecord | undefined> {
    const id = await this.db.reading(lastWholeId(this.db));
    if (id === known?.id) return known;
    return id === undefined ? undefined : this.run(id);
  }

  fleetPage = this.asks(fleetPage);
  address = this.asks((db) => readMeta(db, 'address'));
  databaseId = this.asks((db) => readMeta(db, DATABASE_ID));
  figures = this.asks((db) => readFigures(db, this.clock.nowMs()));
  lastFindings = this.asks(readLastFindings);
  eventTimes = this.asks(eventTimes);
  serviceUse = this.asks(serviceUse);
  countedSince = this.asks(countedSince);
  newMatchesSince = this.asks(newMatchesSince);
  failuresOfRun = this.asks(failuresOfRun);

  // Decisions, episodes, intents, claims.

  outlinesOfRun = this.over(outlinesOfRun);
  decisionsById = this.over(decisionsById);
  async decisionsOfRule(...asked: Parameters<PageReader['decisionsOfRule']>): Promise<Newest<DecisionNow>> {
    const { rows, total } = await decisionsOfRule(this.db, ...asked);
    return { rows: await this.answered(rows), total };
  }
  decisionsOn = this.asks(decisionsOn);
  async heldSince(sinceMs: number, named: number): Promise<HeldSince[]> {
    const { intentKey } = await import('../domain/digest.ts'); // most commands start without hashing
    return this.db.reading(heldSince(this.db, sinceMs, named, intentKey));
  }
  heldInForce = this.asks(heldInForce);
  episodes = this.asks(episodesById);
  intent = this.asks(intentNamed);
  sentAfter = this.asks(sentAfter);
  openFailures = this.asks(readOpenFailures);
  newestIntents = this.asks(newestIntents);
  claims = this.asks(claimsMatching);
  newestClaims = this.asks(newestClaims);
  claimsInForce = this.asks(claimsInForce);
  claimCounts = this.asks(claimCounts);

  // Plans.

  planOutline = this.asks((db, id: string) => planOutline(db, id, this.clock.nowMs()));
  planProgress = this.asks(planProgress);
  planLines = this.asks((db, filter: PlanFilter, query: { before?: string; limit: number }) =>
    planLines(db, filter, query, this.clock.nowMs()),
  );

  async countsOfPlan(id: string): Promise<readonly PlannedCount[]> {
    const plan = await this.plan(id);
    return plan ? plannedCounts(plan) : [];
  }

  // The audit.

  auditedDigest = this.asks(auditedDigest);
  auditedYes = this.asks(auditedYes);
  audit = this.asks(auditEntries);
  auditNaming = this.asks(auditNaming);
  auditSeal = this.asks(sealOver);
  auditHead = this.asks(headOf);
  auditFrom = this.over(entriesFrom);
  checkpointLines = this.asks(allCheckpointLines);
  checkpointLinesAfter = this.asks(checkpointLinesAfter);
  checkpointAt = this.asks(checkpointAt);

  // What a run begins with.

  openState = this.over(readOpenState);
  openStateOf = this.asks((db, nowMs: number, about: OpenStateAbout) =>
    db.snapshot(() => readOpenStateOf(db, nowMs, about)),
  );
  events = this.over(eventsFrom);
  coverage = this.asks(readCoverage);
  newSignals = this.asks(newSignals);
  hasNewSignals = this.asks(hasNewSignals);
  transmitterStates = this.asks(transmitterStates);
  baseline = this.asks(readBaseline);
  movement = this.asks(readMovement);
  clockAgreement = this.asks(readClockAgreement);
  keptLatency = this.asks(readKeptLatency);

  // What people commanded, and what is sent to them.

  acceptances = this.asks(readAcceptances);
  exemption = this.asks(readExemption);
  exemptions = this.asks(readExemptions);
  exemptionPage = this.asks(exemptionPage);
  exemptionRequest = this.asks((db, idOrPrefix: string) => readRequest(db, idOrPrefix, this.clock.nowMs()));
  exemptionRequests = this.asks((db, query: RequestQuery) => readRequests(db, query, this.clock.nowMs()));
  membersNow = this.over(membersNow);
  joinedLater = this.over(joinedLater);
  notifications = this.asks(readNotifications);
  notices = this.asks(readNotices);
  endpointTokens = this.asks(readTokens);
  tokenPage = this.asks(tokenPage);
}
