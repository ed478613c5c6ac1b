// operator: the facts that checks get about an approved plan's intents before they begin: the stored state, the last runs' answers
// and readings. The target itself is read later, for preflight. In: the planned intents. Out: facts of each. It changes nothing.
import type { ActContext } from '../act/context.ts';
import { EarlierAnswers, isStillToBeDone, wordKey } from '../decide/earlier-answers.ts';
import type { BasisFacts, Other, TargetFacts } from '../domain/check.ts';
import type { Episode } from '../domain/episode.ts';
import type { Intent, IntentBasis } from '../domain/intent.ts';
import { intentKey } from '../domain/intent-key.ts';
import { isOnTrial } from '../domain/mode.ts';
import { episodesOf, type PlannedIntent } from '../domain/plan.ts';
import { type Rule, rulesById } from '../domain/rule.ts';
import type { OpenState } from '../domain/store.ts';
import { SOURCES, type Source } from '../domain/subjects.ts';
import type { Engine } from '../run/engine.ts';
import { lastReading, recentRuns } from '../run/recent-runs.ts';

type Asking = Pick<Engine, 'store' | 'clock' | 'actions' | 'active' | 'daemonMode'>;

export type FactsOfPlanned = (planned: PlannedIntent) => TargetFacts;

/** Includes closed episodes: a window rule's plan outlives its match, and must not be carried out twice. */
export async function planFacts(
  engine: Asking,
  all: readonly PlannedIntent[],
  { freezeNow }: Pick<ActContext, 'freezeNow'>,
): Promise<FactsOfPlanned> {
  const { store, clock, actions } = engine;
  const openState = await store.openState(clock.nowMs());
  const liveFor = episodesOf({ intents: [...all] });
  const live = (await store.intents({ liveFor })).flatMap((intent) =>
    intent.basis.map(({ episodeId }): [string, Intent] => [liveKey(intent, episodeId), intent]),
  );
  const stored: StoredForPlan = {
    rules: new Map(engine.active().rules.map((rule) => [rule.id, rule])),
    episodes: new Map((await store.episodes(liveFor)).map((episode) => [episode.id, episode])),
    live: new Map(live),
    rejected: openState.rejected,
    said: new Map(openState.decisions.map((one) => [wordKey(one.rule, one.subject.id, one), one])),
    untrusted: await untrustedSources(engine),
  };
  const firstOf = firstIn(engine, openState);
  return (planned) => {
    const traits = actions.get(planned.action) as TargetFacts['traits'];
    return {
      traits,
      target: planned.target,
      undo: planned.undo,
      nowMs: clock.nowMs(),
      approved: true,
      // The limit of the rules' modes; the gate applies the daemon's mode.
      mode: 'enforce',
      basis: planned.basis.map((basis) => basisOf(planned, basis, traits, stored)),
      stop: openState.stop,
      freeze: freezeNow(),
      first: firstOf(planned),
    };
  };
}

interface StoredForPlan {
  rules: ReadonlyMap<string, Rule>;
  episodes: ReadonlyMap<string, Episode>;
  /** Live intents by `action target episode`. */
  live: ReadonlyMap<string, Intent>;
  rejected: OpenState['rejected'];
  /** Decisions in force, by rule, subject, action and target. */
  said: ReadonlyMap<string, NonNullable<BasisFacts['said']>>;
  /** By source: why it was not trusted when it was last read. */
  untrusted: ReadonlyMap<Source, string>;
}

function basisOf(
  planned: PlannedIntent,
  { rule, ruleHash, subjectId, episodeId }: IntentBasis,
  { inverse }: TargetFacts['traits'],
  { rules, episodes, live, rejected, said, untrusted }: StoredForPlan,
): BasisFacts {
  const { action, target } = planned;
  const ruleNow = rules.get(rule);
  const episode = episodes.get(episodeId);
  const liveOf = (name: typeof inverse) =>
    name === undefined ? undefined : live.get(liveKey({ action: name, target }, episodeId));
  // A window moves on by itself, so its approved content still counts. This allows no second attempt on an episode that is over, and
  // nothing on a subject that was gone meanwhile.
  const isSlidOn =
    ruleNow?.sources.includes('events') && episode?.closeReason === 'cleared' && !liveOf(action) && !liveOf(inverse);
  return {
    rule,
    ruleHash,
    subjectId,
    episodeId,
    ruleNow,
    untrusted: ruleNow?.sources.flatMap((source) => untrusted.get(source) ?? [])[0],
    isOver: (episode?.state ?? 'closed') === 'closed' && !isSlidOn,
    overriddenAt: episode?.overriddenAt,
    isReleased: liveOf(inverse)?.released === true,
    isRejected: rejected.has(intentKey({ action, target, basis: [{ episodeId }] })),
    earlier: liveOf(action),
    said: said.get(wordKey(rule, subjectId, planned)),
  };
}

/** The actions that go before a deletion, even if no run has judged both together since the plan was made. */
function firstIn(
  { actions, active, daemonMode }: Pick<Asking, 'actions' | 'active' | 'daemonMode'>,
  openState: OpenState,
): (planned: PlannedIntent) => Other | undefined {
  const activeRules = rulesById(active().rules);
  const modes = { runMode: daemonMode, daemonMode };
  const earlier = new EarlierAnswers({ judged: [], activeRules, traits: actions, openState, ...modes });
  return (planned) => {
    if (!actions.get(planned.action)?.removesTarget) return undefined;
    const first = earlier
      .on(planned)
      .find((other) => !other.traits.removesTarget && !isOnTrial(other.ownMode) && isStillToBeDone(other));
    return first && { rule: first.rule.id, action: first.traits.name };
  };
}

/** Taken from the readings, not from the decisions: a run over untrusted data writes only examples of those. */
async function untrustedSources({ store }: Pick<Engine, 'store'>): Promise<ReadonlyMap<Source, string>> {
  const runs = await recentRuns(store);
  return new Map(
    SOURCES.flatMap((source): [Source, string][] => {
      const reading = lastReading(runs, source)?.reading;
      if (reading?.state !== 'read' || reading.trusted) return [];
      return [[source, `${reading.reasons.map(({ text }) => text).join('; ')} (as last read)`]];
    }),
  );
}

function liveKey({ action, target }: Pick<PlannedIntent, 'action' | 'target'>, episodeId: string): string {
  return `${action} ${target} ${episodeId}`;
}
