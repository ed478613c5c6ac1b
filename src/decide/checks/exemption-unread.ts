// check: a target that may be exempt is left alone. In: why the exemptions of the target could not be read. An undo is never exempt.
import { type Check, skip } from '../../domain/check.ts';

export const exemptionUnread: Check = {
  when: 'whether the target is exempt could not be read',
  ask({ undo, exemptionUnread: why }) {
    if (undo || why === undefined) return undefined;
    return skip('stopped', `whether it is exempt could not be read: ${why}`);
  },
};
