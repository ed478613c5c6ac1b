// check: what needs a person's yes has it. In: the modes, and whether anything undoes the action.
// A daemon of mode `approve` holds what any run of it would do: a dry run says so too.
import { type Check, hold } from '../../domain/check.ts';
import { isLive, waitsForPerson } from '../../domain/mode.ts';

export const approvalNeeded: Check = {
  when: 'the rule, the run or the daemon has mode `approve`, or nothing undoes the action',
  ask({ traits, ownMode = 'off', approver }) {
    if (waitsForPerson(ownMode)) return hold('approval_needed', 'the rule has mode `approve`');
    if (traits.changesFleet && traits.inverse === undefined)
      return hold('approval_needed', `${traits.name} cannot be undone`);
    if (!approver || !isLive(ownMode)) return undefined;
    return hold('approval_needed', `the ${approver} has mode \`approve\``);
  },
};
