// store: acting's port: the transitions of an intent, and the reads by target. Each writing method is one transaction with its audit entries
// inside, or shares one with others that are due. In: a transition with its effects, a target. Out: nouns. It decides nothing.
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
import type { Claim } from '../domain/claim.ts';
import type { Episode } from '../domain/episode.ts';
import type { AppError } from '../domain/errors.ts';
import type { Intent } from '../domain/intent.ts';
import type { ResolveStore } from '../domain/operator-store.ts';
import type { Clock } from '../domain/ports.ts';
import type { ChangedTables } from './acting-tables.ts';
import type { AuditLog, Sealing } from './audit-log.ts';
import {
  attemptedOn,
  attemptsSince,
  episodesInForce,
  episodesThatSaw,
  intentsOn,
  openClaimsOn,
  saveEpisode,
} from './by-target.ts';
import { saveClockAgreement } from './clock-agreement.ts';
import { markSent, reopen, resolve, settle, withdraw } from './intent-log.ts';
import { keepLatency } from './kept-latency.ts';
import { addNotification } from './outbox.ts';
import type { Work } from './queries.ts';
import { SqlReader } from './reader.ts';
import { rowOfClaim } from './rows.ts';
import { editedFault } from './store-fault.ts';
import type { Writer } from './writer.ts';

export class SqlActStore extends SqlReader implements ActStore, ResolveStore {
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

  async openClaimsOn(target: string): Promise<Claim[]> {
    return this.db.reading(openClaimsOn(this.db, target));
  }

  async episodesInForce(ids: readonly string[]): Promise<Episode[]> {
    return this.db.reading(episodesInForce(this.db, ids));
  }

  async episodesThatSaw(target: string): Promise<Episode[]> {
    return this.db.reading(episodesThatSaw(this.db, target));
  }

  async intentsOn(target: string): Promise<Intent[]> {
    return this.db.reading(intentsOn(this.db, target));
  }

  async attemptedOn(target: string): Promise<Intent[]> {
    return this.db.reading(attemptedOn(this.db, target));
  }

  async intentsIn(state: 'planned' | 'sent' | 'unknown'): Promise<Intent[]> {
    return this.intents(state === 'unknown' ? { status: 'settled', outcome: state } : { status: state });
  }

  async attemptsSince(action: ActionName, sinceMs: number): Promise<number> {
    return this.db.reading(attemptsSince(this.db, action, sinceMs));
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

  private edited(differences: readonly TableDifference[]): AppError {
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
    for (const claim of claims) yield* this.db.upsert('claims', rowOfClaim(claim), 'id');
  }
}
