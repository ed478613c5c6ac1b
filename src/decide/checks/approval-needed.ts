// check: an action that needs a person's approval waits for it. In: the modes, and whether any action is the inverse.
// A daemon of mode `approve` holds what any of its runs would do: a dry run shows this too.
import { type Check, hold } from '../../domain/check.ts';
import { isLive, waitsForPerson } from '../../domain/mode.ts';

export const approvalNeeded: Check = {
  when: 'the rule, the run or the daemon has mode `approve`, or the action cannot be undone',
  ask({ traits, ownMode = 'off', approver }) {
    if (waitsForPerson(ownMode)) return hold('approval_needed', 'the rule has mode `approve`');
    if (traits.changesFleet && traits.inverse === undefined)
      return hold('approval_needed', `${traits.name} cannot be undone`);
    if (!approver || !isLive(ownMode)) return undefined;
    return hold('approval_needed', `the ${approver} has mode \`approve\``);
  },
};
