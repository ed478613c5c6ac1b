// check: what can be undone goes before what cannot: a deletion waits for what else is wanted of its target (decision 0033).
// In: what goes first, as proposed now or as earlier runs said.
import { type Check, hold } from '../../domain/check.ts';
import { lastRunSaid } from './last-run-said.ts';

export const otherFirst: Check = {
  when: 'it removes the target, and something else is to be done to it first',
  unlifted: true,
  ask(facts) {
    const { first } = facts;
    if (!first) return lastRunSaid(facts, 'other_first');
    return hold('other_first', `rule ${first.rule} wants ${first.action} for the same target first`);
  },
};
