// store: the reading half of the port, over any connection. The HTTP endpoint, lists and the reading commands use it.

import type { ClockAgreement } from '../base/time.ts';
import type { ActingTableReader, AuditEntry, JudgeEnd, TableDifference } from '../domain/audit-entry.ts';
import type { CheckpointReader } from '../domain/checkpoint.ts';
import type { ReasonCode, StoredDecision } from '../domain/decision.ts';
import type { EndpointToken } from '../domain/endpoint-token.ts';
import type { Claim, Episode } from '../domain/episode.ts';
import type { TrustEvent } from '../domain/event.ts';
import type { Exemption, ExemptionMember, JoinedLater, MemberReader } from '../domain/exemption.ts';
import type { Intent } from '../domain/intent.ts';
import type { StoredNotification } from '../domain/notification.ts';
import type { Acceptance } from '../domain/operator.ts';
import {
  type PlanAuditKind,
  type PlannedCount,
  type PlanOutline,
  type PlanProgress,
  type PlanStatus,
  plannedCounts,
} from '../domain/plan.ts';
import type { KeptLatency } from '../domain/ports.ts';
import type { Baseline, Coverage, Movement } from '../domain/snapshot.ts';
import type { DiskUse, LastFindings, OpenState, OpenStateAbout, RunRecord, StoreFigures } from '../domain/store.ts';
import type {
  AuditQuery,
  AuditReader,
  ClaimFilter,
  CountedDecision,
  DecisionOutline,
  HeldSince,
  Newest,
  NewMatch,
  NotificationFilter,
  OpenStateReader,
  PagedClaims,
  PageReader,
  PlanLine,
  PullReader,
  RecordReader,
  StateFilter,
  WatchReader,
} from '../domain/store-ports.ts';
import type { Source } from '../domain/subjects.ts';
import { tableDifferences } from './acting-tables.ts';
import {
  allCheckpointLines,
  auditEntries,
  auditedDigest,
  checkpointAt,
  checkpointLinesAfter,
  entriesFrom,
  headOf,
  readDatabaseId,
} from './audit-rows.ts';
import { eventsFrom, readCoverage } from './event-log.ts';
import { joinedLater, membersNow } from './exemption-members.ts';
import { heldInForce, heldSince, readFigures, readLastFindings } from './figures.ts';
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
import { readOpenFailures, readOpenState, readOpenStateOf } from './open-state.ts';
import { exemptionPage, readAcceptances, readExemption, readExemptions } from './operator.ts';
import { readNotifications } from './outbox.ts';
import { type Db, type Dialect, rowByPrefix, type Work } from './queries.ts';
import { claimOfRow, episodeOfRow, intentOfRow } from './rows.ts';
import { decisionsById, decisionsOfRule, outlinesOfRun, SqlRunReader } from './run-reader.ts';
import { readBaseline, readClockAgreement } from './run-rows.ts';
import { storedJson } from './stored-json.ts';
import { readTokens, tokenPage } from './token-table.ts';
import { Where } from './where.ts';

// What looks between two whole runs ask. In: the number of the last whole run, a time. Out: nouns. INVARIANT: every
// query here is answered by an index (test/store/watch-queries.test.ts): it is asked every few seconds.

function* lastWholeSeq(db: Db): Work<number | undefined> {
  const sql = `SELECT max(seq) AS seq FROM runs ${db.dialect.by('runs_whole')} WHERE status = 'completed' AND scoped = 0`;
  return (yield* db.get<{ seq: number | null }>(sql))?.seq ?? undefined;
}

function* eventTimes(db: Db, fromMs: number): Work<Map<string, number>> {
  const rows = yield* db.all<{ id: string; at: number }>(
    'SELECT id, created_at AS at FROM events WHERE created_at >= ?',
    fromMs,
  );
  return new Map(rows.map(({ id, at }) => [id, at]));
}

