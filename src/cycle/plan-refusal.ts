// cycle: what makes it impossible to begin an intent of an approved plan, asked of the standing state; the target itself
// is read later, by the last look. In: a planned intent. Out: why not, for people, or undefined. It changes nothing.

import type { Episode } from '../domain/episode.ts';
import { type Intent, intentKey } from '../domain/intent.ts';
import type { PlannedIntent } from '../domain/plan.ts';
import type { Rule } from '../domain/rule.ts';
import type { Engine } from './engine.ts';

export interface StandingView {
  /** Episodes that are not closed, by id. */
  open: ReadonlyMap<string, Episode>;
  /** Live intents by `action target episode`. */
  live: ReadonlyMap<string, Intent>;
  rejected: ReadonlySet<string>;
}

/** Also intents of episodes that are over: a window rule's plan outlives its match, and must not be carried out twice. */
export async function standingView(
  engine: Pick<Engine, 'store' | 'clock'>,
  planned: readonly PlannedIntent[],
): Promise<StandingView> {
  const standing = await engine.store.standing(engine.clock.nowMs());
  const liveFor = [...new Set(planned.flatMap(({ basis }) => basis.map(({ episodeId }) => episodeId)))];
  const live = await engine.store.intents({ liveFor });
  return {
    open: new Map(standing.episodes.filter(({ state }) => state !== 'closed').map((episode) => [episode.id, episode])),
    live: new Map(live.flatMap((intent) => intent.basis.map((item) => [liveKey(intent, item.episodeId), intent]))),
    rejected: standing.rejected,
  };
}

/** The rule went, is only dry, or says something else now; the trouble is over; a person reversed or rejected it; it was done. */
export function refusalOf(
  planned: PlannedIntent,
  rules: ReadonlyMap<string, Rule>,
  view: StandingView,
): string | undefined {
  for (const { rule: id, ruleHash, episodeId, subjectId } of planned.basis) {
    const rule = rules.get(id);
    if (!rule) return `rule ${id} is missing or off`;
    if (rule.mode === 'dry-run') return `rule ${id} has mode dry-run now`;
    if (rule.hash !== ruleHash) return `rule ${id} was changed since the plan was made`;
    const episode = view.open.get(episodeId);
    // A window slides on by itself: what it held was approved all the same.
    if (!planned.undo && !episode && !rule.sources.includes('events')) return `the trouble of ${subjectId} is over`;
    if (!planned.undo && episode?.overriddenAt !== undefined) return 'a person reversed it since the plan was made';
    if (view.rejected.has(intentKey({ ...planned, basis: [{ episodeId }] as PlannedIntent['basis'] })))
      return 'a person rejected it in another plan';
    const live = view.live.get(liveKey(planned, episodeId));
    if (live && !isFailed(live))
      return isDone(live) ? 'it was acted on already' : `intent ${live.id} is not resolved yet`;
  }
  return undefined;
}

/** The live intent that this one continues: it failed, and keeps its count of attempts. */
export function failedBefore(planned: PlannedIntent, view: StandingView): Intent | undefined {
  return planned.basis.flatMap(({ episodeId }) => view.live.get(liveKey(planned, episodeId)) ?? []).find(isFailed);
}

function isFailed({ status, outcome }: Intent): boolean {
  return status === 'settled' && outcome === 'failed';
}

function isDone({ outcome }: Intent): boolean {
  return outcome === 'succeeded' || outcome === 'confirmed';
}

function liveKey({ action, target }: Pick<PlannedIntent, 'action' | 'target'>, episodeId: string): string {
  return `${action} ${target} ${episodeId}`;
}
