// check: a rule takes no more targets at once than its limits allow. In: the targets of one action, if they cross a limit. It holds
// the whole rule, never "the first N". An undo is bounded by its ceilings only (decision 0013).
import { type Check, hold } from '../../domain/check.ts';

export const limits: Check = {
  when: "the rule's targets cross its limits, as a number or as a share of the subjects",
  ask({ limit }) {
    if (!limit) return undefined;
    const { targets, crossed, since } = limit;
    const counted = since ? `, with ${since.targets} of the runs since run ${since.seq}` : '';
    return hold('limits', `${targets} targets at once cross the rule's limit (${crossed})${counted}`);
  },
};
