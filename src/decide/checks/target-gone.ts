// check: a target that no longer exists is not acted on. In: the target as just read.
import { type Check, skip } from '../../domain/check.ts';

export const targetGone: Check = {
  when: 'the target was not found when it was read again',
  ask({ state, isDoubt }) {
    if (state !== 'absent') return undefined;
    return skip('drifted', `the target is gone${isDoubt ? ': whether it was done is not known' : ''}`);
  },
};
