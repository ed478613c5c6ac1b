// history: the open state of a what-if: it begins with the recorded one, and goes on by what the production code decides and settles. In: the
// recorded open state of each run, what was decided. Out: an open state for the next one. What people did is taken from the record at each
// run; what followed from the recorded rules' own acts is not, from the beginning on. It calls nothing.
import { DAY_MS } from '../../base/time.ts';
import type { Action, ActionName } from '../../domain/action.ts';
import type { StoredDecision } from '../../domain/decision.ts';
import { intentKey } from '../../domain/digest.ts';
import { type Claim, type Episode, isOpenClaim, seenOfKey } from '../../domain/episode.ts';
import { type Intent, isDone, isUnresolved } from '../../domain/intent.ts';
import { type Notice, noticesByEpisode } from '../../domain/notice.ts';
import type { Ids } from '../../domain/ports.ts';
import type { RolloutState } from '../../domain/rollout.ts';
import type { Run } from '../../domain/run.ts';
import { attemptKey, latelyKey, latelyOf, type MatchedLately, type OpenState } from '../../domain/store.ts';
import type { ActStore, CountedDecision } from '../../domain/store-ports.ts';
import { isToBeCarriedOut, openAgain, openIntent } from '../../engine/act/gate.ts';
import { claimsAfter, episodesAfter } from '../../engine/act/settle.ts';
import { COUNTED_REASONS, type Decided } from '../../engine/decide/input.ts';
import { withIntents } from '../../engine/run/run-commit.ts';

// The attempts of a what-if: those of the 24 hours before its beginning, as recorded, and its own.

interface Attempt {
  action: ActionName;
  atMs: number;
}

class OwnAttempts {
  readonly last: Map<string, number>;
  private recent: Attempt[];

  constructor({ lastAttempts, attempts24h }: Pick<OpenState, 'lastAttempts' | 'attempts24h'>, atMs: number) {
    this.last = new Map(lastAttempts);
    this.recent = [...attempts24h].flatMap(([action, count]) => timesOf(action, count, lastAttempts, atMs));
  }

  add({ action, target, basis }: Pick<Intent, 'action' | 'target' | 'basis'>, atMs: number): void {
    this.recent.push({ action, atMs });
    // A replay releases nothing by itself.
    for (const { rule } of basis) this.last.set(attemptKey(rule, action, target), atMs);
  }

  /** In the 24 hours before. */
  inDayBefore(nowMs: number): Map<ActionName, number> {
    this.recent = this.recent.filter(({ atMs }) => atMs >= nowMs - DAY_MS);
    const counts = new Map<ActionName, number>();
    for (const { action } of this.recent) counts.set(action, (counts.get(action) ?? 0) + 1);
    return counts;
  }
}

/** The record has a number, and the time of each rule's last attempt at each target: one whose time is not known counts for a whole day. */
function timesOf(
  action: ActionName,
  count: number,
  last: ReadonlyMap<string, number>,
  nowMs: number,
): readonly Attempt[] {
  const known = new Map<string, number>();
  for (const [key, atMs] of last) {
    const [, name, ...target] = key.split(' ');
    if (name === action && atMs >= nowMs - DAY_MS) known.set(`${atMs} ${target.join(' ')}`, atMs);
  }
  const times = [...known.values()].sort((a, b) => b - a).slice(0, count);
  const unknown = new Array<number>(count - times.length).fill(nowMs);
  return [...times, ...unknown].map((atMs) => ({ action, atMs }));
}

// The subjects that the rules of a what-if newly matched or acted on within 24 hours: those of its beginning, as
// recorded, and its own.

class OwnLately {
  private readonly known = new Map<string, { one: MatchedLately; untilMs: number }>();

  /** The record has no time of an act: it counts for a whole day. */
  constructor({ lately }: Pick<OpenState, 'lately'>, atMs: number) {
    for (const [key, one] of lately ?? [])
      this.known.set(key, { one, untilMs: DAY_MS + (one.acted ? atMs : one.since) });
  }

