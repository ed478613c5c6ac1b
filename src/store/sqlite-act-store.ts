// store: acting's port: the transitions of an intent, and the reads by target. Each writing method is one immediate transaction with
// its audit entries inside, or shares one with others that are due. In: a transition with its effects, a target. Out: nouns. It decides nothing.
import type {
  ActStore,
  ReopenedIntents,
  ResolvedIntent,
  SentIntent,
  SettledIntent,
  TransitionEffects,
  WithdrawnIntent,
} from '../domain/act-store.ts';
import { differencesText, type TableDifference } from '../domain/acting-tables.ts';
import type { ActionName } from '../domain/action.ts';
import type { AuditNote, LinkEntry } from '../domain/audit-entry.ts';
import type { Claim } from '../domain/claim.ts';
import type { Episode } from '../domain/episode.ts';
import type { AppError } from '../domain/errors.ts';
import { drained, giveWay } from '../domain/give-way.ts';
import type { Intent } from '../domain/intent.ts';
import type { ResolveStore } from '../domain/operator-store.ts';
import type { Clock } from '../domain/ports.ts';
import { ActingTables } from './acting-tables.ts';
import { AuditLog, type Sealing } from './audit-log.ts';
import { attemptsSince, episodesInForce, episodesThatSaw, intentsOn, openClaimsOn, saveEpisode } from './by-target.ts';
import { saveClockAgreement } from './clock-agreement.ts';
import type { Db } from './database.ts';
import { GroupCommit } from './group-commit.ts';
import { markSent, reopen, resolve, settle, withdraw } from './intent-log.ts';
import { keepLatency } from './kept-latency.ts';
import { moveLog } from './move-log.ts';
import type { OpenTransaction } from './open-transaction.ts';
import { addNotification } from './outbox.ts';
import { SqliteReader } from './reader.ts';
import { rowOfClaim } from './rows.ts';
import { editedFault } from './store-fault.ts';

/** After so many times others wait for it. */
const TAKEN_BACK_MAX = 20;

export class SqliteActStore extends SqliteReader implements ActStore, ResolveStore {
  protected readonly audits: AuditLog;
  protected readonly tables: ActingTables;
  /** A large commit that others wait for. It never rejects. */
  private awaited: Promise<void> | undefined;
  private logMoved: Promise<void> | undefined;
  /** Who acts is in the same queue as who commits a run: neither waits for the other here. */
  private readonly group = new GroupCommit((units) =>
    this.unitAtOnce(() => {
      for (const work of units) work();
    }),
  );

  /**
   * Without `sealing` there are neither checkpoints nor signatures. A database that differs from its record is opened all the same,
   * and its fault is noted.
   */
  constructor(
    db: Db,
    link: LinkEntry,
    clock: Clock,
    private readonly sealing?: Sealing,
  ) {
    super(db, clock);
    this.tables = new ActingTables(db);
    this.audits = new AuditLog(db, this.tables, link, clock, sealing);
    const differences = this.tables.differences();
    if (differences.length > 0) this.edited(differences);
  }

  override async tableDifferences(): Promise<readonly TableDifference[]> {
    return super.tableDifferences(this.sealing?.judgeEnd);
  }

  async demandIntact(): Promise<void> {
    this.audits.demandOwnEnd();
    const differences = await this.tableDifferences();
    if (differences.length > 0) throw this.edited(differences);
  }

  async markSent(sent: SentIntent): Promise<void> {
    await this.group.add(() => {
      this.demandSmallIntact();
      this.change(sent, (at) => markSent(this.db, sent, at));
    }, 'at_once');
  }

  async settle(settled: SettledIntent): Promise<void> {
    await this.group.add(() => this.change(settled, (at) => settle(this.db, settled, at)), 'soon');
  }

  async withdraw(withdrawn: WithdrawnIntent): Promise<void> {
    await this.group.add(() => this.change(withdrawn, (at) => withdraw(this.db, withdrawn, at)), 'soon');
  }

  async reopen(reopened: ReopenedIntents): Promise<void> {
    if (reopened.intents.length === 0) return;
    await this.unit(() => {
      this.change(reopened, (at) => {
        for (const intent of reopened.intents) reopen(this.db, intent, at);
      });
      this.audits.seal(); // a person's release may be among them
    });
  }

  async resolve(resolved: ResolvedIntent): Promise<void> {
    await this.unit(() => this.change(resolved, (at) => resolve(this.db, resolved, at)));
  }

  private change(effects: TransitionEffects, change: (at: number) => void): void {
    change(this.clock.nowMs());
    this.saveEpisodes(effects.episodes ?? []);
    this.saveClaims(effects.claims ?? []);
    if (effects.clocks) saveClockAgreement(this.db, effects.clocks);
    if (effects.latency) keepLatency(this.db, effects.latency);
    for (const notification of effects.notifications ?? []) addNotification(this.db, notification);
    this.audits.append(effects.notes);
  }

  async openClaimsOn(target: string): Promise<Claim[]> {
    return openClaimsOn(this.db, target);
  }

