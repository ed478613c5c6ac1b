// check: a doubt that turns out not done is tried once more, and never twice. In: how often it was tried again.
import { type Check, skip } from '../../domain/check.ts';

export const oneRetry: Check = {
  when: 'it was already tried once more',
  ask: ({ doubtRetries = 0 }) => (doubtRetries > 0 ? skip('in_doubt', 'not done after one retry') : undefined),
};