const OWNERS = `(SELECT json_group_array(owner.value) FROM json_each(effect, '$.devices') AS device,
  json_each(device.value, '$.owners') AS owner)`;

/** Both halves are looked up by rule: the rules are few. */
const counted = ({
  by,
}: Dialect) => `WITH asked(rule) AS (SELECT DISTINCT value FROM runs, json_each(runs.rules) WHERE seq >= ?)
  SELECT rule, kind, subject, reason, action, target, mode, capped_by, ${OWNERS} AS owners FROM (
    SELECT * FROM decisions ${by('decisions_standing')} WHERE ended_seq IS NULL AND rule IN (SELECT rule FROM asked)
    UNION ALL
    SELECT * FROM decisions ${by('decisions_ended')} WHERE ended_seq > ? AND rule IN (SELECT rule FROM asked)) AS counted
  WHERE verdict = 'match' AND reason IN (SELECT value FROM json_each(?))`;

function* countedSince(db: Db, runSeq: number, reasons: readonly string[]): Work<CountedDecision[]> {
  return (yield* db.all(counted(db.dialect), runSeq, runSeq, JSON.stringify(reasons))).map((row) => ({
    rule: row.rule as string,
    subject: { kind: row.kind as CountedDecision['subject']['kind'], id: row.subject as string },
    reason: row.reason as CountedDecision['reason'],
    action: row.action as string,
    target: row.target as string,
    mode: row.mode as CountedDecision['mode'],
    cappedBy: (row.capped_by ?? undefined) as CountedDecision['cappedBy'],
    owners: storedJson<string[]>(row.owners).map((owner) => owner.toLowerCase()),
  }));
}

function* newMatchesSince(db: Db, runSeq: number, atMs: number): Work<NewMatch[]> {
  const sql = `SELECT kind, subject, facts FROM decisions ${db.dialect.by('decisions_by_run')}
    WHERE run_seq > ? AND verdict = 'match' AND since > ? ORDER BY run_seq, rowid`;
  return (yield* db.all(sql, runSeq, atMs)).map((row) => ({
    subject: { kind: row.kind as NewMatch['subject']['kind'], id: row.subject as string },
    facts: storedJson<NewMatch['facts']>(row.facts),
  }));
}

