// checks: what the last run that judged a rule said, where a question takes all proposals of a run and cannot be asked of one intent.
// In: the facts of an intent of a plan, and the reason. Out: the same refusal. No check of its own: three ask it for theirs.
import type { Refusal, TargetFacts } from '../../domain/check.ts';

export function lastRunSaid({ basis }: TargetFacts, reason: Refusal['reason']): Refusal | undefined {
  const said = basis.find((one) => one.said?.reason === reason)?.said;
  if (!said) return undefined;
  const decision = said.decision === 'hold' ? 'hold' : 'skip';
  const did = decision === 'hold' ? 'held' : 'skipped';
  return { decision, reason, reasonText: `the last run ${did} it (${reason}): ${said.reasonText}` };
}
