// store: the reading half of the port, over any connection. Reports, the HTTP endpoint and the reading commands use it.
import type { ActingTableReader, JudgeEnd, TableDifference } from '../domain/acting-tables.ts';
import type { AuditEntry } from '../domain/audit-entry.ts';
import type { AuditQuery, AuditReader } from '../domain/audit-store.ts';
import type { CheckpointReader } from '../domain/checkpoint.ts';
import type { Claim } from '../domain/claim.ts';
import type { StoredDecision } from '../domain/decision.ts';
import type { EndpointToken } from '../domain/endpoint-token.ts';
import type { Episode } from '../domain/episode.ts';
import type { TrustEvent } from '../domain/event.ts';
import type { Exemption } from '../domain/exemption.ts';
import type { IdentityReader, NamedIdentity, PresentPrints, SelectedIdentities } from '../domain/identity.ts';
import type { Intent } from '../domain/intent.ts';
import type { NotificationStatus, StoredNotification } from '../domain/notification.ts';
import type { Acceptance, Stop } from '../domain/operator.ts';
import { type Plan, type PlanStatus, statusAt } from '../domain/plan.ts';
import type { Clock } from '../domain/ports.ts';
import type { PullReader } from '../domain/pull-store.ts';
import type { KeptLatency } from '../domain/quiet-period.ts';
import type { ClaimFilter, Newest, RecordReader, StateFilter } from '../domain/record-reader.ts';
import type { Run, RunCounts, RunQuery } from '../domain/run.ts';
import type { OpenStateReader } from '../domain/run-store.ts';
import type { Baseline, Coverage } from '../domain/snapshot.ts';
import type { ClockAgreement } from '../domain/steady-time.ts';
import type { DecisionQuery, OpenState, OpenStateAbout, RunRecord } from '../domain/store.ts';
import type { Source, SubjectKind } from '../domain/subjects.ts';
import { tableDifferences } from './acting-tables.ts';
import { auditEntries } from './audit-list.ts';
import { auditedDigest, entriesFrom, headOf } from './audit-rows.ts';
import { rowByPrefix } from './by-prefix.ts';
import { decisionsOn } from './by-target.ts';
import { allCheckpointLines, checkpointAt, readDatabaseId } from './checkpoint-table.ts';
import { readClockAgreement } from './clock-agreement.ts';
import type { Db, Row } from './database.ts';
import { eventsFrom, readCoverage } from './event-log.ts';
import { identitiesNamed, identitiesSelected, presentPrints } from './identities.ts';
import { readKeptLatency } from './kept-latency.ts';
import { countsOfRun, newestClaims, newestDecisions, newestIntents, newestPlans, newestRuns } from './lists.ts';
import { readOpenFailures, readOpenState } from './open-state.ts';
import { readOpenStateOf } from './open-state-of.ts';
import { readAcceptances, readExemption, readExemptions, readStop } from './operator.ts';
import { readNotifications } from './outbox.ts';
import { readInTurns } from './read-in-turns.ts';
import { claimOfRow, decisionOfRow, episodeOfRow, intentOfRow, planOfRow, runOfRow } from './rows.ts';
import { storedJson } from './stored-json.ts';
import { storedList } from './stored-list.ts';
import { readTokens } from './token-table.ts';
import { Where } from './where.ts';

