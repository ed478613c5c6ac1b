// check: a run stops acting when too many of its attempts fail or are in doubt. In: how many did, and how many may.
import { type Check, skip } from '../../domain/check.ts';

export const breaker: Check = {
  when: 'too many attempts of this run failed or are in doubt',
  ask({ failures }) {
    if (!failures || failures.count < failures.max) return undefined;
    return skip('stopped', `${failures.count} attempts failed or are in doubt in this run: it has stopped acting`);
  },
};
