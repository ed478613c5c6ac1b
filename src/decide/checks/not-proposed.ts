// check: INVARIANT: at least one rule that proposed it still does. For an undo, none of them matches again. A doubt is tried once more
// only if all of them still do. In: each rule's verdict on its subject as just read. A person's approval or release replaces the rules.
import { type Check, skip } from '../../domain/check.ts';
import { changedFacts } from './changed-facts.ts';

export const notProposed: Check = {
  when: 'its rules no longer give the verdict that it is based on',
  ask({ released, approved, isDoubt, undo, basis }) {
    if (released || (approved && !isDoubt)) return undefined;
    const wanted = undo ? 'no_match' : 'match';
    const still = basis.filter(({ verdict }) => verdict === wanted).length;
    if (undo || isDoubt ? still === basis.length : still > 0) return undefined;
    const changed = basis.flatMap(changedFacts).join(', ');
    return skip('drifted', `changed since it was decided: ${changed || 'the rule no longer gives that verdict'}`);
  },
};
