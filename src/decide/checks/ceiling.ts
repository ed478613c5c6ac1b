// check: no schedule, trigger, approval, retry or undo exceeds its action's ceiling. In: how many attempts are left now.
import { type Check, hold } from '../../domain/check.ts';

export const ceiling: Check = {
  when: 'the action was attempted as often as its ceilings allow, in the run or in 24 hours',
  ask({ room, traits }) {
    if (room === undefined || room > 0) return undefined;
    return hold('ceiling', `the ceiling of ${traits.name} (in a run, or in 24 hours) is reached`);
  },
};
