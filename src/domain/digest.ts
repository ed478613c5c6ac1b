// domain: what names an intent, whichever plan holds it, what names the content of a plan, and the place of a subject among all. In: an action, a
// target, episodes; planned intents; ids. Out: a digest, a place.
import { createHash } from 'node:crypto';
import { canonicalJson } from '../base/json.ts';
import { drained } from '../base/turns.ts';
import type { ActionName } from './action.ts';
import type { IntentBasis } from './intent.ts';
import { contentOf, type PlannedIntent } from './plan.ts';

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

/** Of all that approving a plan, or a part of one, does: whoever says yes to it means this. */
export function planDigest(planned: readonly PlannedIntent[]): string {
  return drained(digesting(planned));
}

const INTENTS_OF_STEP = 50;

/** Of the canonical JSON of the list: each intent is written apart, since all together may be megabytes. */
export function* digesting(planned: readonly PlannedIntent[]): Generator<void, string> {
  const hash = createHash('sha256').update('[');
  const sorted = [...planned].sort((a, b) => (a.key < b.key ? -1 : 1));
  for (const [at, one] of sorted.entries()) {
    hash.update(`${at === 0 ? '' : ','}${canonicalJson(contentOf(one))}`);
    if (at % INTENTS_OF_STEP === INTENTS_OF_STEP - 1) yield;
  }
  return hash.update(']').digest('hex');
}
