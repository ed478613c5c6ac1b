// check: INVARIANT: while an intent's effect on a target is not known, no other intent is sent to it, even if a person approved it.
// In: another intent in doubt on the target; the intent that the same episode has led to.
import { type Check, skip } from '../../domain/check.ts';
import { isUnresolved } from '../../domain/intent.ts';

export const inDoubt: Check = {
  when: "an intent's effect on the target is not known yet, or the intent needs a person",
  ask({ doubt, basis }) {
    if (doubt) return skip('in_doubt', `intent ${doubt.id} (${doubt.action}) on the same target is not resolved yet`);
    for (const { earlier } of basis) {
      if (earlier?.outcome === 'parked')
        return skip('in_doubt', `intent ${earlier.id} is parked and needs a person: ${earlier.note ?? ''}`);
      if (earlier && isUnresolved(earlier)) return skip('in_doubt', `intent ${earlier.id} is not resolved yet`);
    }
    return undefined;
  },
};