  /** Of these episodes those that are over. */
  add(episodes: Iterable<Episode>): void {
    for (const episode of episodes) if (episode.state === 'closed') this.put(episode, latelyOf(episode), episode.since);
  }

  /** For these episodes. */
  did(episodes: readonly Episode[], atMs: number): void {
    for (const episode of episodes) this.put(episode, { ...latelyOf(episode), acted: true }, atMs);
  }

  inDayBefore(nowMs: number): ReadonlyMap<string, MatchedLately> {
    for (const [key, { untilMs }] of this.known) if (untilMs <= nowMs) this.known.delete(key);
    return new Map([...this.known].map(([key, { one }]) => [key, one]));
  }

  private put({ rule, subject }: Episode, one: MatchedLately, fromMs: number): void {
    const key = latelyKey(rule, subject.id);
    const known = this.known.get(key);
    const isLonger = known === undefined || lasted(one) > lasted(known.one);
    const longest = isLonger ? one : known.one;
    const acted = one.acted ?? known?.one.acted;
    const untilMs = Math.max(known?.untilMs ?? 0, fromMs + DAY_MS);
    this.known.set(key, { one: acted ? { ...longest, acted } : longest, untilMs });
  }
}

/** One that is not over lasts on. */
function lasted({ since, until = Number.POSITIVE_INFINITY }: MatchedLately): number {
  return until - since;
}

// The rows that a what-if keeps in memory, as the store keeps those of a live process: episodes, claims, decisions in
// force, intents. In: what was decided and done. Out: what deciding and acting ask of a store. INVARIANT: it keeps what
// `OpenState` has, and nothing else.

type Rows = Pick<OpenState, 'episodes' | 'claims' | 'decisions' | 'intents'>;

class OwnRows implements Pick<ActStore, 'openClaimsOn' | 'episodesInForce' | 'episodesThatSaw' | 'intentsOn'> {
  readonly episodes: Map<string, Episode>;
  readonly claims: Map<string, Claim>;
  readonly decisions: Map<string, StoredDecision>;
  readonly intents: Map<string, Intent>;

  constructor({ episodes, claims, decisions, intents }: Rows) {
    this.episodes = byId(episodes);
    this.claims = byId(claims);
    this.decisions = byId(decisions);
    this.intents = byId(intents);
  }

  all(): Rows {
    return {
      episodes: [...this.episodes.values()],
      claims: [...this.claims.values()],
      decisions: [...this.decisions.values()],
      intents: [...this.intents.values()],
    };
  }

  put(changed: { episodes?: readonly Episode[]; claims?: readonly Claim[] }): void {
    for (const episode of changed.episodes ?? []) this.episodes.set(episode.id, episode);
    for (const claim of changed.claims ?? []) {
      if (isOpenClaim(claim)) this.claims.set(claim.id, claim);
      else this.claims.delete(claim.id);
    }
  }

  /** Forgets episodes that are over and claim nothing, and intents that nothing in force rests on. */
  forgetOver(): void {
    const [claiming, claimed] = [new Set<string>(), new Set<string>()];
    for (const { episodeId, intentId } of this.claims.values()) {
      claiming.add(episodeId);
      claimed.add(intentId);
    }
    for (const [id, { state }] of this.episodes) {
      if (state === 'closed' && !claiming.has(id)) this.episodes.delete(id);
    }
    for (const [id, intent] of this.intents) {
      const isNeeded = isUnresolved(intent) || intent.outcome === 'parked' || claimed.has(id);
      if (!isNeeded && !intent.basis.some(({ episodeId }) => this.episodes.has(episodeId))) this.intents.delete(id);
    }
  }

  async openClaimsOn(target: string): Promise<Claim[]> {
    const open = [...this.claims.values()].filter((claim) => claim.target === target);
    return open.sort((a, b) => Number(a.status === 'orphaned') - Number(b.status === 'orphaned'));
  }

