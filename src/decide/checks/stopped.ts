// check: while a person has stopped everything, nothing is called, and nothing is begun that would only be withdrawn again.
// In: the stop. INVARIANT: before a call it is asked of the store: a stop counts from the moment it is given.
import { type Check, hold } from '../../domain/check.ts';
import { stopText } from '../../domain/operator.ts';

export const stopped: Check = {
  when: 'a person stopped everything',
  ask: ({ stop }) => stop && hold('stopped', stopText(stop)),
};
