// check: nothing is done for a rule that has ceased to match since. In: whether the episodes are over. A match that came back has a
// new episode, which acts by itself. An undo is based on episodes that are over.
import { type Check, skip } from '../../domain/check.ts';

export const over: Check = {
  when: 'the episode that it is based on is over',
  ask({ undo, basis }) {
    const past = undo ? undefined : basis.find(({ isOver }) => isOver);
    return past && skip('drifted', `rule ${past.rule} has ceased to match ${past.subjectId} since`);
  },
};
