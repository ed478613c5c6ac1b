// check: a process that is being stopped begins nothing new. In: whether it is.
import { type Check, skip } from '../../domain/check.ts';

export const stopping: Check = {
  when: 'the process is being stopped',
  ask: ({ isStopping }) => (isStopping ? skip('stopped', 'the process is being stopped') : undefined),
};
