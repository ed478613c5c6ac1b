// check: the rules of an intent currently allow it: a rule may have been removed or set to dry-run since it was decided.
// In: the current rules, and the run's or the daemon's mode. A person's release needs no rule.
import { type Check, skip } from '../../domain/check.ts';
import { allowsCall, leastMode } from '../../domain/mode.ts';

export const ruleOff: Check = {
  when: 'one of its rules is missing or off, or has a lower mode now',
  ask({ released, approved = false, basis, mode = 'off' }) {
    if (released) return undefined;
    const lesser = basis.find(({ ruleNow }) => !allowsCall(leastMode(mode, ruleNow?.mode ?? 'off'), approved));
    if (!lesser) return undefined;
    const now = lesser.ruleNow ? `has mode ${lesser.ruleNow.mode} now` : 'is missing or off';
    return skip('drifted', `rule ${lesser.rule} no longer allows it: it ${now}`);
  },
};