  async episodesInForce(ids: readonly string[]): Promise<Episode[]> {
    return episodesInForce(this.db, ids);
  }

  async episodesThatSaw(target: string): Promise<Episode[]> {
    return episodesThatSaw(this.db, target);
  }

  async intentsOn(target: string): Promise<Intent[]> {
    return intentsOn(this.db, target);
  }

  async intentsIn(state: 'planned' | 'sent' | 'unknown'): Promise<Intent[]> {
    return this.intents(state === 'unknown' ? { status: 'settled', outcome: state } : { status: state });
  }

  async attemptsSince(action: ActionName, sinceMs: number): Promise<number> {
    return attemptsSince(this.db, action, sinceMs);
  }

  async attemptsOfRun(runId: string): Promise<ReadonlyMap<ActionName, number>> {
    const sql = 'SELECT action, count(*) AS n FROM attempts WHERE run_id = ? AND refused = 0 GROUP BY action';
    const rows = this.db.all<{ action: ActionName; n: number }>(sql, runId);
    return new Map(rows.map(({ action, n }) => [action, Number(n)]));
  }

  /** What stands in the way of a call may have been removed since the run compared everything. Errors: AppError `store_edited`. */
  private demandSmallIntact(): void {
    const differing = ['stop_switch', 'exemptions'].map((table) => this.tables.differenceOf(table));
    const found = differing.filter((one) => one !== undefined);
    if (found.length > 0) throw this.edited(found);
  }

  private edited(differences: readonly TableDifference[]): AppError {
    const fault = editedFault(differencesText(differences));
    this.db.noteFault(fault);
    return fault;
  }

  /** One unit of work: the change and its audit entries. It is written before this returns, unless a large one is awaited. */
  protected async unit<T>(work: () => T): Promise<T> {
    while (this.awaited) await this.awaited;
    return this.unitAtOnce(work);
  }

  /** The same, which no large one keeps waiting. */
  protected unitAtOnce<T>(work: () => T): T {
    try {
      const answer = this.db.transaction(() => {
        const result = work();
        this.audits.flush();
        return result;
      });
      this.audits.committed();
      return answer;
    } catch (error) {
      this.audits.rolledBack();
      throw error;
    }
  }

  /**
   * The same unit in steps, between which others get their turn. INVARIANT: it is one transaction. Whoever writes meanwhile goes first: what
   * was written is taken back, and written again after it. When that happens again and again, the others wait until it is written.
   */
  protected async unitInTurns(
    work: (db: Db) => Iterator<void, void>,
    notes: readonly AuditNote[],
    isLarge: boolean,
  ): Promise<void> {
    while (this.awaited) await this.awaited;
    for (let turn = 0; isLarge && turn < TAKEN_BACK_MAX; turn += 1) if (await this.isWritten(work, notes)) return;
    if (!isLarge) return this.unitAtOnce(() => this.allSteps(work, notes));
    const { promise, resolve } = Promise.withResolvers<void>();
    this.awaited = promise;
    try {
      while (!(await this.isWritten(work, notes)));
    } finally {
      this.awaited = undefined;
      resolve();
    }
  }

  override async close(): Promise<void> {
    await this.logMoved;
    await super.close();
  }

  /** Returns false when it was taken back. A database in memory has no second connection. */
  private async isWritten(work: (db: Db) => Iterator<void, void>, notes: readonly AuditNote[]): Promise<boolean> {
    const open = this.db.begin(() => this.audits.rolledBack());
    if (open) return this.writtenIn(open, this.steps(open.db, work, notes));
    this.unitAtOnce(() => this.allSteps(work, notes));
    return true;
  }

  private allSteps(work: (db: Db) => Iterator<void, void>, notes: readonly AuditNote[]): void {
    drained(work(this.db));
    this.audits.append(notes);
  }

  private *steps(db: Db, work: (db: Db) => Iterator<void, void>, notes: readonly AuditNote[]): Generator<void, void> {
    this.tables.follow(db);
    yield;
    yield* { [Symbol.iterator]: () => work(db) };
    this.audits.append(notes);
    yield* this.audits.flushing(db);
  }

  /** Returns false when it was taken back. */
  private async writtenIn(open: OpenTransaction<Db>, steps: Iterator<void, void>): Promise<boolean> {
    try {
      for (let step = steps.next(); !step.done; step = steps.next()) {
        await giveWay();
        if (open.isTakenBack) return false;
      }
      await open.synced();
      if (open.isTakenBack) return false;
      open.commit();
    } catch (error) {
      if (!open.isTakenBack) this.audits.rolledBack();
      throw error;
    } finally {
      open.end();
    }
    this.logMoved = moveLog(this.db);
    this.audits.committed();
    return true;
  }

  protected saveEpisodes(episodes: Episode[]): void {
    for (const episode of episodes) saveEpisode(this.db, episode);
  }

  protected saveClaims(claims: Claim[]): void {
    for (const claim of claims) this.db.upsert('claims', rowOfClaim(claim), 'id');
  }
}
