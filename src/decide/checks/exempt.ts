// check: an exempt target is left alone. In: the exemption that protects the target. An undo is never exempt.
import { type Check, skip } from '../../domain/check.ts';
import { exemptionText } from '../../domain/exemption.ts';

export const exempt: Check = {
  when: 'a person exempted the target, a device of it or an owner',
  ask({ undo, exemption }) {
    if (undo || exemption === undefined) return undefined;
    return skip('exempt', exemptionText(exemption));
  },
};
