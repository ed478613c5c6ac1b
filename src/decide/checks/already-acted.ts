// check: acting happens once an episode. In: the live intent that the episode has led to.
import { type Check, skip } from '../../domain/check.ts';
import { isDone } from '../../domain/intent.ts';
import { timeText } from '../../domain/time-text.ts';

export const alreadyActed: Check = {
  when: 'it was already done for this episode',
  ask({ basis, nowMs, isOwnSo }) {
    const done = basis.find(({ earlier }) => earlier && isDone(earlier))?.earlier;
    if (!done) return undefined;
    const when = `done by intent ${done.id} at ${timeText(done.settledAt ?? nowMs)}`;
    return skip('already_acted', isOwnSo ? `${when}; another device of this serial number differs` : when);
  },
};
