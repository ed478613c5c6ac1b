// store: the writing half of the ports, except acting's (sqlite-act-store.ts). Each method is one immediate transaction, with its
// audit entries inside: a change and its record are committed together or not at all. INVARIANT: what a person says is sealed in the same
// transaction, so that nobody can take it back by putting an earlier state of the database in its place.
import type { AuditNote } from '../domain/audit-entry.ts';
import type { AuditStore } from '../domain/audit-store.ts';
import type { Accepted, ArchivedSegment, Checkpoint, CheckpointStore } from '../domain/checkpoint.ts';
import type { TrustEvent } from '../domain/event.ts';
import type { Exemption } from '../domain/exemption.ts';
import type { ExemptionMember } from '../domain/exemption-members.ts';
import type { IdentityChanges, PresentPrints } from '../domain/identity.ts';
import type { Intent } from '../domain/intent.ts';
import type { Lists } from '../domain/lists.ts';
import type { Acceptance, Stop } from '../domain/operator.ts';
import type { OperatorStore, ReleaseStore } from '../domain/operator-store.ts';
import type { Plan, PlanStatus } from '../domain/plan.ts';
import type { PlanStore } from '../domain/plan-store.ts';
import type { PrintKey } from '../domain/print-bits.ts';
import type { PullStore } from '../domain/pull-store.ts';
import type { Run } from '../domain/run.ts';
import type { RunStore } from '../domain/run-store.ts';
import type { ClockAgreement } from '../domain/steady-time.ts';
import type { ObservedEvents, Release, Removed, RunCommit } from '../domain/store.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import { bindTo } from './bound-to.ts';
import { removeArchived, saveDatabaseId } from './checkpoint-table.ts';
import { saveClockAgreement } from './clock-agreement.ts';
import { dropIntents, plansToDrop } from './dropped-plans.ts';
import { eventsBetween, lastEventNo, saveEvents } from './event-log.ts';
import { addMembers } from './exemption-members.ts';
import { saveIdentities } from './identities.ts';
import { addIntent, linkDecisions } from './intent-log.ts';
import { noteRunBegun, SqlAnswers } from './kept-answers.ts';
import { removeOldRuns } from './old-runs.ts';
import { dropAcceptances, readStop, saveAcceptance, saveExemption, saveStop } from './operator.ts';
import { SqlOutbox, type Unit } from './outbox.ts';
import { demandStatus, haveAnswer, supersede, suppressRejected } from './plan-changes.ts';
import { expireAll, expireOver } from './plan-expiry.ts';
import { type PresentIdentities, presentIdentities } from './present-identities.ts';
import { keepPrintKey } from './print-key.ts';
import type { Work } from './queries.ts';
import { rowOfRun } from './rows.ts';
import { LARGE_FROM, rowsOf, writeRunCommit } from './run-rows.ts';
import { savePlan } from './save-plan.ts';
import { SqlActStore } from './sql-act-store.ts';
import { SqlTokens } from './token-table.ts';
import { SqlFeedPositions } from './webhook-positions.ts';

export class SqlStore
  extends SqlActStore
  implements RunStore, PullStore, PlanStore, OperatorStore, ReleaseStore, AuditStore, CheckpointStore
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
      yield* store.db.insert('runs', rowOfRun({ ...run, seq }));
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
    if (plans.length === 0) return 0;
    await this.unit(function* (store) {
      for (const plan of plans) yield* dropIntents(store.db, plan);
      store.audits.append([{ kind: 'plans.dropped', body: { plans: plans.map(({ id }) => id) } }]);
    });
    return plans.length;
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
      if (was) yield* demandStatus(store.db, plan.id, was);
      yield* savePlan(store.db, plan);
      for (const intent of intents) {
        yield* addIntent(store.db, intent);
        yield* linkDecisions(store.db, intent);
      }
      if (plan.status === 'rejected')
        for (const intent of plan.intents) yield* suppressRejected(store.db, intent, plan.id);
      store.audits.append(notes);
      if (haveAnswer(notes)) yield* store.audits.seal(store.db);
    });
  }

  async replacePlans(pending: readonly string[], plans: readonly Plan[], notes: AuditNote[]): Promise<void> {
    await this.unit(function* (store) {
      for (const id of pending) yield* demandStatus(store.db, id, 'pending');
      yield* supersede(store.db, pending, plans);
      for (const plan of plans) yield* savePlan(store.db, plan);
      store.audits.append(notes);
      if (haveAnswer(notes)) yield* store.audits.seal(store.db);
    });
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
    await this.unit(() => saveDatabaseId(this.db, id));
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

  keptAnswers(hold?: SqlAnswers['hold']): SqlAnswers {
    return new SqlAnswers(this.db, this.unitOfParts(), this.clock, hold);
  }

  feedPositions(): SqlFeedPositions {
    return new SqlFeedPositions(this.db, this.unitOfParts(), this.clock);
  }

  /** Tokens of the HTTP endpoint. A token that is added or revoked is sealed at once, like all that holds back or opens. */
  tokens(): SqlTokens {
    const unit = { ...this.unitOfParts(), seal: () => this.audits.seal(this.db) };
    return new SqlTokens(this.db, unit, this.tables);
  }

  private unitOfParts(): Unit {
    return { run: (work) => this.unit(work), append: (notes) => this.audits.append(notes) };
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

  async lastEventNo(): Promise<number> {
    return await this.db.reading(lastEventNo(this.db));
  }

  eventsBetween(afterNo: number, upToNo: number): AsyncIterable<TrustEvent[]> {
    return eventsBetween(this.db, afterNo, upToNo);
  }

  override async presentPrints(kind: SubjectKind, key: PrintKey): Promise<PresentPrints> {
    const known = this.present.get(kind) ?? (await presentIdentities(this.db, kind, key));
    this.present.set(kind, known);
    return known.prints;
  }
}
