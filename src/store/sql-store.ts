// store: the writing half of the ports. Each method is one immediate transaction, with its
// audit entries inside: a change and its record are committed together or not at all. INVARIANT: what a person says is sealed in the same
// transaction, so that nobody can take it back by putting an earlier state of the database in its place.

import type { PrintKey } from '../base/print-bits.ts';
import type { ClockAgreement } from '../base/time.ts';
import type { ActionName } from '../domain/action.ts';
import { type AuditNote, differencesText, type TableDifference } from '../domain/audit-entry.ts';
import type { Accepted, ArchivedSegment, Checkpoint, CheckpointStore } from '../domain/checkpoint.ts';
import type { Claim, Episode } from '../domain/episode.ts';
import { AppError } from '../domain/errors.ts';
import type { Exemption, ExemptionMember } from '../domain/exemption.ts';
import type { AnsweredRequest, ExemptionRequest } from '../domain/exemption-request.ts';
import type { IdentityChanges, PresentPrints } from '../domain/identity.ts';
import type { Intent } from '../domain/intent.ts';
import type { Lists } from '../domain/lists.ts';
import type { Acceptance, Stop } from '../domain/operator.ts';
import type { Passkey } from '../domain/passkey.ts';
import type { Plan, PlanStatus } from '../domain/plan.ts';
import type { Clock } from '../domain/ports.ts';
import type { RolloutState } from '../domain/rollout.ts';
import type { Run } from '../domain/run.ts';
import type { ObservedEvents, Release, Removed, RunCommit } from '../domain/store.ts';
import type {
  ActStore,
  AuditStore,
  OperatorStore,
  PlanStore,
  PullStore,
  ReleaseStore,
  ReopenedIntents,
  ReplacedPlans,
  RequestStore,
  ResolvedIntent,
  ResolveStore,
  RunStore,
  SentIntent,
  SettledIntent,
  TransitionEffects,
  WithdrawnIntent,
} from '../domain/store-ports.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import type { ChangedTables } from './acting-tables.ts';
import type { AuditLog, Sealing, Writer } from './audit-log.ts';
import { DATABASE_ID, removeArchived } from './audit-rows.ts';
import { eventsBetween, lastEventNo, saveEvents } from './event-log.ts';
import { addMembers } from './exemption-members.ts';
import { addRequest, answerRequest } from './exemption-requests.ts';
import { keepPrintKey, type PresentIdentities, presentIdentities, saveIdentities } from './identities.ts';
import {
  addIntent,
  attemptedOn,
  attemptsSince,
  episodesInForce,
  episodesThatSaw,
  intentsOn,
  keepLatency,
  linkDecisions,
  markSent,
  openClaimsOn,
  openEpisodes,
  reopen,
  resolve,
  saveEpisode,
  settle,
  withdraw,
} from './intent-log.ts';
import { doubtNotices, readOpenNotices, SqlNotices } from './notices.ts';
import { dropIntents, dropRevisions, expireAll, expireOver, plansToDrop, removeOldRuns } from './old-runs.ts';
import {
  dropAcceptances,
  dropRollout,
  readStop,
  saveAcceptance,
  saveExemption,
  saveRollout,
  saveStop,
} from './operator.ts';
import { addNotification, SqlFeedPositions, SqlOutbox, type Unit } from './outbox.ts';
import { readPasskeys, savePasskey, useTouched } from './passkeys.ts';
import { SqlPersonLinks } from './person-links.ts';
import { type Db, keepMeta, readMeta, replaceLists, type Work } from './queries.ts';
import { SqlReader } from './reader.ts';
import { CLAIM, RUN } from './rows.ts';
import { LARGE_FROM, rowsOf, saveClockAgreement, writeRunCommit } from './run-rows.ts';
import {
  carryOn,
  demandNextYes,
  demandStatus,
  haveAnswer,
  savePlan,
  supersede,
  suppressRejected,
} from './save-plan.ts';
import { SqlSignalBox } from './signal-box.ts';
import { SqlStreams } from './signal-streams.ts';
import { editedFault } from './store-fault.ts';
import { noteRunBegun, SqlAnswers, SqlTokens } from './token-table.ts';

