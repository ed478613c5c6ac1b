// domain: what names an intent, whichever plan holds it, and the place of a subject among all. In: an action, a target, episodes; ids. Out: a digest,
// a place.
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

/** Below `all`: the subject keeps it, and has another one for each rule. Servers differ in the case of addresses. */
export function placeAmong(all: number, rule: string, subjectId: string): number {
  const hash = createHash('sha256').update(`${rule}\u0000${subjectId.toLowerCase()}`).digest();
  return Number(hash.readBigUInt64BE() % BigInt(all));
}
