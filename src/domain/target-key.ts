// domain: what makes two targets one. In: an action, its target as text, its settings, the actions' traits. Out: a key that two
// of them share only when they are about the same thing at the platform. INVARIANT: whoever asks "the same target?" asks by this key.
// The text alone does not identify it: a serial number is what a device says it is, and may look like another one and an address, or
// like a ServiceID.
import type { ActionName, ActionTraits, KnownTraits } from './action.ts';
import type { Facts } from './facts.ts';

export interface ActionOnTarget {
  action: ActionName;
  target: string;
  /** Claims have none: only a user's deletion is identified by them, and nothing claims that. */
  settings?: Facts;
}

export function targetKey({ action, target, settings = {} }: ActionOnTarget, known: KnownTraits): string {
  const traits = known.get(action);
  // A stored row of a version that has this action: no target of the actions that are known is the same.
  return traits ? keyOf(traits, target, settings) : ['', action, target].join('\u0000');
}

/** The same where the traits are at hand. */
export function keyOf({ target: { identity } }: ActionTraits, target: string, settings: Facts): string {
  return identity(target, settings).join('\u0000');
}

export function isSameTarget(a: ActionOnTarget, b: ActionOnTarget, known: KnownTraits): boolean {
  return targetKey(a, known) === targetKey(b, known);
}
