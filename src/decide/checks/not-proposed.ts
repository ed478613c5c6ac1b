// check: INVARIANT: at least one rule that proposed it still does; undoing, none of them matches again; a doubt is tried once more only
// where all of them do. In: what each rule says of its subject as just read. A person's approval or release stands for the rules.
import { type Check, skip } from '../../domain/check.ts';
import { changedFacts } from './changed-facts.ts';

export const notProposed: Check = {
  when: 'the rules do not say any more what it rests on',
  ask({ released, approved, isDoubt, undo, basis }) {
    if (released || (approved && !isDoubt)) return undefined;
    const wanted = undo ? 'no_match' : 'match';
    const still = basis.filter(({ verdict }) => verdict === wanted).length;
    if (undo || isDoubt ? still === basis.length : still > 0) return undefined;
    const changed = basis.flatMap(changedFacts).join(', ');
    return skip('drifted', `changed since it was decided: ${changed || 'the rule does not say so any more'}`);
  },
};
