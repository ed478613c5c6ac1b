// store: the writing half of the ports, except acting's (sqlite-act-store.ts). Each method is one immediate transaction, with its
// audit entries inside: a change and its record are committed together or not at all. INVARIANT: what a person says is sealed in the same
// transaction, so that nobody can take it back by putting an earlier state of the database in its place.
import type { AuditNote } from '../domain/audit-entry.ts';
import type { AuditStore } from '../domain/audit-store.ts';
import type { Accepted, ArchivedSegment, Checkpoint, CheckpointStore } from '../domain/checkpoint.ts';
import { AppError } from '../domain/errors.ts';
import type { TrustEvent } from '../domain/event.ts';
import type { Exemption } from '../domain/exemption.ts';
import type { IdentityChanges, PresentPrints } from '../domain/identity.ts';
import type { Intent } from '../domain/intent.ts';
import type { Lists } from '../domain/lists.ts';
import type { Acceptance, Stop } from '../domain/operator.ts';
import type { OperatorStore, ReleaseStore } from '../domain/operator-store.ts';
import type { Plan, PlanStatus } from '../domain/plan.ts';
import type { PlanStore } from '../domain/plan-store.ts';
import type { PullStore } from '../domain/pull-store.ts';
import type { Run } from '../domain/run.ts';
import type { RunStore } from '../domain/run-store.ts';
import type { ClockAgreement } from '../domain/steady-time.ts';
import type { ObservedEvents, Release, Removed, RunCommit } from '../domain/store.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import { removeArchived, saveDatabaseId } from './checkpoint-table.ts';
import { saveClockAgreement } from './clock-agreement.ts';
import { dropIntents, plansToDrop } from './dropped-plans.ts';
import { eventsBetween, lastEventNo, saveEvents } from './event-log.ts';
import { saveIdentities } from './identities.ts';
import { addIntent, linkDecisions } from './intent-log.ts';
import { noteRunBegun, SqliteAnswers } from './kept-answers.ts';
import { replaceLists } from './kept-lists.ts';
import { removeOldRuns } from './old-runs.ts';
import { dropAcceptances, readStop, saveAcceptance, saveExemption, saveStop } from './operator.ts';
import { SqliteOutbox } from './outbox.ts';
import { demandStatus, haveAnswer, supersede, suppressRejected } from './plan-changes.ts';
import { expireAll, expireOver } from './plan-expiry.ts';
import { rowOfRun } from './rows.ts';
import { LARGE_FROM, rowsOf, writeRunCommit } from './run-rows.ts';
import { savePlan } from './save-plan.ts';
import { SqliteActStore } from './sqlite-act-store.ts';
import { SqliteTokens } from './token-table.ts';
import { giveBackPages } from './unused-pages.ts';
import { SqliteFeedPositions } from './webhook-positions.ts';

