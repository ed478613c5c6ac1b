// check: in a change window nothing acts: what matches is held until the window ends. In: the window in force; none for a plan that a person let
// through. INVARIANT: an undo is never held: it gives access back, or takes away what nothing claims any longer.
import { freezeText } from '../../domain/change-window.ts';
import { type Check, hold } from '../../domain/check.ts';

export const frozen: Check = {
  when: 'a change window is in force, and it is no undo',
  ask: ({ freeze, undo }) => (freeze && !undo ? hold('frozen', freezeText(freeze)) : undefined),
};
