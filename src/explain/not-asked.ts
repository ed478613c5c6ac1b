// explain: which checks weigh a subject among others, so that one subject cannot ask them. In: what deciding this subject alone
// answered. Out: the reasons that a whole run may answer instead, by the list of deciding. Pure.
import { weighsOthers } from '../decide/answer.ts';
import { CHECKS } from '../decide/checks/ask.ts';
import { LISTS } from '../decide/checks/stages.ts';
import { isPlannable } from '../decide/proposal.ts';
import type { ActionTraits } from '../domain/action.ts';
import type { CheckName } from '../domain/check.ts';
import type { Decision, ReasonCode } from '../domain/decision.ts';
import type { Rule } from '../domain/rule.ts';

/** `whole-undo` has no reason of its own: it gives that of another part. */
const REASON_OF: { readonly [check in CheckName]?: ReasonCode } = {
  conflict: 'conflict',
  'other-first': 'other_first',
  limits: 'limits',
  owners: 'owners',
  ceiling: 'ceiling',
  'undone-anyway': 'cleared',
};

export function checksOfARun(
  answer: Pick<Decision, 'decision' | 'reason' | 'reasonText' | 'verdict'>,
  rule: Pick<Rule, 'owners'>,
  traits: ActionTraits | undefined,
): ReasonCode[] {
  const order: readonly string[] = LISTS.deciding.map(({ check }) => check);
  // An answer that no check gave comes after all of them.
  const at = answer.decision === 'act' ? order.length : order.indexOf(answer.reason.replaceAll('_', '-'));
  const isUndo = answer.verdict === 'no_match';
  const concerns: { [reason in ReasonCode]?: boolean | undefined } = {
    conflict: traits?.changesFleet,
    other_first: traits?.removesTarget,
    limits: !isUndo,
    owners: !isUndo && traits?.takesDevice && rule.owners !== 'all',
    ceiling: traits?.changesFleet,
    cleared: !isUndo && traits?.changesFleet,
  };
  return LISTS.deciding.flatMap(({ check }, index) => {
    const reason = REASON_OF[check];
    const mayAnswer = index < at || (CHECKS[check].unlifted && isPlannable(answer));
    return reason && weighsOthers(check) && mayAnswer && concerns[reason] ? [reason] : [];
  });
}
