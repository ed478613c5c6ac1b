// history: the open state of a what-if: it begins with the recorded one, and goes on by what the production code decides and settles. In: the
// recorded open state of each run, what was decided. Out: an open state for the next one. What people did is taken from the record at each
// run; what followed from the recorded rules' own acts is not, from the beginning on. It calls nothing.
import { episodesAfter } from '../../act/after-own-doing.ts';
import { isToBeCarriedOut, openAgain, openIntent } from '../../act/gate.ts';
import { claimsAfter } from '../../act/settle.ts';
import type { Decided } from '../../decide/input.ts';
import { COUNTED_REASONS } from '../../decide/part.ts';
import type { Action, ActionName } from '../../domain/action.ts';
import type { StoredDecision } from '../../domain/decision.ts';
import type { Episode } from '../../domain/episode.ts';
import { type Intent, isDone, isUnresolved } from '../../domain/intent.ts';
import { intentKey } from '../../domain/intent-key.ts';
import type { Ids } from '../../domain/ports.ts';
import type { Run } from '../../domain/run.ts';
import type { OpenState } from '../../domain/store.ts';
import type { CountedDecision } from '../../domain/watch-store.ts';
import { withIntents } from '../../run/run-commit.ts';
import { OwnAttempts } from './own-attempts.ts';
import { OwnLately } from './own-lately.ts';
import { OwnRows } from './own-rows.ts';

export interface OwnStateParts {
  actions: ReadonlyMap<ActionName, Action>;
  ids: Ids;
}

export class OwnState {
  private readonly rows: OwnRows;
  private readonly attempts: OwnAttempts;
  private readonly lately: OwnLately;
  /** Keys by episode: a rejection holds as long as its episode. */
  private readonly rejected = new Map<string, Set<string>>();
  private counted: CountedDecision[] = [];
  private attemptsSince = new Map<ActionName, number>();

  constructor(
    begun: OpenState,
    atMs: number,
    private readonly parts: OwnStateParts,
  ) {
    this.rows = new OwnRows(begun);
    this.attempts = new OwnAttempts(begun, atMs);
    this.lately = new OwnLately(begun, atMs);
  }

  /** At a run, with what people did until then. `recorded`: its own open state. */
  at(nowMs: number, recorded: OpenState): OpenState {
    this.heedRejections(recorded);
    const { exemptions, stop } = recorded;
    return {
      ...this.rows.all(),
      rejected: new Set([...this.rejected.values()].flatMap((keys) => [...keys])),
      lastAttempts: this.attempts.last,
      attempts24h: this.attempts.inDayBefore(nowMs),
      lately: this.lately.inDayBefore(nowMs),
      exemptions,
      stop,
    };
  }

  /** What was in doubt at the beginning is resolved as it was; of a run over whole lists. */
  resolveAsRecorded({ intents, claims }: OpenState): void {
    for (const intent of [...this.rows.intents.values()].filter(isUnresolved)) {
      const recorded = intents.find(({ id }) => id === intent.id);
      if (recorded) this.rows.intents.set(recorded.id, recorded);
      else this.rows.intents.delete(intent.id);
      const own = claims.filter(
        ({ intentId, episodeId }) => intentId === intent.id && this.rows.episodes.has(episodeId),
      );
      if (recorded && isDone(recorded)) this.rows.put({ claims: own });
    }
  }

  /** What a look counts with: decisions of the last whole run and since, and attempts. */
  sinceWhole(): { counted: readonly CountedDecision[]; attempts: ReadonlyMap<ActionName, number> } {
    return { counted: this.counted, attempts: this.attemptsSince };
  }

  /** Nobody saw what matched meanwhile: what is counted from a match starts again. */
  freeze(nowMs: number): void {
    const frozen = ({ state }: Episode) => state === 'frozen' || state === 'closed';
    const open = [...this.rows.episodes.values()].filter((episode) => !frozen(episode));
    this.rows.put({ episodes: open.map((episode) => ({ ...episode, state: 'frozen', stateSince: nowMs })) });
  }

