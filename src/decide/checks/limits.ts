// check: a rule takes no more at once than it says. In: the targets of one action, where they cross a limit. It holds the whole rule,
// never "the first N"; undoing is bounded by its ceilings alone (decision 0013).
import { type Check, hold } from '../../domain/check.ts';

export const limits: Check = {
  when: "the rule's targets cross its limits, as a number or as a share of the subjects",
  ask({ limit }) {
    if (!limit) return undefined;
    return hold('limits', `${limit.targets} targets at once cross the rule's limit (${limit.crossed})`);
  },
};
