// check: INVARIANT: a read right after our own action may be older than it: a person's reversal is recognised only after a quiet
// period. In: how long that still is, if it was done just now and the target does not show it.
import { type Check, skip } from '../../domain/check.ts';
import { formatDuration } from '../../domain/duration.ts';

export const justDone: Check = {
  when: 'Trustward acted on it a moment ago, and the target is not in that state; or whether a person reversed it could not be read',
  ask({ justDoneMs, isUnread }) {
    if (isUnread)
      return skip(
        'in_doubt',
        'a list shows it reversed, and its own record was not read: whether a person did that is known when it is',
      );
    if (justDoneMs === undefined) return undefined;
    const waits = formatDuration(Math.ceil(justDoneMs / 1_000) * 1_000);
    const text =
      'it was done just now and does not show yet: whether a person reversed it is known after the quiet period';
    return skip('in_doubt', `${text} (${waits})`);
  },
};
