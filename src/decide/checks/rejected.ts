// check: a person's rejection of a planned intent holds for its episode. In: whether there is one.
import { type Check, skip } from '../../domain/check.ts';

export const rejected: Check = {
  when: 'a person rejected it in a plan, or ruled out doing it again',
  ask({ basis }) {
    if (!basis.some(({ isRejected }) => isRejected)) return undefined;
    return skip('rejected', 'a person rejected this for as long as the rule matches');
  },
};
