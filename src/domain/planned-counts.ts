// domain: how many actions a plan has, by rule and action. In: planned intents. Out: counts. Pure.
import type { ActionName } from './action.ts';
import type { PlannedIntent } from './plan.ts';

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
