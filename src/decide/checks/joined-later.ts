// check: what joined an exemption after it was made waits for a person: it is neither acted on nor exempt. In: the exemption that is about the
// target now and does not cover it, and the effect that a person approved. An undo is never exempt.
import { type Check, hold } from '../../domain/check.ts';
import { exemptionText } from '../../domain/exemption.ts';

export const joinedLater: Check = {
  when: 'an exemption is about the target now, and did not cover it when it was made',
  ask({ undo, joined, approved, effect }) {
    if (undo || joined === undefined) return undefined;
    const { exemption, covers } = joined;
    // An approval counts only for the exemptions that it showed.
    if (approved && effect?.joined?.includes(exemption.id)) return undefined;
    const also = covers.length === 0 ? '' : `; it would also hit what the exemption covers: ${covers.join(', ')}`;
    const text = `it joined an exemption after that was made, and waits for a person's yes: ${exemptionText(exemption)}${also}`;
    return hold('joined_later', text);
  },
};