export class SqliteStore
  extends SqliteActStore
  implements RunStore, PullStore, PlanStore, OperatorStore, ReleaseStore, AuditStore, CheckpointStore
{
  /** INVARIANT: nobody else writes while this one does. */
  private readonly prints = new Map<SubjectKind, PresentPrints>();

  async bind(address: string, lists?: Lists): Promise<void> {
    await this.unit(() => {
      const bound = this.db.get<{ value: string }>("SELECT value FROM meta WHERE key = 'address'")?.value;
      if (bound !== undefined && bound !== address) throw boundElsewhere(this.db.file, bound, address);
      if (bound === undefined) {
        this.db.insert('meta', { key: 'address', value: address });
        this.audits.append([{ kind: 'database.bound', body: { address } }]);
      }
      const from = lists && replaceLists(this.db, lists);
      if (from !== undefined) this.audits.append([{ kind: 'lists.changed', body: { from, to: lists } }]);
    });
  }

  async beginRun(run: Omit<Run, 'seq'>, notes: AuditNote[], onceId?: string): Promise<Run> {
    return this.unit(() => {
      const seq = Number(this.db.get<{ seq: number }>('SELECT coalesce(max(seq), 0) + 1 AS seq FROM runs')?.seq);
      this.db.insert('runs', rowOfRun({ ...run, seq }));
      if (onceId !== undefined) noteRunBegun(this.db, onceId, run.id);
      this.audits.append(notes);
      return { ...run, seq };
    });
  }

  async finishRun(run: Run, notes: AuditNote[]): Promise<void> {
    await this.unit(() => {
      this.db.run(
        'UPDATE runs SET status = ?, finished_at = ?, error = ? WHERE id = ?',
        run.status,
        run.finishedAt ?? null,
        run.error ?? null,
        run.id,
      );
      this.audits.append(notes);
    });
  }

  async abortStaleRuns(at: number): Promise<number> {
    return this.unit(() => {
      const stale = this.db.all<{ id: string }>("SELECT id FROM runs WHERE status = 'running'");
      const error = 'its end was not recorded: the process ended before it, or the database could not be written';
      this.db.run("UPDATE runs SET status = 'aborted', finished_at = ?, error = ? WHERE status = 'running'", at, error);
      const applying = this.db.all<{ id: string }>("SELECT id FROM plans WHERE status = 'applying'");
      this.db.run("UPDATE plans SET status = 'interrupted' WHERE status = 'applying'");
      this.audits.append(stale.map(({ id }) => ({ kind: 'run.aborted', body: { run: id, error } })));
      this.audits.append(applying.map(({ id }) => ({ kind: 'plan.interrupted', body: { plan: id, error } })));
      return stale.length;
    });
  }

  async commitRun(commit: RunCommit): Promise<void> {
    await this.unitInTurns(
      (db) => writeRunCommit(db, commit, this.clock.nowMs()),
      commit.notes,
      rowsOf(commit) >= LARGE_FROM,
    );
  }

  async saveIdentities(changes: readonly IdentityChanges[]): Promise<void> {
    for (const each of changes) {
      const known = this.prints.get(each.kind);
      this.prints.delete(each.kind);
      const isChanged = await saveIdentities(this.db, each, this.clock.nowMs());
      if (known && !isChanged) this.prints.set(each.kind, known);
    }
  }

  async removeOldRuns(olderByMs: number): Promise<Removed | undefined> {
    const removed = await this.unit(() => {
      const some = removeOldRuns(this.db, olderByMs);
      if (some) this.audits.append([{ kind: 'runs.removed', body: { ...some } }]);
      return some;
    });
    giveBackPages(this.db);
    return removed;
  }

  async dropPlanIntents(): Promise<number> {
    const plans = await plansToDrop(this.db, this);
    if (plans.length === 0) return 0;
    await this.unit(() => {
      for (const plan of plans) dropIntents(this.db, plan);
      this.audits.append([{ kind: 'plans.dropped', body: { plans: plans.map(({ id }) => id) } }]);
    });
    return plans.length;
  }

  async expirePlans(): Promise<number> {
    return this.unit(() => {
      const notes = expireOver(this.db, this.clock.nowMs());
      this.audits.append(notes);
      return notes.length;
    });
  }

  async changePlan(plan: Plan, intents: Intent[], notes: AuditNote[], was?: PlanStatus): Promise<void> {
    await this.unit(() => {
      if (was) demandStatus(this.db, plan.id, was);
      savePlan(this.db, plan);
      for (const intent of intents) {
        addIntent(this.db, intent);
        linkDecisions(this.db, intent);
      }
      if (plan.status === 'rejected') for (const intent of plan.intents) suppressRejected(this.db, intent, plan.id);
      this.audits.append(notes);
      if (haveAnswer(notes)) this.audits.seal();
    });
  }

  async replacePlans(pending: readonly string[], plans: readonly Plan[], notes: AuditNote[]): Promise<void> {
    await this.unit(() => {
      for (const id of pending) demandStatus(this.db, id, 'pending');
      supersede(this.db, pending, plans);
      for (const plan of plans) savePlan(this.db, plan);
      this.audits.append(notes);
      if (haveAnswer(notes)) this.audits.seal();
    });
  }

  async observeEvents(observed: ObservedEvents): Promise<{ added: number }> {
    return this.db.transaction(() => saveEvents(this.db, observed));
  }

  async appendAudit(notes: AuditNote[]): Promise<void> {
    await this.unit(() => this.audits.append(notes));
  }

  onAudited(listener: (notes: readonly AuditNote[]) => void): void {
    this.audits.onCommitted(listener);
  }

  async keepClockAgreement(agreement: ClockAgreement): Promise<void> {
    await this.unit(() => saveClockAgreement(this.db, agreement));
  }

  async sealAudit(): Promise<Checkpoint | undefined> {
    return this.unit(() => this.audits.seal());
  }

  async nameDatabase(id: string): Promise<void> {
    await this.unit(() => saveDatabaseId(this.db, id));
  }

  async acceptRestore(accepted: Accepted): Promise<{ plans: number }> {
    return this.unit(() => this.begunAnew(accepted, 'a restored backup was accepted'));
  }

  async acceptTables(accepted: Accepted): Promise<{ plans: number }> {
    return this.unit(() => {
      this.tables.accept();
      const expired = this.begunAnew(accepted, 'changed tables were accepted');
      this.audits.seal();
      return expired;
    });
  }

  private begunAnew({ stop, notes }: Accepted, why: string): { plans: number } {
    const expired = expireAll(this.db, stop.at, why);
    dropAcceptances(this.db);
    saveStop(this.db, stop);
    this.audits.append([...notes, ...expired]);
    return { plans: expired.length };
  }

  /** Removes archived entries, and records this. Errors: AppError `store_failed`; then nothing was removed. */
  async removeArchived(segment: ArchivedSegment): Promise<void> {
    await this.unit(() => {
      this.audits.append([{ kind: 'audit.archived', body: { ...segment } }]);
      removeArchived(this.db, segment, this.clock.nowMs());
    });
  }

  /** Notifications of this database; its writes are audited like all others. */
  outbox(): SqliteOutbox {
    const append = (notes: AuditNote[]) => this.audits.append(notes);
    return new SqliteOutbox(this.db, { run: (work) => this.unit(work), append }, this.clock);
  }

  keptAnswers(): SqliteAnswers {
    return new SqliteAnswers(this.db, { run: (work) => this.unit(work) }, this.clock);
  }

  feedPositions(): SqliteFeedPositions {
    return new SqliteFeedPositions(this.db, { run: (work) => this.unit(work) }, this.clock);
  }

  /** Tokens of the HTTP endpoint. A token that is added or revoked is sealed at once, like all that holds back or opens. */
  tokens(): SqliteTokens {
    const append = (notes: AuditNote[]) => this.audits.append(notes);
    const unit = { run: <T>(work: () => T) => this.unit(work), append, seal: () => this.audits.seal() };
    return new SqliteTokens(this.db, unit, this.tables);
  }

  async saveExemption(exemption: Exemption, notes: AuditNote[]): Promise<void> {
    await this.unit(() => {
      saveExemption(this.db, exemption);
      this.audits.append(notes);
      this.audits.seal();
    });
  }

  /** Nothing keeps a stop waiting; a large commit is taken back. Only the first: whoever repeats it, or lifts it, could do so for ever. */
  async setStop(stop: Stop | undefined, notes: AuditNote[]): Promise<void> {
    const work = () => {
      saveStop(this.db, stop);
      this.audits.append(notes);
      this.audits.seal();
    };
    if (stop && !readStop(this.db)) this.unitAtOnce(work);
    else await this.unit(work);
  }

  async saveAcceptance(acceptance: Acceptance, notes: AuditNote[]): Promise<void> {
    await this.unit(() => {
      saveAcceptance(this.db, acceptance);
      this.audits.append(notes);
      this.audits.seal();
    });
  }

  async release({ intent, claims, episodes, notes }: Release): Promise<void> {
    await this.unit(() => {
      if (intent) addIntent(this.db, intent);
      this.saveEpisodes(episodes);
      this.saveClaims(claims);
      this.audits.append(notes);
      this.audits.seal();
    });
  }

  async lastEventNo(): Promise<number> {
    return lastEventNo(this.db);
  }

  eventsBetween(afterNo: number, upToNo: number): AsyncIterable<TrustEvent[]> {
    return eventsBetween(this.db, afterNo, upToNo);
  }

  override async presentPrints(kind: SubjectKind): Promise<PresentPrints> {
    const known = this.prints.get(kind) ?? (await super.presentPrints(kind));
    this.prints.set(kind, known);
    return known;
  }
}

export function boundElsewhere(file: string, bound: string, address: string): AppError {
  return new AppError(
    'bound_elsewhere',
    `database \`${file}\` belongs to ${bound}, not to ${address}: set TRUSTWARD_DB to another file for this address`,
  );
}
