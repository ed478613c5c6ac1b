// report: what was done of a plan that was applied, in words, for a report and for the answer to `apply`. In: outcomes of its intents, and
// how many were refused before any call. Out: plain text that may hold hostile names: each writer escapes it for its own medium.
import type { PlanProgress } from '../domain/plan.ts';

const WORDS = { failed: 'failed', unknown: 'in doubt', parked: 'parked', dry_run: 'dry run' } as const;

/** `1 of 3 done, 1 failed, 1 refused`. */
export function appliedWords(outcomes: PlanProgress['outcomes'], refused: number): string {
  const done = (outcomes.succeeded ?? 0) + (outcomes.confirmed ?? 0);
  const total = Object.values(outcomes).reduce((sum, count) => sum + count, refused);
  const rest = Object.entries(WORDS).flatMap(([outcome, word]) => {
    const count = outcomes[outcome] ?? 0;
    return count === 0 ? [] : [`${count} ${word}`];
  });
  return [`${done} of ${total} done`, ...rest, ...(refused === 0 ? [] : [`${refused} refused`])].join(', ');
}

/** `plan P was applied: 1 of 3 done, …`, or what else it is. An intent that preflight withdrew was refused too. */
export function planLine(
  { id, status }: { id: string; status: string },
  applied?: {
    intents: readonly { status: string; outcome?: string | null | undefined }[];
    refused: readonly unknown[];
  },
): string {
  if (status !== 'applied' || !applied) return `plan ${id} is ${status}`;
  const outcomes: PlanProgress['outcomes'] = {};
  let refused = applied.refused.length;
  for (const intent of applied.intents) {
    if (intent.status === 'withdrawn') refused += 1;
    else outcomes[intent.outcome ?? 'unknown'] = (outcomes[intent.outcome ?? 'unknown'] ?? 0) + 1;
  }
  return `plan ${id} was applied: ${appliedWords(outcomes, refused)}`;
}
