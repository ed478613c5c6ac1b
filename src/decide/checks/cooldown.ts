// check: between two attempts of a rule on a target its cooldown passes. In: the last attempt. An undo has none.
import { type Check, skip } from '../../domain/check.ts';
import { formatDuration } from '../../domain/duration.ts';
import { wallElapsedMs } from '../../domain/steady-time.ts';
import { timeText } from '../../domain/time-text.ts';

export const cooldown: Check = {
  when: "the rule's last attempt at the target was less than its cooldown ago",
  ask({ undo, basis, steady }) {
    for (const { ruleNow, lastAttemptMs } of basis) {
      if (undo || !ruleNow || !steady || lastAttemptMs === undefined || ruleNow.cooldownMs === 0) continue;
      const waitedMs = wallElapsedMs(steady, lastAttemptMs);
      if (waitedMs >= ruleNow.cooldownMs) continue;
      const until = timeText(steady.nowMs - waitedMs + ruleNow.cooldownMs);
      const ago = formatDuration(ruleNow.cooldownMs);
      return skip('cooldown', `the last attempt was less than ${ago} ago; next at ${until}`);
    }
    return undefined;
  },
};
