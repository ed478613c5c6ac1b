// check: what an undoing brings about by itself needs no intent of its own (decision 0032). In: the undoing that is enough.
import { type Check, skip } from '../../domain/check.ts';

export const undoneAnyway: Check = {
  when: 'undoing what another rule did is the same, and comes at least as soon',
  unlifted: true,
  ask: ({ undoing }) => undoing && skip('cleared', `undoing what rule ${undoing.rule} did is the same, and is enough`),
};
