// act: what undoing means to the episodes that go on: it was Trustward's own doing, and no person's reversal.
// In: an undo that is done. Out: the episodes that it changes, for the commit of its outcome. It calls nothing.
import type { Action } from '../domain/action.ts';
import { type Episode, seenKey } from '../domain/episode.ts';
import type { Intent } from '../domain/intent.ts';
import type { ActContext } from './context.ts';

/**
 * An open episode that acted on the target lost its claim to another rule (its own was missing, off or dry for a while),
 * and what it did is undone now: it ends as `adopted`, so that a rule that wishes it again acts anew. One that has only
 * seen the target so has not seen it yet. Not where a person asked for the undoing.
 */
export async function episodesAfterUndo(context: ActContext, action: Action, intent: Intent): Promise<Episode[]> {
  if (!intent.undo || intent.released) return [];
  const nowMs = context.clock.nowMs();
  const { episodes, intents } = await context.store.standing(nowMs);
  const acted = intents.filter(
    (other) => other.action === action.inverse && other.target === intent.target && isDone(other),
  );
  const ended = new Set(acted.flatMap(({ basis }) => basis.map(({ episodeId }) => episodeId)));
  const subjects = new Set([
    ...intent.basis.map(({ subjectId }) => subjectId),
    ...intent.effect.devices.map(({ id }) => id),
  ]);
  const undone = action.inverse && seenKey(action.inverse, intent.target);
  return episodes.flatMap((episode): Episode[] => {
    if (episode.state === 'closed' || episode.overriddenAt !== undefined) return [];
    if (ended.has(episode.id))
      return [{ ...episode, state: 'closed', stateSince: nowMs, closedAt: nowMs, closeReason: 'adopted' }];
    if (undone === undefined || !subjects.has(episode.subject.id) || !episode.seenSo.includes(undone)) return [];
    return [{ ...episode, seenSo: episode.seenSo.filter((key) => key !== undone) }];
  });
}

export function adoptedNotes(episodes: readonly Episode[]) {
  return episodes
    .filter(({ state }) => state === 'closed')
    .map(({ id, rule, subject, since }) => ({
      kind: 'episode.closed' as const,
      body: { episode: id, rule, subject: { kind: subject.kind, id: subject.id }, since, reason: 'adopted' },
    }));
}

function isDone({ outcome }: Intent): boolean {
  return outcome === 'succeeded' || outcome === 'confirmed';
}
