// check: a doubt is resolved by reading back: where the server does not say, a person has to. In: the target as just read.
import { type Check, skip } from '../../domain/check.ts';

export const unreadable: Check = {
  when: 'the server does not say what state the target is in',
  ask: ({ state }) =>
    state === 'unreadable' ? skip('in_doubt', 'the server does not say whether it was done') : undefined,
};
