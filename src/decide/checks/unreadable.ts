// check: a doubt is resolved by reading back. If the server does not report the state, a person resolves it. In: the target as just read.
import { type Check, skip } from '../../domain/check.ts';

export const unreadable: Check = {
  when: "the server does not report the target's state",
  ask: ({ state }) =>
    state === 'unreadable' ? skip('in_doubt', 'the server does not report whether it was done') : undefined,
};
