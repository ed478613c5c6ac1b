// check: the rules of an intent allow it at this moment: one may have been taken away or made dry since it was decided.
// In: the rules as they are now, and the run's or the daemon's mode. What a person releases answers to no rule.
import { type Check, skip } from '../../domain/check.ts';
import { allowsCall, leastMode } from '../../domain/mode.ts';

export const ruleOff: Check = {
  when: 'a rule of it is missing, off, or of a lesser mode by now',
  ask({ released, approved = false, basis, mode = 'off' }) {
    if (released) return undefined;
    const lesser = basis.find(({ ruleNow }) => !allowsCall(leastMode(mode, ruleNow?.mode ?? 'off'), approved));
    if (!lesser) return undefined;
    const now = lesser.ruleNow ? `has mode ${lesser.ruleNow.mode} now` : 'is missing or off';
    return skip('drifted', `rule ${lesser.rule} does not allow it any more: it ${now}`);
  },
};
