// operator: what makes it impossible to begin an intent of an approved plan, asked of the standing state and of what the last
// runs said and read; the target itself is read later, by the last look. In: a planned intent. Out: why not, for people, or undefined. It changes nothing.

import { EarlierAnswers, isStillToBeDone, type ProposalInForce, wordKey } from '../decide/earlier-answers.ts';
import type { ActionName } from '../domain/action.ts';
import type { ReasonCode, StoredDecision } from '../domain/decision.ts';
import type { Episode } from '../domain/episode.ts';
import { type Intent, intentKey, isDone } from '../domain/intent.ts';
import { isAtLeast } from '../domain/mode.ts';
import type { PlannedIntent } from '../domain/plan.ts';
import type { PlanStore } from '../domain/plan-store.ts';
import type { Rule } from '../domain/rule.ts';
import type { OpenState } from '../domain/store.ts';
import { SOURCES, type Source } from '../domain/subjects.ts';
import { lastRead, RUNS_MAX } from '../explain/explain-basis.ts';
import type { Engine } from '../run/engine.ts';

/** Answers that no approval lifts, and that the last look cannot give: they take all wishes of a run, or what decide/ is told. */
const UNLIFTED: ReadonlySet<ReasonCode> = new Set(['conflict', 'other_first', 'impossible_target']);

export interface ApplyView {
  /** Those that the plan rests on, open or closed, by id. */
  episodes: ReadonlyMap<string, Episode>;
  /** Live intents by `action target episode`. */
  live: ReadonlyMap<string, Intent>;
  inverseOf(action: ActionName): ActionName | undefined;
  rejected: ReadonlySet<string>;
  /** What the last run that judged it said, where no approval lifts it: by rule, subject, action and target. */
  unlifted: ReadonlyMap<string, StoredDecision>;
  /** What goes before a deletion, also when no run has judged both together since the plan was made. */
  firstOf(planned: PlannedIntent): ProposalInForce | undefined;
  /** Why a source was not trusted when it was read last. */
  untrusted: ReadonlyMap<Source, string>;
}

/** Also intents of episodes that are over: a window rule's plan outlives its match, and must not be carried out twice. */
export async function applyView(
  engine: Pick<Engine, 'clock' | 'actions' | 'active' | 'daemonMode'> & { store: PlanStore },
  planned: readonly PlannedIntent[],
): Promise<ApplyView> {
  const openState = await engine.store.openState(engine.clock.nowMs());
  const liveFor = [...new Set(planned.flatMap(({ basis }) => basis.map(({ episodeId }) => episodeId)))];
  const live = await engine.store.intents({ liveFor });
  const episodes = await engine.store.episodes(liveFor);
  return {
    episodes: new Map(episodes.map((episode) => [episode.id, episode])),
    live: new Map(live.flatMap((intent) => intent.basis.map((item) => [liveKey(intent, item.episodeId), intent]))),
    inverseOf: (action) => engine.actions.get(action)?.inverse,
    rejected: openState.rejected,
    unlifted: new Map(
      openState.decisions
        .filter(({ reason }) => UNLIFTED.has(reason))
        .map((decision) => [wordKey(decision.rule, decision.subject.id, decision), decision]),
    ),
    firstOf: firstIn(engine, openState),
    untrusted: await untrustedSources(engine.store),
  };
}

function firstIn(
  { actions, active, daemonMode }: Pick<Engine, 'actions' | 'active' | 'daemonMode'>,
  openState: OpenState,
): ApplyView['firstOf'] {
  const activeRules = new Set(active().rules.map(({ id }) => id));
  const modes = { runMode: daemonMode, daemonMode };
  const earlier = new EarlierAnswers({ judged: [], activeRules, traits: actions, openState, ...modes });
  return (planned) => {
    if (!actions.get(planned.action)?.removesTarget) return undefined;
    return earlier
      .on(planned)
      .find((other) => !other.traits.removesTarget && isAtLeast(other.ownMode, 'approve') && isStillToBeDone(other));
  };
}

/** Asked of the readings and not of the decisions, of which a run over untrusted data writes examples alone. */
async function untrustedSources(store: Pick<PlanStore, 'runs'>): Promise<ReadonlyMap<Source, string>> {
  const runs = await store.runs(RUNS_MAX);
  return new Map(
    SOURCES.flatMap((source): [Source, string][] => {
      const reading = lastRead(runs, source)?.reading;
      if (reading?.state !== 'read' || reading.trusted) return [];
      return [[source, reading.reasons.map(({ text }) => text).join('; ')]];
    }),
  );
}

/**
 * The rule went, is only dry, or says something else now; its source is not trusted any more; the trouble is over; a person
 * reversed or rejected it; it was done; or a run saw since what no approval lifts.
 */
export function refusalOf(
  planned: PlannedIntent,
  rules: ReadonlyMap<string, Rule>,
  view: ApplyView,
): string | undefined {
  for (const { rule: id, ruleHash, episodeId, subjectId } of planned.basis) {
    const rule = rules.get(id);
    if (!rule) return `rule ${id} is missing or off`;
    if (rule.mode === 'dry-run') return `rule ${id} has mode dry-run now`;
    if (rule.hash !== ruleHash) return `rule ${id} was changed since the plan was made`;
    const untrusted = rule.sources.find((source) => view.untrusted.has(source));
    if (untrusted) return `${untrusted} were not trusted when they were read last: ${view.untrusted.get(untrusted)}`;
    const episode = view.episodes.get(episodeId);
    const isOver = episode === undefined || episode.state === 'closed';
    if (!planned.undo && isOver && !(rule.sources.includes('events') && isSlidOn(planned, episode, view)))
      return `the trouble of ${subjectId} is over`;
    if (!planned.undo && episode?.overriddenAt !== undefined) return 'a person reversed it since the plan was made';
    if (view.rejected.has(intentKey({ ...planned, basis: [{ episodeId }] as PlannedIntent['basis'] })))
      return 'a person rejected it in another plan';
    const live = view.live.get(liveKey(planned, episodeId));
    if (live && !isFailed(live))
      return isDone(live) ? 'it was acted on already' : `intent ${live.id} is not resolved yet`;
    const said = view.unlifted.get(wordKey(id, subjectId, planned));
    if (said)
      return `the last run ${said.decision === 'hold' ? 'held' : 'skipped'} it (${said.reason}): ${said.reasonText}`;
  }
  const first = view.firstOf(planned);
  return first && `rule ${first.rule.id} wants ${first.traits.name} for the same target first`;
}

/**
 * A window slides on by itself: what it held was approved all the same. But not a second attempt on trouble that is over, nor
 * anything on a subject that was gone meanwhile.
 */
function isSlidOn({ action, target }: PlannedIntent, episode: Episode | undefined, view: ApplyView): boolean {
  if (episode?.closeReason !== 'cleared') return false;
  const related = [action, view.inverseOf(action)].filter((name) => name !== undefined);
  return !related.some((name) => view.live.has(liveKey({ action: name, target }, episode.id)));
}

/** The live intent that this one continues: it failed, and keeps its count of attempts. */
export function failedBefore(planned: PlannedIntent, view: ApplyView): Intent | undefined {
  return planned.basis.flatMap(({ episodeId }) => view.live.get(liveKey(planned, episodeId)) ?? []).find(isFailed);
}

function isFailed({ status, outcome }: Intent): boolean {
  return status === 'settled' && outcome === 'failed';
}

function liveKey({ action, target }: Pick<PlannedIntent, 'action' | 'target'>, episodeId: string): string {
  return `${action} ${target} ${episodeId}`;
}
