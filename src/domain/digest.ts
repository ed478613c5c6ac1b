// domain: what names an intent, whichever plan holds it. In: an action, a target, episodes. Out: a digest.
import { createHash } from 'node:crypto';
import { canonicalJson } from '../base/json.ts';
import type { ActionName } from './action.ts';
import type { IntentBasis } from './intent.ts';

/** SHA-256 of the canonical JSON text, in hex (64 characters). */
export function digestOf(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

/** Names an intent within and across plans: the same action for the same target and episodes. */
export function intentKey(draft: {
  action: ActionName;
  target: string;
  basis: readonly Pick<IntentBasis, 'episodeId'>[];
}): string {
  return digestOf([draft.action, draft.target, [...new Set(draft.basis.map((basis) => basis.episodeId))].sort()]);
}
