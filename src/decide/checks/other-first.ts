// check: reversible actions go before irreversible ones: a deletion waits for other actions on its target (decision 0033).
// In: the action that goes first, as proposed now or by earlier runs.
import { type Check, hold } from '../../domain/check.ts';
import { lastRunSaid } from './last-run-said.ts';

export const otherFirst: Check = {
  when: 'it removes the target, and another action goes first',
  unlifted: true,
  ask(facts) {
    const { first } = facts;
    if (!first) return lastRunSaid(facts, 'other_first');
    return hold('other_first', `rule ${first.rule} wants ${first.action} for the same target first`);
  },
};