  /**
   * Keeps what was decided, and does it: every act takes effect at once, unless its target is gone. Returns what was done, in order.
   */
  async commit(run: Run, isPart: boolean, decided: Decided, isGone: (intent: Intent) => boolean): Promise<Intent[]> {
    const { rows } = this;
    const intents = this.toBeCarriedOut(run, decided);
    rows.put({ episodes: decided.episodes, claims: decided.claims });
    for (const id of decided.ended) rows.decisions.delete(id);
    const written = withIntents(decided.decisions, intents).map((decision) => storedBy(run, decision));
    for (const decision of written) rows.decisions.set(decision.id, decision);
    this.count(isPart, written);
    const done: Intent[] = [];
    for (const intent of intents) if (!isGone(intent)) done.push(await this.carryOut(intent, run.startedAt));
    this.showOutcomes(done);
    this.lately.add(rows.episodes.values());
    rows.forgetOver();
    for (const id of this.rejected.keys()) if (!rows.episodes.has(id)) this.rejected.delete(id);
    return done;
  }

  private toBeCarriedOut(run: Run, { acts }: Decided): Intent[] {
    const { ids } = this.parts;
    const intents = acts.flatMap(({ draft, mode, retryOf, isUnchanged }) => {
      const failed = retryOf === undefined ? undefined : this.rows.intents.get(retryOf);
      if (failed) return [openAgain({ ...failed, basis: draft.basis }, mode)];
      if (isUnchanged) return [];
      return [openIntent(draft, mode, { id: ids.next(), runId: run.id, nowMs: run.startedAt })];
    });
    return intents.filter(isToBeCarriedOut);
  }

  private async carryOut(intent: Intent, nowMs: number): Promise<Intent> {
    const { actions, ids } = this.parts;
    const action = actions.get(intent.action) as Action;
    const done: Intent = {
      ...intent,
      status: 'settled',
      outcome: 'succeeded',
      attempts: intent.attempts + 1,
      sentAt: nowMs,
      settledAt: nowMs,
    };
    const asking = { actions, ids, clock: { nowMs: () => nowMs }, store: this.rows };
    const claims = await claimsAfter(asking, action, done);
    const episodes = await episodesAfter(asking, action, done);
    this.rows.intents.set(done.id, done);
    this.rows.put({ claims, episodes });
    this.attempts.add(done, nowMs);
    if (!done.undo) this.lately.did(await this.rows.episodesInForce(done.basis.map(idOfEpisode)), nowMs);
    this.attemptsSince.set(done.action, (this.attemptsSince.get(done.action) ?? 0) + 1);
    return done;
  }

  private showOutcomes(done: readonly Intent[]): void {
    for (const { id, outcome, basis } of done) {
      for (const { decisionId } of basis) {
        const decision = this.rows.decisions.get(decisionId);
        if (decision) this.rows.decisions.set(decision.id, { ...decision, intentId: id, outcome });
      }
    }
  }

  private count(isPart: boolean, written: readonly StoredDecision[]): void {
    const counting = isPart ? written : [...this.rows.decisions.values()];
    const counted = counting
      .filter(({ verdict, reason }) => verdict === 'match' && COUNTED_REASONS.includes(reason))
      .map((decision): CountedDecision => ({ ...decision, owners: ownersOf(decision) }));
    this.counted = isPart ? [...this.counted, ...counted] : counted;
    if (!isPart) this.attemptsSince = new Map();
  }

  /** A person answered it for the recorded episode: that holds for the episode of the same rule and subject here. */
  private heedRejections({ rejected, decisions }: OpenState): void {
    if (rejected.size === 0) return;
    const open = new Map<string, Episode>();
    for (const episode of this.rows.episodes.values()) {
      if (episode.state !== 'closed') open.set(`${episode.rule} ${episode.subject.id}`, episode);
    }
    for (const { rule, subject, action, target, episodeId } of decisions) {
      const own = open.get(`${rule} ${subject.id}`);
      if (!own || episodeId === undefined) continue;
      const keyOf = (id: string) => intentKey({ action, target, basis: [{ episodeId: id }] });
      if (rejected.has(keyOf(episodeId)))
        this.rejected.set(own.id, (this.rejected.get(own.id) ?? new Set()).add(keyOf(own.id)));
    }
  }
}

function storedBy(run: Run, decision: Omit<StoredDecision, 'runId' | 'runSeq' | 'writtenAt' | 'endedSeq'>) {
  return { ...decision, runId: run.id, runSeq: run.seq, writtenAt: run.startedAt, endedSeq: undefined };
}

function idOfEpisode({ episodeId }: Intent['basis'][number]): string {
  return episodeId;
}

function ownersOf({ effect }: StoredDecision): string[] {
  return effect.devices.flatMap(({ owners }) => owners ?? []).map((owner) => owner.toLowerCase());
}
