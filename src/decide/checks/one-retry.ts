// check: a doubt that is found not done is tried once more, and never twice. In: how often that was done.
import { type Check, skip } from '../../domain/check.ts';

export const oneRetry: Check = {
  when: 'it was tried once more already',
  ask: ({ doubtRetries = 0 }) => (doubtRetries > 0 ? skip('in_doubt', 'not done after one retry') : undefined),
};
