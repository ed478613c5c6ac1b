// check: INVARIANT: what is read right after our own doing may be older than it: that a person took it back needs a quiet period
// to tell. In: how long that is, where it was done just now and is not read so.
import { type Check, skip } from '../../domain/check.ts';
import { formatDuration } from '../../domain/duration.ts';

export const justDone: Check = {
  when: 'Trustward did it a moment ago, and it is not read so yet',
  ask({ justDoneMs }) {
    if (justDoneMs === undefined) return undefined;
    const waits = formatDuration(Math.ceil(justDoneMs / 1_000) * 1_000);
    const text = 'it was done just now and is not read so: whether a person reversed it is told after the quiet period';
    return skip('in_doubt', `${text} (${waits})`);
  },
};
