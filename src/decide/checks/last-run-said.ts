// checks: the answer of the last run that judged a rule, for questions that need all proposals of a run and not one intent.
// In: the facts of an intent of a plan, and the reason. Out: the same refusal. Not a check itself: three checks use it.
import type { Refusal, TargetFacts } from '../../domain/check.ts';

export function lastRunSaid({ basis }: TargetFacts, reason: Refusal['reason']): Refusal | undefined {
  const said = basis.find((one) => one.said?.reason === reason)?.said;
  if (!said) return undefined;
  const decision = said.decision === 'hold' ? 'hold' : 'skip';
  const did = decision === 'hold' ? 'held' : 'skipped';
  return { decision, reason, reasonText: `the last run ${did} it (${reason}): ${said.reasonText}` };
}
