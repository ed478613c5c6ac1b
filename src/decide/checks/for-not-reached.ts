// check: a rule with `for` has matched for that long. In: since when it matches. An undo does not wait for it.
import { type Check, skip } from '../../domain/check.ts';
import { formatDuration } from '../../domain/duration.ts';
import { timeText } from '../../domain/time-text.ts';

export const forNotReached: Check = {
  when: 'the rule has not matched for its `for` duration yet',
  ask({ undo, basis, nowMs }) {
    for (const { ruleNow, matchingSince } of basis) {
      // Without `for` there is nothing to wait for, even after the clock was set back.
      if (undo || !ruleNow || matchingSince === undefined || ruleNow.forMs === 0) continue;
      if (nowMs - matchingSince >= ruleNow.forMs) continue;
      const since = timeText(matchingSince);
      return skip('for_not_reached', `it must match for ${formatDuration(ruleNow.forMs)}, and has since ${since}`);
    }
    return undefined;
  },
};
