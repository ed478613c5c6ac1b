// store: acting's port: the transitions of an intent, and the reads by target. Each writing method is one immediate transaction with
// its audit entries inside. In: a transition with its effects, a target. Out: nouns. It decides nothing.
import type {
  ActStore,
  ReopenedIntents,
  ResolvedIntent,
  SentIntent,
  SettledIntent,
  TransitionEffects,
  WithdrawnIntent,
} from '../domain/act-store.ts';
import type { ActionName } from '../domain/action.ts';
import type { LinkEntry } from '../domain/audit-entry.ts';
import type { SealCheckpoint } from '../domain/checkpoint.ts';
import type { Claim } from '../domain/claim.ts';
import type { Episode } from '../domain/episode.ts';
import type { Intent } from '../domain/intent.ts';
import type { ResolveStore } from '../domain/operator-store.ts';
import type { Clock } from '../domain/ports.ts';
import { AuditLog } from './audit-log.ts';
import { attemptsSince, episodesInForce, episodesThatSaw, intentsOn, openClaimsOn, saveEpisode } from './by-target.ts';
import { saveClockAgreement } from './clock-agreement.ts';
import type { Db } from './database.ts';
import { markSent, reopen, resolve, settle, withdraw } from './intent-log.ts';
import { keepLatency } from './kept-latency.ts';
import { addNotification } from './outbox.ts';
import { SqliteReader } from './reader.ts';
import { rowOfClaim } from './rows.ts';

export class SqliteActStore extends SqliteReader implements ActStore, ResolveStore {
  protected readonly audits: AuditLog;

  constructor(
    db: Db,
    link: LinkEntry,
    clock: Clock,
    /** Without it there are no checkpoints. `sealed` is called after a commit that made one. */
    private readonly sealing?: { seal: SealCheckpoint; sealed(): void },
  ) {
    super(db, clock);
    this.audits = new AuditLog(db, link, clock, sealing?.seal);
  }

  async markSent(sent: SentIntent): Promise<void> {
    this.transition(sent, (at) => markSent(this.db, sent, at));
  }

  async settle(settled: SettledIntent): Promise<void> {
    this.transition(settled, (at) => settle(this.db, settled, at));
  }

  async withdraw(withdrawn: WithdrawnIntent): Promise<void> {
    this.transition(withdrawn, (at) => withdraw(this.db, withdrawn, at));
  }

  async reopen(reopened: ReopenedIntents): Promise<void> {
    if (reopened.intents.length === 0) return;
    this.transition(reopened, (at) => {
      for (const intent of reopened.intents) reopen(this.db, intent, at);
    });
  }

  async resolve(resolved: ResolvedIntent): Promise<void> {
    this.transition(resolved, (at) => resolve(this.db, resolved, at));
  }

  private transition(effects: TransitionEffects, change: (at: number) => void): void {
    this.unit(() => {
      change(this.clock.nowMs());
      this.saveEpisodes(effects.episodes ?? []);
      this.saveClaims(effects.claims ?? []);
      if (effects.clocks) saveClockAgreement(this.db, effects.clocks);
      if (effects.latency) keepLatency(this.db, effects.latency);
      for (const notification of effects.notifications ?? []) addNotification(this.db, notification);
      this.audits.append(effects.notes);
    });
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
    const sql = 'SELECT action, count(*) AS n FROM attempts WHERE run_id = ? GROUP BY action';
    const rows = this.db.all<{ action: ActionName; n: number }>(sql, runId);
    return new Map(rows.map(({ action, n }) => [action, Number(n)]));
  }

  /** One unit of work. A checkpoint that it made is written outside as soon as it is committed. */
  protected unit<T>(work: () => T): T {
    const answer = this.db.transaction(work);
    if (this.audits.takeSealed()) this.sealing?.sealed();
    return answer;
  }

  protected saveEpisodes(episodes: Episode[]): void {
    for (const episode of episodes) saveEpisode(this.db, episode);
  }

  protected saveClaims(claims: Claim[]): void {
    for (const claim of claims) this.db.upsert('claims', rowOfClaim(claim), 'id');
  }
}
