// check: an intent is done only under the rule text that decided it. In: the rule's content hash, then and now.
import { type Check, skip } from '../../domain/check.ts';

export const ruleChanged: Check = {
  when: 'one of its rules was changed',
  ask({ released, basis }) {
    const changed = released ? undefined : basis.find(({ ruleNow, ruleHash }) => ruleNow?.hash !== ruleHash);
    if (!changed) return undefined;
    return skip('drifted', `rule ${changed.rule} was changed meanwhile: the next run judges by its new text`);
  },
};
