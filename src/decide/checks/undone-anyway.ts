// check: a change that an undo makes anyway needs no intent of its own (decision 0032). In: the undo that is enough.
import { type Check, skip } from '../../domain/check.ts';

export const undoneAnyway: Check = {
  when: 'undoing what another rule did has the same effect, and comes at least as soon',
  unlifted: true,
  ask: ({ undoing }) => undoing && skip('cleared', `undoing what rule ${undoing.rule} did is the same, and is enough`),
};
