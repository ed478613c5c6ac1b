// check: a rule takes no more targets at once, and no more subjects within 24 hours, than its limits allow. In: how many there are, if they cross a
// limit. It holds the whole rule, never "the first N". An undo is bounded by its ceilings only (decision 0013).
import { type Check, hold } from '../../domain/check.ts';

export const limits: Check = {
  when: "the rule's targets cross its limits, as a number, as a share of the subjects, or by those of the last 24 hours",
  ask({ limit, limitOfDay }) {
    if (limit) {
      const { targets, crossed, since } = limit;
      const counted = since ? `, with ${since.targets} of the runs since run ${since.seq}` : '';
      return hold('limits', `${targets} targets at once cross the rule's limit (${crossed})${counted}`);
    }
    if (!limitOfDay) return undefined;
    const { subjects, allowed } = limitOfDay;
    return hold('limits', `${subjects} subjects within 24 hours cross the rule's limit (per_day ${allowed})`);
  },
};
