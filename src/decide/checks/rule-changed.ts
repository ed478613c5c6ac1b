// check: an intent is done by the rule that it was decided by. In: the rule's content hash, then and now.
import { type Check, skip } from '../../domain/check.ts';

export const ruleChanged: Check = {
  when: 'a rule of it says something else by now',
  ask({ released, basis }) {
    const changed = released ? undefined : basis.find(({ ruleNow, ruleHash }) => ruleNow?.hash !== ruleHash);
    if (!changed) return undefined;
    return skip('drifted', `rule ${changed.rule} was changed meanwhile: the next run judges by what it says now`);
  },
};