/** INVARIANT: called inside a transaction. Errors: AppError `bound_elsewhere`. */
function* bindTo(db: Db, address: string, lists: Lists | undefined): Work<AuditNote[]> {
  const bound = yield* readMeta(db, 'address');
  if (bound !== undefined && bound !== address) throw boundElsewhere(db.name, bound, address);
  if (bound === undefined) yield* db.insert('meta', { key: 'address', value: address });
  const from = lists && (yield* replaceLists(db, lists));
  return [
    ...(bound === undefined ? [{ kind: 'database.bound', body: { address } } as const] : []),
    ...(from === undefined ? [] : [{ kind: 'lists.changed', body: { from, to: lists } } as const]),
  ];
}

export function boundElsewhere(file: string, bound: string, address: string): AppError {
  return new AppError(
    'bound_elsewhere',
    `database \`${file}\` belongs to ${bound}, not to ${address}: set TRUSTWARD_DB to another file for this address`,
  );
}

// Acting's port: the transitions of an intent, and the reads by target.

class SqlActStore extends SqlReader implements ActStore, ResolveStore {
  protected readonly audits: AuditLog;
  protected readonly tables: ChangedTables;

  /**
   * Without `sealing` there are neither checkpoints nor signatures. A database that differs from its record is opened all the same,
   * and its fault is noted.
   */
  constructor(
    protected readonly writer: Writer,
    clock: Clock,
    private readonly sealing?: Sealing,
  ) {
    super(writer.db, clock);
    this.tables = writer.tables;
    this.audits = writer.audits;
    const differences = this.tables.differences();
    if (differences.length > 0) this.edited(differences);
  }

  override async tableDifferences(): Promise<readonly TableDifference[]> {
    return super.tableDifferences(this.sealing?.judgeEnd);
  }

  async demandIntact(): Promise<void> {
    await this.db.reading(this.audits.demandOwnEnd(this.db));
    const differences = await this.tableDifferences();
    if (differences.length > 0) throw this.edited(differences);
  }

  async markSent(sent: SentIntent): Promise<void> {
    await this.writer.grouped(() => this.sending(sent), 'at_once');
  }

  async settle(settled: SettledIntent): Promise<void> {
    await this.writer.grouped(() => this.changing(settled, (at) => settle(this.db, settled, at)), 'soon');
  }

  async withdraw(withdrawn: WithdrawnIntent): Promise<void> {
    await this.writer.grouped(() => this.changing(withdrawn, (at) => withdraw(this.db, withdrawn, at)), 'soon');
  }

  async reopen(reopened: ReopenedIntents): Promise<void> {
    if (reopened.intents.length === 0) return;
    await this.unit(() => this.reopening(reopened));
  }

  async resolve(resolved: ResolvedIntent): Promise<void> {
    await this.unit(() => this.changing(resolved, (at) => resolve(this.db, resolved, at)));
  }

  private *sending(sent: SentIntent): Work<void> {
    yield* this.demandSmallIntact();
    yield* this.changing(sent, (at) => markSent(this.db, sent, at));
  }

  private *reopening(reopened: ReopenedIntents): Work<void> {
    const { db } = this;
    yield* this.changing(reopened, function* (at) {
      for (const intent of reopened.intents) yield* reopen(db, intent, at);
    });
    yield* this.audits.seal(db); // a person's release may be among them
  }

  private *changing(effects: TransitionEffects, change: (at: number) => Work<void>): Work<void> {
    yield* change(this.clock.nowMs());
    yield* this.saveEpisodes(effects.episodes ?? []);
    yield* this.saveClaims(effects.claims ?? []);
    if (effects.clocks) yield* saveClockAgreement(this.db, effects.clocks);
    if (effects.latency) yield* keepLatency(this.db, effects.latency);
    for (const notification of effects.notifications ?? []) yield* addNotification(this.db, notification);
    this.audits.append(effects.notes);
  }

