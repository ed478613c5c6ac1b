// check: an exempt target is left alone. In: the exemption that protects the target, or why that is not known. An undo is
// never exempt.
import { type Check, skip } from '../../domain/check.ts';
import { exemptionText } from '../../domain/exemption.ts';

export const exempt: Check = {
  when: 'a person exempted the target, a device of it or an owner; or this could not be read',
  ask({ undo, exemption }) {
    if (undo || exemption === undefined) return undefined;
    if ('unread' in exemption) return skip('stopped', `whether it is exempt is not known: ${exemption.unread}`);
    return skip('exempt', exemptionText(exemption));
  },
};
