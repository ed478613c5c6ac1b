// act: how Trustward's own change affects the episodes that go on: it is no person's reversal.
// In: an intent that is done. Out: the episodes that it changes, for the commit of its outcome. It calls nothing.
import type { ActStore } from '../domain/act-store.ts';
import type { Action } from '../domain/action.ts';
import { closeEpisode, type Episode, seenKey, seenOfKey } from '../domain/episode.ts';
import { type Intent, isDone } from '../domain/intent.ts';
import type { Clock } from '../domain/ports.ts';
import { isSameTarget } from '../domain/target-key.ts';
import type { ActContext } from './context.ts';

type Asking = Pick<ActContext, 'actions'> & {
  clock: Pick<Clock, 'nowMs'>;
  store: Pick<ActStore, 'openClaimsOn' | 'episodesInForce' | 'episodesThatSaw' | 'intentsOn'>;
};

/**
 * An episode that has seen the target in the opposite state forgets that. With an undo, an open episode that acted on the target and
 * lost its claim to another rule (its own was missing, off or dry for a while) ends as `adopted`, so that a rule that proposes it
 * again acts again. This does not apply to an undo that a person asked for. If the target was deleted, the episodes that claimed it,
 * acted on it or saw it in their state are over: a target that comes back is new, and nobody reversed anything.
 */
export async function episodesAfter(asking: Asking, action: Action, intent: Intent): Promise<Episode[]> {
  const { store } = asking;
  if (action.removesTarget) return goneWith(asking, intent);
  if (action.inverse === undefined || intent.released) return [];
  const ended = intent.undo ? await endedByUndo(asking, action, intent) : [];
  const key = seenKey(action.inverse, intent.target);
  const unseen = (await store.episodesThatSaw(intent.target)).filter(
    ({ id, seenSo, overriddenAt }) =>
      seenSo.includes(key) && overriddenAt === undefined && !ended.some((episode) => episode.id === id),
  );
  return [
    ...ended,
    ...unseen.map((episode) => ({ ...episode, seenSo: episode.seenSo.filter((seen) => seen !== key) })),
  ];
}

async function goneWith({ store, clock, actions }: Asking, intent: Intent): Promise<Episode[]> {
  const nowMs = clock.nowMs();
  const claims = (await store.openClaimsOn(intent.target)).filter((claim) => isSameTarget(claim, intent, actions));
  const acted = (await store.intentsOn(intent.target)).filter(
    (other) => isDone(other) && isSameTarget(other, intent, actions),
  );
  const saw = (await store.episodesThatSaw(intent.target)).filter(({ seenSo }) =>
    seenSo.some((key) => isSameTarget(seenOfKey(key), intent, actions)),
  );
  const basis = acted.flatMap((other) => other.basis);
  const concerned = await store.episodesInForce([
    ...[...claims, ...basis].map(({ episodeId }) => episodeId),
    ...saw.map(({ id }) => id),
  ]);
  return concerned.filter(({ state }) => state !== 'closed').map((episode) => closeEpisode(episode, 'gone', nowMs));
}

async function endedByUndo({ store, clock }: Asking, action: Action, intent: Intent): Promise<Episode[]> {
  const nowMs = clock.nowMs();
  const intents = await store.intentsOn(intent.target);
  const acted = intents.filter((other) => other.action === action.inverse && isDone(other));
  const ids = acted.flatMap(({ basis }) => basis.map(({ episodeId }) => episodeId));
  return (await store.episodesInForce(ids))
    .filter(({ state, overriddenAt }) => state !== 'closed' && overriddenAt === undefined)
    .map((episode) => closeEpisode(episode, 'adopted', nowMs));
}

export function closedNotes(episodes: readonly Episode[]) {
  return episodes
    .filter(({ state }) => state === 'closed')
    .map(({ id, rule, subject, since, closeReason }) => ({
      kind: 'episode.closed' as const,
      body: { episode: id, rule, subject: { kind: subject.kind, id: subject.id }, since, reason: closeReason ?? '' },
    }));
}