  async episodesInForce(ids: readonly string[]): Promise<Episode[]> {
    return [...new Set(ids)].flatMap((id) => this.episodes.get(id) ?? []);
  }

  async episodesThatSaw(target: string): Promise<Episode[]> {
    const saw = ({ state, seenSo }: Episode) =>
      state !== 'closed' && seenSo.some((key) => seenOfKey(key).target === target);
    return [...this.episodes.values()].filter(saw);
  }

  async intentsOn(target: string): Promise<Intent[]> {
    return [...this.intents.values()].filter((intent) => intent.target === target);
  }
}

function byId<T extends { id: string }>(all: readonly T[]): Map<string, T> {
  return new Map(all.map((one) => [one.id, one]));
}

interface OwnStateParts {
  actions: ReadonlyMap<ActionName, Action>;
  ids: Ids;
}

export class OwnState {
  private readonly rows: OwnRows;
  private readonly attempts: OwnAttempts;
  private readonly lately: OwnLately;
  /** Keys by episode: a rejection holds as long as its episode. */
  private readonly rejected = new Map<string, Set<string>>();
  /** As if each notice were delivered at once. */
  private notices: ReadonlyMap<string, readonly Notice[]>;
  private counted: CountedDecision[] = [];
  private attemptsSince = new Map<ActionName, number>();
  /** By rule. */
  private readonly rollouts: Map<string, RolloutState>;

  constructor(
    begun: OpenState,
    atMs: number,
    private readonly parts: OwnStateParts,
  ) {
    this.rows = new OwnRows(begun);
    this.attempts = new OwnAttempts(begun, atMs);
    this.lately = new OwnLately(begun, atMs);
    this.notices = noticesByEpisode([...(begun.notices?.values() ?? [])].flat().map((one) => deliveredBy(one, atMs)));
    this.rollouts = new Map((begun.rollouts ?? []).map((state) => [state.rule, state]));
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
      notices: this.notices,
      rollouts: [...this.rollouts.values()],
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
    for (const state of decided.rollouts) this.rollouts.set(state.rule, state);
    for (const id of decided.ended) rows.decisions.delete(id);
    const written = withIntents(decided.decisions, intents).map((decision) => storedBy(run, decision));
    for (const decision of written) rows.decisions.set(decision.id, decision);
    this.count(isPart, written);
    const done: Intent[] = [];
    for (const intent of intents) if (!isGone(intent)) done.push(await this.carryOut(intent, run.startedAt));
    this.showOutcomes(done);
    this.lately.add(rows.episodes.values());
    this.warn(run, decided);
    rows.forgetOver();
    for (const id of this.rejected.keys()) if (!rows.episodes.has(id)) this.rejected.delete(id);
    return done;
  }

  private warn({ startedAt }: Run, { notices: { begin, ended } }: Decided): void {
    const over = new Set(ended.flatMap(({ ids }) => ids));
    const kept = [...this.notices.values()].flat().filter(({ id }) => !over.has(id));
    const told = begin.flatMap(({ notice, isNow }): Notice[] => {
      const dueAt = startedAt + notice.beforeMs;
      return isNow ? [{ ...notice, status: 'delivered', attempts: 1, deliveredAt: startedAt, dueAt }] : [];
    });
    this.notices = noticesByEpisode([...kept, ...told]);
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

/** One that nobody had attempted, or whose attempt was under way. */
function deliveredBy(notice: Notice, nowMs: number): Notice {
  if (notice.aheadMs !== 0 || (notice.status !== 'waiting' && notice.status !== 'sending')) return notice;
  return {
    ...notice,
    status: 'delivered',
    deliveredAt: nowMs,
    dueAt: Math.max(notice.dueAt ?? 0, nowMs + notice.beforeMs),
  };
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
