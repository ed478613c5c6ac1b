// store: the reading half of the port, over any connection. The HTTP endpoint, lists and the reading commands use it.
import type { ActingTableReader, JudgeEnd, TableDifference } from '../domain/acting-tables.ts';
import type { AuditEntry } from '../domain/audit-entry.ts';
import type { AuditQuery, AuditReader } from '../domain/audit-store.ts';
import type { CheckpointReader } from '../domain/checkpoint.ts';
import type { Claim } from '../domain/claim.ts';
import type { ReasonCode, StoredDecision } from '../domain/decision.ts';
import type { EndpointToken } from '../domain/endpoint-token.ts';
import type { Episode } from '../domain/episode.ts';
import type { TrustEvent } from '../domain/event.ts';
import type { Exemption } from '../domain/exemption.ts';
import type { ExemptionMember, JoinedLater, MemberReader } from '../domain/exemption-members.ts';
import type { Intent } from '../domain/intent.ts';
import type { Movement } from '../domain/movement.ts';
import type { StoredNotification } from '../domain/notification.ts';
import type { Acceptance } from '../domain/operator.ts';
import type { DecisionOutline, HeldSince, PageReader, PlanLine } from '../domain/page-reader.ts';
import type { PlanAuditKind, PlanOutline, PlanProgress, PlanStatus } from '../domain/plan.ts';
import { type PlannedCount, plannedCounts } from '../domain/planned-counts.ts';
import type { PullReader } from '../domain/pull-store.ts';
import type { KeptLatency } from '../domain/quiet-period.ts';
import type {
  ClaimFilter,
  Newest,
  NotificationFilter,
  PagedClaims,
  RecordReader,
  StateFilter,
} from '../domain/record-reader.ts';
import type { OpenStateReader } from '../domain/run-store.ts';
import type { Baseline, Coverage } from '../domain/snapshot.ts';
import type { ClockAgreement } from '../domain/steady-time.ts';
import type { OpenState, OpenStateAbout, RunRecord } from '../domain/store.ts';
import type { DiskUse, LastFindings, StoreFigures } from '../domain/store-figures.ts';
import type { Source } from '../domain/subjects.ts';
import type { CountedDecision, NewMatch, WatchReader } from '../domain/watch-store.ts';
import { tableDifferences } from './acting-tables.ts';
import { auditEntries } from './audit-list.ts';
import { auditedDigest, entriesFrom, headOf } from './audit-rows.ts';
import { readBaseline } from './baseline-rows.ts';
import { rowByPrefix } from './by-prefix.ts';
import { decisionsOn } from './by-target.ts';
import { allCheckpointLines, checkpointAt, checkpointLinesAfter, readDatabaseId } from './checkpoint-table.ts';
import { claimCounts, claimsInForce, newestClaims } from './claim-pages.ts';
import { readClockAgreement } from './clock-agreement.ts';
import { decisionsById, decisionsOfRule, outlinesOfRun } from './decision-outlines.ts';
import { eventsFrom, readCoverage } from './event-log.ts';
import { joinedLater, membersNow } from './exemption-members.ts';
import { readFigures, readLastFindings } from './figures.ts';
import { heldInForce, heldSince } from './held-since.ts';
import { readKeptLatency } from './kept-latency.ts';
import { newestIntents } from './lists.ts';
import { readOpenFailures, readOpenState } from './open-state.ts';
import { readOpenStateOf } from './open-state-of.ts';
import { exemptionPage, readAcceptances, readExemption, readExemptions } from './operator.ts';
import { readNotifications } from './outbox.ts';
import { planOutline } from './plan-outlines.ts';
import { planLines, planProgress } from './plan-pages.ts';
import { claimOfRow, episodeOfRow, intentOfRow } from './rows.ts';
import { SqlRunReader } from './run-reader.ts';
import { storedJson } from './stored-json.ts';
import { readTokens, tokenPage } from './token-table.ts';
import { countedSince, eventTimes, failuresOfRun, lastWholeSeq, newMatchesSince } from './watch-queries.ts';
import { Where } from './where.ts';

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
