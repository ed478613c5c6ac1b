// decide: what a list shows otherwise than what was done last: a person's reversal, or a list that stands still. In: claims, episodes and the lists
// of a run. Out: the targets whose own records tell which of the two it is, and what follows from reading them. Pure.
import type { ActionName, ActionTraits } from '../domain/action.ts';
import { MEMBERSHIP } from '../domain/bundles.ts';
import { seenKey, seenOfKey } from '../domain/episode.ts';
import type { OpenState } from '../domain/store.ts';
import type { SubjectRef } from '../domain/subjects.ts';
import type { DecideInput } from './input.ts';
import { mayBeStale, Shown } from './reversals.ts';

export type ListReads = Pick<
  DecideInput,
  'traits' | 'openState' | 'sources' | 'fleet' | 'bundles' | 'judgements' | 'steady' | 'quietMs'
>;

export interface Suspect {
  traits: ActionTraits;
  target: string;
  subject: SubjectRef;
  /** What the list shows. */
  found: string;
}

/**
 * INVARIANT: every reversal that deciding records of a list is among them. Within the quiet period nothing is concluded, so nothing is read.
 * Whether a service is in a bundle, only the list of bundles shows: it has just been read.
 */
export function suspects(seen: ListReads): Suspect[] {
  const { openState, traits: known } = seen;
  const shown = new Shown(seen);
  const episodes = new Map(openState.episodes.map((episode) => [episode.id, episode]));
  const settled = new Map(openState.intents.map(({ id, settledAt }) => [id, settledAt]));
  const justNow = attemptedJustNow(openState, seen);
  const found = new Map<string, Suspect>();
  const note = (action: ActionName, target: string, subject: SubjectRef | undefined) => {
    const traits = known.get(action);
    if (!traits || !subject || traits.fieldWritten === MEMBERSHIP || justNow.has(seenKey(action, target))) return;
    if (traits.inverse !== undefined && justNow.has(seenKey(traits.inverse, target))) return;
    const state = shown.stateOf(subject, traits, target);
    if (state === undefined || state === traits.valueWritten) return;
    found.set(seenKey(action, target), { traits, target, subject, found: state });
  };
  for (const { action, target, episodeId, subjectId, intentId } of openState.claims) {
    const kind = episodes.get(episodeId)?.subject.kind;
    if (!mayBeStale(settled.get(intentId), seen)) note(action, target, kind && { kind, id: subjectId });
  }
  for (const { state, overriddenAt, seenSo, subject } of openState.episodes) {
    if (state === 'closed' || overriddenAt !== undefined) continue;
    for (const { action, target } of seenSo.map(seenOfKey)) note(action, target, subject);
  }
  return [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, suspect]) => suspect);
}

/** `action target` of attempts that reads may not show yet, as `seenKey`. */
export function attemptedJustNow(
  { lastAttempts }: Pick<OpenState, 'lastAttempts'>,
  at: Pick<DecideInput, 'steady' | 'quietMs'>,
): ReadonlySet<string> {
  const justNow = [...lastAttempts].filter(([, sentAt]) => mayBeStale(sentAt, at));
  // A rule's id holds no space. A target may hold anything, even text that looks like another action on another target.
  return new Set(justNow.map(([key]) => key.slice(key.indexOf(' ') + 1)));
}