  openClaimsOn = this.asks(openClaimsOn);
  episodesInForce = this.asks(episodesInForce);
  openEpisodes = this.asks(openEpisodes);
  noticesOf = this.asks(readOpenNotices);
  episodesThatSaw = this.asks(episodesThatSaw);
  intentsOn = this.asks(intentsOn);
  attemptedOn = this.asks(attemptedOn);
  attemptsSince = this.asks(attemptsSince);

  async intentsIn(state: 'planned' | 'sent' | 'unknown'): Promise<Intent[]> {
    return this.intents(state === 'unknown' ? { status: 'settled', outcome: state } : { status: state });
  }

  async attemptsOfRun(runId: string): Promise<ReadonlyMap<ActionName, number>> {
    const sql = 'SELECT action, count(*) AS n FROM attempts WHERE run_id = ? AND refused = 0 GROUP BY action';
    const rows = await this.db.reading(this.db.all<{ action: ActionName; n: number }>(sql, runId));
    return new Map(rows.map(({ action, n }) => [action, Number(n)]));
  }

  /** What stands in the way of a call may have been removed since the run compared everything. Errors: AppError `store_edited`. */
  private *demandSmallIntact(): Work<void> {
    for (const table of ['stop_switch', 'exemptions']) {
      const found = yield* this.tables.differenceOf(this.db, table);
      if (found) throw this.edited([found]);
    }
  }

  protected edited(differences: readonly TableDifference[]): AppError {
    const fault = editedFault(differencesText(differences));
    this.db.noteFault(fault);
    return fault;
  }

  override async close(): Promise<void> {
    await this.writer.close();
  }

  /** One unit of work: the change and its audit entries. */
  protected unit<T>(work: (store: this) => Work<T>): Promise<T> {
    return this.writer.unit(() => work(this));
  }

  protected *saveEpisodes(episodes: Episode[]): Work<void> {
    for (const episode of episodes) yield* saveEpisode(this.db, episode);
  }

  protected *saveClaims(claims: Claim[]): Work<void> {
    for (const claim of claims) yield* this.db.upsert('claims', CLAIM.rowOf(claim), 'id');
  }
}

