// report: how many actions a plan has, as a person reads before an answer. In: planned intents. Out: words.
import type { PlannedIntent } from '../domain/plan.ts';
import { plannedCounts } from '../domain/planned-counts.ts';
import { plural } from './fact-text.ts';

/** `ban-compromised: 3 ban_device`, one line each. */
export function countLines(intents: readonly PlannedIntent[]): string[] {
  return plannedCounts(intents).map(({ rules, action, count }) => `  ${rules.join(', ')}: ${count} ${action}`);
}

/** `5 of 12 actions`, `12 actions`. */
export function partWords(chosen: number, all: number): string {
  return chosen === all ? plural(all, 'action') : `${chosen} of ${plural(all, 'action')}`;
}
