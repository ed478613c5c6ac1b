// report: how many actions a plan has, by rule and action, as a person reads before an answer. In: planned intents. Out: counts, words.
import type { ActionName } from '../domain/action.ts';
import type { PlannedIntent } from '../domain/plan.ts';
import { plural } from './fact-text.ts';

export interface PlannedCount {
  /** An action of several rules is counted once, for all of them. */
  rules: string[];
  action: ActionName;
  count: number;
}

/** In the order of the plan. */
export function plannedCounts(intents: readonly PlannedIntent[]): PlannedCount[] {
  const counts = new Map<string, PlannedCount>();
  for (const { basis, action } of intents) {
    const rules = [...new Set(basis.map(({ rule }) => rule))].sort();
    const key = [...rules, action].join(' ');
    const counted = counts.get(key);
    if (counted) counted.count += 1;
    else counts.set(key, { rules, action, count: 1 });
  }
  return [...counts.values()];
}

/** `ban-compromised: 3 ban_device`, one line each. */
export function countLines(intents: readonly PlannedIntent[]): string[] {
  return plannedCounts(intents).map(({ rules, action, count }) => `  ${rules.join(', ')}: ${count} ${action}`);
}

/** `5 of 12 actions`, `12 actions`. */
export function partWords(chosen: number, all: number): string {
  return chosen === all ? plural(all, 'action') : `${chosen} of ${plural(all, 'action')}`;
}