export class SqlStore
  extends SqlActStore
  implements RunStore, PullStore, PlanStore, OperatorStore, RequestStore, ReleaseStore, AuditStore, CheckpointStore
{
  /** INVARIANT: nobody else writes while this one does. */
  private readonly present = new Map<SubjectKind, PresentIdentities>();

  async bind(address: string, lists?: Lists): Promise<void> {
    await this.unit(function* ({ db, audits }) {
      audits.append(yield* bindTo(db, address, lists));
    });
  }

  async beginRun(run: Omit<Run, 'seq'>, notes: AuditNote[], onceId?: string): Promise<Run> {
    return this.unit(function* (store) {
      const seq = Number(
        (yield* store.db.get<{ seq: number }>('SELECT coalesce(max(seq), 0) + 1 AS seq FROM runs'))?.seq,
      );
      yield* store.db.insert('runs', RUN.rowOf({ ...run, seq }));
      if (onceId !== undefined) yield* noteRunBegun(store.db, onceId, run.id);
      store.audits.append(notes);
      return { ...run, seq };
    });
  }

  async finishRun(run: Run, notes: AuditNote[]): Promise<void> {
    await this.unit(function* (store) {
      yield* store.db.run(
        'UPDATE runs SET status = ?, finished_at = ?, error = ? WHERE id = ?',
        run.status,
        run.finishedAt ?? null,
        run.error ?? null,
        run.id,
      );
      store.audits.append(notes);
    });
  }

  async abortStaleRuns(at: number): Promise<number> {
    return this.unit(function* (store) {
      const stale = yield* store.db.all<{ id: string }>("SELECT id FROM runs WHERE status = 'running'");
      const error = 'its end was not recorded: the process ended before it, or the database could not be written';
      yield* store.db.run(
        "UPDATE runs SET status = 'aborted', finished_at = ?, error = ? WHERE status = 'running'",
        at,
        error,
      );
      const applying = yield* store.db.all<{ id: string }>("SELECT id FROM plans WHERE status = 'applying'");
      yield* store.db.run("UPDATE plans SET status = 'interrupted' WHERE status = 'applying'");
      store.audits.append(stale.map(({ id }) => ({ kind: 'run.aborted', body: { run: id, error } })));
      store.audits.append(applying.map(({ id }) => ({ kind: 'plan.interrupted', body: { plan: id, error } })));
      return stale.length;
    });
  }

  async commitRun(commit: RunCommit): Promise<void> {
    await this.writer.unitInTurns(
      (db) => writeRunCommit(db, commit, this.clock.nowMs()),
      commit.notes,
      rowsOf(commit) >= LARGE_FROM,
    );
  }

  async saveIdentities(changes: readonly IdentityChanges[]): Promise<void> {
    for (const each of changes) {
      const known = this.present.get(each.kind);
      this.present.delete(each.kind);
      const now = await saveIdentities(this.db, each, this.clock.nowMs(), known);
      if (now) this.present.set(each.kind, now);
    }
  }

  /** The key of the fingerprints of this database: `fresh`, if it has none yet. */
  async keepPrintKey(fresh: PrintKey): Promise<PrintKey> {
    return this.unit(function* ({ db }) {
      return yield* keepPrintKey(db, fresh);
    });
  }

  async removeOldRuns(olderByMs: number): Promise<Removed | undefined> {
    const removed = await this.unit(function* (store) {
      const some = yield* removeOldRuns(store.db, olderByMs);
      if (some) store.audits.append([{ kind: 'runs.removed', body: { ...some } }]);
      return some;
    });
    this.db.giveBackSpace();
    return removed;
  }

  async dropPlanIntents(): Promise<number> {
    const plans = await plansToDrop(this.db, this);
    return this.unit(function* (store) {
      for (const plan of plans) yield* dropIntents(store.db, plan);
      const revisions = yield* dropRevisions(store.db);
      if (plans.length + revisions > 0)
        store.audits.append([{ kind: 'plans.dropped', body: { plans: plans.map(({ id }) => id), revisions } }]);
      return plans.length + revisions;
    });
  }

  async expirePlans(): Promise<number> {
    return this.unit(function* (store) {
      const notes = yield* expireOver(store.db, store.clock.nowMs());
      store.audits.append(notes);
      return notes.length;
    });
  }

  async changePlan(plan: Plan, intents: Intent[], notes: AuditNote[], was?: PlanStatus): Promise<void> {
    await this.unit(function* (store) {
      if (was) yield* demandStatus(store.db, plan.id, was, plan.digest);
      if (notes.some(({ kind }) => kind === 'plan.agreed')) yield* demandNextYes(store.db, plan);
      yield* useTouched(store.db, notes, store.clock.nowMs());
      yield* store.saveSealed(plan);
      for (const intent of intents) {
        yield* addIntent(store.db, intent);
        yield* linkDecisions(store.db, intent);
      }
      store.audits.append(notes);
      if (haveAnswer(notes)) yield* store.audits.seal(store.db);
    });
  }

  async replacePlans({ superseded = [], carried, sealed }: ReplacedPlans, notes: AuditNote[]): Promise<void> {
    await this.unit(function* (store) {
      for (const id of superseded) yield* demandStatus(store.db, id, 'pending');
      yield* supersede(store.db, superseded, [sealed]);
      yield* useTouched(store.db, notes, store.clock.nowMs());
      if (carried) yield* carryOn(store.db, carried, carried.plan.intents.length + 1);
      yield* store.saveSealed(sealed);
      store.audits.append(notes);
      if (haveAnswer(notes)) yield* store.audits.seal(store.db);
    });
  }

  /** What a person rejected is suppressed. */
  private *saveSealed(plan: Plan): Work<void> {
    yield* savePlan(this.db, plan);
    if (plan.status === 'rejected')
      for (const intent of plan.intents) yield* suppressRejected(this.db, intent, plan.id);
  }

  async observeEvents(observed: ObservedEvents): Promise<{ added: number }> {
    return await this.db.transaction(() => saveEvents(this.db, observed));
  }

  async appendAudit(notes: AuditNote[]): Promise<void> {
    await this.unit(function* (store) {
      store.audits.append(notes);
    });
  }

  onAudited(listener: (notes: readonly AuditNote[]) => void): void {
    this.audits.onCommitted(listener);
  }

  async keepClockAgreement(agreement: ClockAgreement): Promise<void> {
    await this.unit(() => saveClockAgreement(this.db, agreement));
  }

  async sealAudit(): Promise<Checkpoint | undefined> {
    return this.unit(() => this.audits.seal(this.db));
  }

  async nameDatabase(id: string): Promise<void> {
    await this.unit(() => keepMeta(this.db, DATABASE_ID, id));
  }

  async acceptRestore(accepted: Accepted): Promise<{ plans: number }> {
    return this.unit(() => this.begunAnew(accepted, 'a restored backup was accepted'));
  }

  async acceptTables(accepted: Accepted): Promise<{ plans: number }> {
    return this.unit(function* (store) {
      store.tables.accept();
      const expired = yield* store.begunAnew(accepted, 'changed tables were accepted');
      yield* store.audits.seal(store.db);
      return expired;
    });
  }

  private *begunAnew({ stop, notes }: Accepted, why: string): Work<{ plans: number }> {
    const expired = yield* expireAll(this.db, stop.at, why);
    yield* doubtNotices(this.db, why);
    yield* dropAcceptances(this.db);
    yield* saveStop(this.db, stop);
    this.audits.append([...notes, ...expired]);
    return { plans: expired.length };
  }

  /** Removes archived entries, and records this. Errors: AppError `store_failed`; then nothing was removed. */
  async removeArchived(segment: ArchivedSegment): Promise<void> {
    await this.unit(function* (store) {
      store.audits.append([{ kind: 'audit.archived', body: { ...segment } }]);
      yield* removeArchived(store.db, segment, store.clock.nowMs());
    });
  }

  /** Notifications of this database; its writes are audited like all others. */
  outbox(): SqlOutbox {
    return new SqlOutbox(this.db, this.unitOfParts(), this.clock);
  }

  noticeBox(): SqlNotices {
    return new SqlNotices(this.db, this.unitOfParts(), this.clock);
  }

  keptAnswers(hold?: SqlAnswers['hold']): SqlAnswers {
    return new SqlAnswers(this.db, this.unitOfParts(), this.clock, hold);
  }

  signalBox(): SqlSignalBox {
    return new SqlSignalBox(this.db, this.unitOfParts());
  }

  feedPositions(): SqlFeedPositions {
    return new SqlFeedPositions(this.db, this.unitOfParts(), this.clock);
  }

  /** Tokens of the HTTP endpoint. A token that is added or revoked is sealed at once, like all that holds back or opens. */
  tokens(): SqlTokens {
    return new SqlTokens(this.db, this.sealedUnit(), this.tables);
  }

  /** Streams by which receivers hear what was done. */
  signalStreams(): SqlStreams {
    return new SqlStreams(this.db, this.unitOfParts());
  }

  personLinks(): SqlPersonLinks {
    return new SqlPersonLinks(this.db, this.sealedUnit());
  }

  private sealedUnit(): Unit & { seal(): Work<unknown> } {
    return { ...this.unitOfParts(), seal: () => this.audits.seal(this.db) };
  }

  private unitOfParts(): Unit {
    return { run: (work) => this.unit(work), append: (notes) => this.audits.append(notes) };
  }

  async passkeys(): Promise<Passkey[]> {
    const found = await this.db.reading(this.tables.differenceOf(this.db, 'passkeys'));
    if (found) throw this.edited([found]);
    return this.db.reading(readPasskeys(this.db));
  }

  async savePasskey(passkey: Passkey, note: AuditNote): Promise<void> {
    await this.unit(function* (store) {
      yield* useTouched(store.db, [note], store.clock.nowMs());
      yield* savePasskey(store.db, passkey);
      store.audits.append([note]);
      yield* store.audits.seal(store.db);
    });
  }

  async saveExemption(exemption: Exemption, notes: AuditNote[]): Promise<void> {
    await this.unit(function* (store) {
      yield* saveExemption(store.db, exemption);
      store.audits.append(notes);
      yield* store.audits.seal(store.db);
    });
  }

  async addExemptionMembers(exemption: string, members: readonly ExemptionMember[], notes: AuditNote[]): Promise<void> {
    await this.unit(function* (store) {
      yield* addMembers(store.db, exemption, members);
      store.audits.append(notes);
      yield* store.audits.seal(store.db);
    });
  }

  async addRequest(request: ExemptionRequest, notes: AuditNote[]): Promise<void> {
    await this.unit(function* (store) {
      yield* addRequest(store.db, request);
      store.audits.append(notes);
    });
  }

  async answerRequest({ request, exemption }: AnsweredRequest, notes: AuditNote[]): Promise<void> {
    await this.unit(function* (store) {
      yield* answerRequest(store.db, request, store.clock.nowMs());
      if (exemption) yield* saveExemption(store.db, exemption);
      store.audits.append(notes);
      yield* store.audits.seal(store.db);
    });
  }

  /** Nothing keeps a stop waiting; a large commit is taken back. Only the first: whoever repeats it, or lifts it, could do so for ever. */
  async setStop(stop: Stop | undefined, notes: AuditNote[]): Promise<void> {
    const read = this.db.reading(readStop(this.db));
    const before = read instanceof Promise ? await read : read; // a database that answers at once is not waited for
    const isFirst = stop && !before;
    const work = () => this.stopping(stop, notes);
    await (isFirst ? this.writer.unitAtOnce(work) : this.unit(work));
  }

  private *stopping(stop: Stop | undefined, notes: AuditNote[]): Work<void> {
    yield* saveStop(this.db, stop);
    this.audits.append(notes);
    yield* this.audits.seal(this.db);
  }

  async setRollout(rule: string, state: RolloutState | undefined, notes: AuditNote[]): Promise<void> {
    await this.unit(function* (store) {
      yield* state ? saveRollout(store.db, state) : dropRollout(store.db, rule);
      store.audits.append(notes);
      yield* store.audits.seal(store.db);
    });
  }

  async saveAcceptance(acceptance: Acceptance, notes: AuditNote[]): Promise<void> {
    await this.unit(function* (store) {
      yield* saveAcceptance(store.db, acceptance);
      store.audits.append(notes);
      yield* store.audits.seal(store.db);
    });
  }

  async release({ intent, claims, episodes, notes }: Release): Promise<void> {
    await this.unit(function* (store) {
      if (intent) yield* addIntent(store.db, intent);
      yield* store.saveEpisodes(episodes);
      yield* store.saveClaims(claims);
      store.audits.append(notes);
      yield* store.audits.seal(store.db);
    });
  }

  lastEventNo = this.asks(lastEventNo);
  eventsBetween = this.over(eventsBetween);

  override async presentPrints(kind: SubjectKind, key: PrintKey): Promise<PresentPrints> {
    const known = this.present.get(kind) ?? (await presentIdentities(this.db, kind, key));
    this.present.set(kind, known);
    return known.prints;
  }
}
