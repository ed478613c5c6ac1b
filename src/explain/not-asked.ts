// explain: which checks weigh a subject among others, and cannot be asked of one subject. In: the answer for this subject alone.
// Out: the checks with which a whole run may answer instead. Earlier checks in the order of decide/ are asked of one subject.
import type { ActionTraits } from '../domain/action.ts';
import type { Decision, ReasonCode } from '../domain/decision.ts';
import type { Rule } from '../domain/rule.ts';

const TARGET: readonly ReasonCode[] = ['conflict', 'other_first'];
const BOUNDS: readonly ReasonCode[] = ['limits', 'owners'];

/** By answer: the checks that a run asks before it, and `cleared` where an undo by another rule may replace it. */
const BEFORE: { readonly [reason in ReasonCode]?: readonly ReasonCode[] } = {
  other_first: ['conflict'],
  serial_shared: [...TARGET, 'cleared'],
  limits: [...TARGET, 'cleared'],
  owners: [...TARGET, 'limits', 'cleared'],
  approval_needed: [...TARGET, ...BOUNDS, 'cleared'],
  ceiling: [...TARGET, ...BOUNDS],
  stopped: [...TARGET, ...BOUNDS, 'ceiling'],
  rule_matches: [...TARGET, ...BOUNDS, 'ceiling', 'cleared'],
  cleared: [...TARGET, 'ceiling'],
};

export function checksOfARun(
  { reason, verdict }: Pick<Decision, 'reason' | 'verdict'>,
  rule: Pick<Rule, 'owners'>,
  traits: ActionTraits | undefined,
): ReasonCode[] {
  const isUndo = verdict === 'no_match';
  const asked: { [check in ReasonCode]?: boolean | undefined } = {
    conflict: traits?.changesFleet,
    other_first: traits?.removesTarget,
    limits: !isUndo,
    owners: !isUndo && traits?.takesDevice && rule.owners !== 'all',
    ceiling: traits?.changesFleet,
    cleared: !isUndo && traits?.changesFleet,
  };
  return (BEFORE[reason] ?? []).filter((check) => asked[check]);
}