export class SqliteReader
  implements RecordReader, IdentityReader, AuditReader, PullReader, OpenStateReader, CheckpointReader, ActingTableReader
{
  constructor(
    protected readonly db: Db,
    protected readonly clock: Clock,
  ) {}

  async tableDifferences(judgeEnd?: JudgeEnd): Promise<readonly TableDifference[]> {
    return tableDifferences(this.db, judgeEnd);
  }

  async address(): Promise<string | undefined> {
    return this.db.get<{ value: string }>("SELECT value FROM meta WHERE key = 'address'")?.value;
  }

  async databaseId(): Promise<string | undefined> {
    return readDatabaseId(this.db);
  }

  /** INVARIANT: an id that begins with a digit begins with 0, so that a run's number is never the beginning of an id. */
  async run(idOrNumber: string): Promise<RunRecord | undefined> {
    const row = /^[1-9]\d{0,14}$/.test(idOrNumber)
      ? this.db.get('SELECT * FROM runs WHERE seq = ?', Number(idOrNumber))
      : rowByPrefix(this.db, 'runs', idOrNumber);
    return row && runOfRow(row);
  }

  async latestRun(): Promise<RunRecord | undefined> {
    return (await this.runs(1))[0];
  }

  /** When the newest completed run ended, epoch ms. By the order of runs, since the clock may have jumped. */
  async lastCompletedAt(): Promise<number | undefined> {
    const sql = "SELECT finished_at FROM runs WHERE status = 'completed' ORDER BY seq DESC LIMIT 1";
    return this.db.get<{ finished_at: number }>(sql)?.finished_at;
  }

  async runs(limit: number, before?: number): Promise<RunRecord[]> {
    const rows = this.db.all(
      'SELECT * FROM runs WHERE seq < ? ORDER BY seq DESC LIMIT ?',
      before ?? Number.MAX_SAFE_INTEGER,
      limit,
    );
    return rows.map(runOfRow);
  }

  async runLines(query: RunQuery): Promise<Run[]> {
    return newestRuns(this.db, query);
  }

  async countsOfRun(run: Pick<Run, 'seq' | 'id'>): Promise<RunCounts> {
    return countsOfRun(this.db, run);
  }

  async decisionsOfRun(run: RunRecord): Promise<StoredDecision[]> {
    const found = this.db.all<{ id: string; bytes: number }>(
      `SELECT id, octet_length(facts) + octet_length(effect) + octet_length(subject_name) AS bytes FROM decisions
       WHERE run_seq <= ? AND (ended_seq IS NULL OR ended_seq > ?)
         AND rule IN (SELECT value FROM json_each(?))
       ORDER BY CASE decision WHEN 'act' THEN 0 WHEN 'hold' THEN 1 ELSE 2 END, rule, target, subject, id`,
      run.seq,
      run.seq,
      JSON.stringify(judgedRulesOf(run)),
    );
    return readInTurns(found, (ids) =>
      this.db
        .all(
          'SELECT decisions.* FROM json_each(?) JOIN decisions ON decisions.id = json_each.value ORDER BY json_each.key',
          JSON.stringify(ids),
        )
        .map(decisionOfRow),
    );
  }

  async decisions(query: DecisionQuery): Promise<StoredDecision[]> {
    return newestDecisions(this.db, query);
  }

  async decisionsOn(target: string): Promise<StoredDecision[]> {
    return decisionsOn(this.db, target);
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
    return this.db.all(`SELECT * FROM intents ${where.text} ORDER BY created_at, id`, ...where.values).map(intentOfRow);
  }

  async sentAfter({ id, target }: Pick<Intent, 'id' | 'target'>): Promise<Intent[]> {
    const sql = `SELECT intents.* FROM intents JOIN attempts ON attempts.intent_id = intents.id
      WHERE intents.target = ? AND intents.id <> ? GROUP BY intents.id
      HAVING max(attempts.id) > (SELECT max(id) FROM attempts WHERE intent_id = ?) ORDER BY max(attempts.id)`;
    return this.db.all(sql, target, id, id).map(intentOfRow);
  }

  async intent(idOrPrefix: string): Promise<Intent | undefined> {
    const row = rowByPrefix(this.db, 'intents', idOrPrefix);
    return row && intentOfRow(row);
  }

  async openFailures(): Promise<Intent[]> {
    return readOpenFailures(this.db);
  }

  async newestIntents(filter: StateFilter, limit: number): Promise<Newest<Intent>> {
    return newestIntents(this.db, filter, limit);
  }

  async claims(filter: ClaimFilter): Promise<Claim[]> {
    const where = new Where();
    where.add('status = ?', filter.status);
    where.add('subject = ?', filter.subjectId);
    return this.db.all(`SELECT * FROM claims ${where.text} ORDER BY opened_at, id`, ...where.values).map(claimOfRow);
  }

  async newestClaims(filter: Pick<ClaimFilter, 'status'>, limit: number): Promise<Newest<Claim>> {
    return newestClaims(this.db, filter, limit);
  }

  async episodes(ids: readonly string[]): Promise<Episode[]> {
    const sql = 'SELECT * FROM episodes WHERE id IN (SELECT value FROM json_each(?)) ORDER BY since, id';
    return this.db.all(sql, JSON.stringify(ids)).map(episodeOfRow);
  }

  async plan(idOrPrefix: string): Promise<Plan | undefined> {
    const row = rowByPrefix(this.db, 'plans', idOrPrefix);
    return row && this.planNow(row);
  }

  async plans({ status }: { status?: PlanStatus }, limit: number): Promise<Plan[]> {
    const plans: Plan[] = [];
    for (const row of newestPlans(this.db, status, this.clock.nowMs(), limit)) plans.push(await this.planNow(row));
    return plans;
  }

  async auditedDigest(kind: 'plan.sealed' | 'plan.approved', planId: string): Promise<string | undefined> {
    return auditedDigest(this.db, kind, planId);
  }

  private async planNow(row: Row): Promise<Plan> {
    const plan = planOfRow(row, await storedList(row.intents as string));
    return { ...plan, status: statusAt(plan, this.clock.nowMs()) };
  }

  async audit(query: AuditQuery): Promise<AuditEntry[]> {
    return auditEntries(this.db, query);
  }

  async auditHead(): Promise<{ seq: number; hash: string }> {
    return headOf(this.db);
  }

  auditFrom(seq: number): AsyncIterable<AuditEntry[]> {
    return entriesFrom(this.db, seq);
  }

  async checkpointLines(): Promise<string[] | undefined> {
    return allCheckpointLines(this.db);
  }

  async checkpointAt(size: number): Promise<string | undefined> {
    return checkpointAt(this.db, size);
  }

  async openState(nowMs: number): Promise<OpenState> {
    return this.db.snapshot(() => readOpenState(this.db, nowMs));
  }

  async openStateOf(nowMs: number, about: OpenStateAbout): Promise<OpenState> {
    return this.db.snapshot(() => readOpenStateOf(this.db, nowMs, about));
  }

  events(fromMs: number): AsyncIterable<TrustEvent[]> {
    return eventsFrom(this.db, fromMs);
  }

  async coverage(): Promise<Coverage[]> {
    return readCoverage(this.db);
  }

  async baseline(source: Source): Promise<Baseline | undefined> {
    const row = this.db.get('SELECT * FROM baselines WHERE source = ?', source);
    if (!row) return undefined;
    const values = storedJson<Baseline['values']>(row.fact_values);
    return { source, takenAt: row.taken_at as number, count: row.count as number, values };
  }

  async exemptions(inForceAt?: number): Promise<Exemption[]> {
    return readExemptions(this.db, inForceAt);
  }

  async exemption(idOrPrefix: string): Promise<Exemption | undefined> {
    return readExemption(this.db, idOrPrefix);
  }

  async stop(): Promise<Stop | undefined> {
    return readStop(this.db);
  }

  async notifications(statuses: readonly NotificationStatus[], limit: number): Promise<StoredNotification[]> {
    return readNotifications(this.db, statuses, limit);
  }

  async acceptances(): Promise<Acceptance[]> {
    return readAcceptances(this.db);
  }

  async clockAgreement(): Promise<ClockAgreement | undefined> {
    return readClockAgreement(this.db);
  }

  async keptLatency(): Promise<KeptLatency | undefined> {
    return readKeptLatency(this.db);
  }

  async endpointTokens(): Promise<EndpointToken[]> {
    return readTokens(this.db);
  }

  async identitiesNamed(text: string): Promise<NamedIdentity[]> {
    return identitiesNamed(this.db, text);
  }

  async identitiesSelected(field: string, value: string): Promise<SelectedIdentities | undefined> {
    return identitiesSelected(this.db, field, value);
  }

  async presentPrints(kind: SubjectKind): Promise<PresentPrints> {
    return presentPrints(this.db, kind);
  }

  async close(): Promise<void> {
    this.db.close();
  }
}

/** Rules whose decisions a run's report shows: those that it judged or, if it broke off, was asked to judge. */
function judgedRulesOf(run: RunRecord): string[] {
  return run.findings ? run.findings.tallies.filter((tally) => tally.judged).map((tally) => tally.rule) : [];
}
