// check: what a person exempted is left alone. In: the exemption that protects the target, or why that is not known. An undo is
// never exempt.
import { type Check, skip } from '../../domain/check.ts';
import { exemptionText } from '../../domain/exemption.ts';

export const exempt: Check = {
  when: 'a person exempted the target, a device of it or an owner; or nobody can say',
  ask({ undo, exemption }) {
    if (undo || exemption === undefined) return undefined;
    if ('unread' in exemption) return skip('stopped', `whether it is exempt cannot be told: ${exemption.unread}`);
    return skip('exempt', exemptionText(exemption));
  },
};
