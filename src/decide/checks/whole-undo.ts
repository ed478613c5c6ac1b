// check: an undo covers all claims on its target or none. In: why another part of the same undo is not done. Out: the same answer.
// INVARIANT: preflight refuses an undo that leaves an open claim on its target, so deciding never acts on a part of one.
import type { Check } from '../../domain/check.ts';

export const wholeUndo: Check = {
  when: 'another part of the same undo is not done: the undo of another claim on the target',
  ask: ({ otherPart }) => otherPart,
};
