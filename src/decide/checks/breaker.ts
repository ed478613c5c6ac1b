// check: a run stops acting when too many of its attempts fail. In: how many have failed, and how many may.
import { type Check, skip } from '../../domain/check.ts';

export const breaker: Check = {
  when: 'too many attempts of this run failed',
  ask({ failures }) {
    if (!failures || failures.count < failures.max) return undefined;
    return skip('stopped', `${failures.count} attempts failed in this run: it has stopped acting`);
  },
};