/** An intent that was tried again with success is none. */
function* failuresOfRun(db: Db, runId: string): Work<number> {
  const sql = `SELECT count(*) AS n FROM attempts JOIN intents ON intents.id = attempts.intent_id
    WHERE attempts.run_id = ? AND (attempts.refused = 1 OR outcome IN ('failed', 'unknown', 'parked') OR outcome IS NULL)`;
  return Number((yield* db.get<{ n: number }>(sql, runId))?.n);
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
  async tableDifferences(judgeEnd?: JudgeEnd): Promise<readonly TableDifference[]> {
    return tableDifferences(this.db, judgeEnd);
  }

  async address(): Promise<string | undefined> {
    return (await this.db.reading(this.db.get<{ value: string }>("SELECT value FROM meta WHERE key = 'address'")))
      ?.value;
  }

  async databaseId(): Promise<string | undefined> {
    return await this.db.reading(readDatabaseId(this.db));
  }

  async lastWholeRun(known?: RunRecord): Promise<RunRecord | undefined> {
    const seq = await this.db.reading(lastWholeSeq(this.db));
    return seq === known?.seq ? known : this.run(String(seq));
  }

  async eventTimes(fromMs: number): Promise<ReadonlyMap<string, number>> {
    return await this.db.reading(eventTimes(this.db, fromMs));
  }

  async countedSince(runSeq: number, reasons: readonly string[]): Promise<CountedDecision[]> {
    return await this.db.reading(countedSince(this.db, runSeq, reasons));
  }

  async newMatchesSince(runSeq: number, atMs: number): Promise<NewMatch[]> {
    return await this.db.reading(newMatchesSince(this.db, runSeq, atMs));
  }

  async failuresOfRun(runId: string): Promise<number> {
    return await this.db.reading(failuresOfRun(this.db, runId));
  }

  async outlinesOfRun(run: RunRecord): Promise<DecisionOutline[]> {
    return outlinesOfRun(this.db, run);
  }

  async planOutline(id: string): Promise<PlanOutline | undefined> {
    return await this.db.reading(planOutline(this.db, id, this.clock.nowMs()));
  }

  async decisionsById(ids: readonly string[]): Promise<StoredDecision[]> {
    return decisionsById(this.db, ids);
  }

  async decisionsOn(target: string): Promise<StoredDecision[]> {
    return await this.db.reading(decisionsOn(this.db, target));
  }

  async sentAfter({ id, target }: Pick<Intent, 'id' | 'target'>): Promise<Intent[]> {
    const last = '(SELECT max(id) FROM attempts WHERE intent_id = intents.id)';
    const sql = `SELECT * FROM intents WHERE target = ? AND id <> ?
      AND ${last} > (SELECT max(id) FROM attempts WHERE intent_id = ?) ORDER BY ${last}`;
    return (await this.db.reading(this.db.all(sql, target, id, id))).map(intentOfRow);
  }

  async episodes(ids: readonly string[]): Promise<Episode[]> {
    const sql = 'SELECT * FROM episodes WHERE id IN (SELECT value FROM json_each(?)) ORDER BY since, id';
    return (await this.db.reading(this.db.all(sql, JSON.stringify(ids)))).map(episodeOfRow);
  }

  async auditedDigest(kind: PlanAuditKind, planId: string): Promise<string | undefined> {
    return await this.db.reading(auditedDigest(this.db, kind, planId));
  }

  async audit(query: AuditQuery): Promise<AuditEntry[]> {
    return await this.db.reading(auditEntries(this.db, query));
  }

  async auditHead(): Promise<{ seq: number; hash: string }> {
    return await this.db.reading(headOf(this.db));
  }

  auditFrom(seq: number): AsyncIterable<AuditEntry[]> {
    return entriesFrom(this.db, seq);
  }

  async checkpointLines(): Promise<string[] | undefined> {
    return await this.db.reading(allCheckpointLines(this.db));
  }

  async checkpointLinesAfter(size: number): Promise<string[]> {
    return await this.db.reading(checkpointLinesAfter(this.db, size));
  }

  async checkpointAt(size: number): Promise<string | undefined> {
    return await this.db.reading(checkpointAt(this.db, size));
  }

  async openState(nowMs: number): Promise<OpenState> {
    return readOpenState(this.db, nowMs);
  }

  async openStateOf(nowMs: number, about: OpenStateAbout): Promise<OpenState> {
    return await this.db.reading(this.db.snapshot(() => readOpenStateOf(this.db, nowMs, about)));
  }

  events(fromMs: number, type?: string): AsyncIterable<TrustEvent[]> {
    return eventsFrom(this.db, fromMs, type);
  }

  async coverage(): Promise<Coverage[]> {
    return await this.db.reading(readCoverage(this.db));
  }

  async baseline(source: Source): Promise<Baseline | undefined> {
    return await this.db.reading(readBaseline(this.db, source));
  }

  async movement(source: Source, form: string): Promise<Movement | undefined> {
    const row = await this.db.reading(
      this.db.get('SELECT movement FROM movements WHERE source = ? AND form = ?', source, form),
    );
    return row && storedJson<Movement>(row.movement);
  }

  async figures(): Promise<StoreFigures> {
    return await this.db.reading(readFigures(this.db, this.clock.nowMs()));
  }

  async lastFindings(): Promise<LastFindings | undefined> {
    return await this.db.reading(readLastFindings(this.db));
  }

  async diskUse(): Promise<DiskUse> {
    return this.db.diskUse();
  }

  async exemption(idOrPrefix: string): Promise<Exemption | undefined> {
    return await this.db.reading(readExemption(this.db, idOrPrefix));
  }

  async acceptances(): Promise<Acceptance[]> {
    return await this.db.reading(readAcceptances(this.db));
  }

  async clockAgreement(): Promise<ClockAgreement | undefined> {
    return await this.db.reading(readClockAgreement(this.db));
  }

  async keptLatency(): Promise<KeptLatency | undefined> {
    return await this.db.reading(readKeptLatency(this.db));
  }

  async intent(idOrPrefix: string): Promise<Intent | undefined> {
    const row = await this.db.reading(rowByPrefix(this.db, 'intents', idOrPrefix));
    return row && intentOfRow(row);
  }

  async openFailures(): Promise<Intent[]> {
    return await this.db.reading(readOpenFailures(this.db));
  }

  async newestIntents(filter: StateFilter & { before?: string }, limit: number): Promise<Newest<Intent>> {
    return await this.db.reading(newestIntents(this.db, filter, limit));
  }

  async claims(filter: ClaimFilter): Promise<Claim[]> {
    const where = new Where();
    where.add('status = ?', filter.status);
    where.add('subject = ?', filter.subjectId);
    return (
      await this.db.reading(this.db.all(`SELECT * FROM claims ${where.text} ORDER BY opened_at, id`, ...where.values))
    ).map(claimOfRow);
  }

  async newestClaims(filter: PagedClaims, limit: number): Promise<Newest<Claim>> {
    return await this.db.reading(newestClaims(this.db, filter, limit));
  }

  async decisionsOfRule(
    run: RunRecord,
    rule: string,
    query: { after?: string; limit: number },
  ): Promise<Newest<StoredDecision>> {
    return decisionsOfRule(this.db, run, rule, query);
  }

  async planLines({ status }: { status?: PlanStatus }, query: { before?: string; limit: number }): Promise<PlanLine[]> {
    return await this.db.reading(planLines(this.db, status, query, this.clock.nowMs()));
  }

  async countsOfPlan(id: string): Promise<PlannedCount[]> {
    return plannedCounts((await this.plan(id))?.intents ?? []);
  }

  async planProgress(plan: PlanOutline): Promise<PlanProgress> {
    return await this.db.reading(planProgress(this.db, plan));
  }

  async claimsInForce(query: Parameters<PageReader['claimsInForce']>[0]): Promise<Newest<Claim>> {
    return await this.db.reading(claimsInForce(this.db, query));
  }

  async claimCounts(): ReturnType<PageReader['claimCounts']> {
    return await this.db.reading(claimCounts(this.db));
  }

  async exemptionPage(query: Parameters<PageReader['exemptionPage']>[0]): Promise<Newest<Exemption>> {
    return await this.db.reading(exemptionPage(this.db, query));
  }

  async heldSince(sinceMs: number, named: number): Promise<HeldSince[]> {
    return await this.db.reading(heldSince(this.db, sinceMs, named));
  }

  async heldInForce(reason: ReasonCode): Promise<number> {
    return await this.db.reading(heldInForce(this.db, reason));
  }

  async exemptions(inForceAt?: number): Promise<Exemption[]> {
    return await this.db.reading(readExemptions(this.db, inForceAt));
  }

  async membersNow(...[about, users]: Parameters<MemberReader['membersNow']>): Promise<ExemptionMember[] | undefined> {
    return membersNow(this.db, about, users);
  }

  async joinedLater(...[exemption, max]: Parameters<MemberReader['joinedLater']>): Promise<JoinedLater> {
    return joinedLater(this.db, exemption, max);
  }

  async notifications(filter: NotificationFilter, limit: number): Promise<StoredNotification[]> {
    return await this.db.reading(readNotifications(this.db, filter, limit));
  }

  async endpointTokens(): Promise<EndpointToken[]> {
    return await this.db.reading(readTokens(this.db));
  }

  async tokenPage(query: { before?: string; limit: number }): Promise<Newest<EndpointToken>> {
    return await this.db.reading(tokenPage(this.db, query));
  }
}
