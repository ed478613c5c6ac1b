// check: INVARIANT: only what Trustward did and still claims is undone. In: the open claims on the target.
import { type Check, skip } from '../../domain/check.ts';

export const nothingToUndo: Check = {
  when: 'it is an undo, and no claim is left on what it would undo',
  ask({ undo, traits, claims = [] }) {
    if (!undo || claims.some(({ action }) => action === traits.inverse)) return undefined;
    return skip('drifted', 'nothing that Trustward did is left to undo');
  },
};
