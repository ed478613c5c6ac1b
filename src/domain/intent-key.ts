// domain: what names an intent, whichever plan holds it. In: an action, a target, episodes. Out: a digest.
import type { ActionName } from './action.ts';
import { digestOf } from './digest.ts';
import type { IntentBasis } from './intent.ts';

/** Names an intent within and across plans: the same action for the same target and episodes. */
export function intentKey(draft: {
  action: ActionName;
  target: string;
  basis: readonly Pick<IntentBasis, 'episodeId'>[];
}): string {
  return digestOf([draft.action, draft.target, [...new Set(draft.basis.map((basis) => basis.episodeId))].sort()]);
}
