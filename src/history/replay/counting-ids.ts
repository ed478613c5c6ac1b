// history: ids of what a replay makes in memory. In: a prefix. Out: ids in the order of making, the same in each replay.
import type { Ids } from '../../domain/ports.ts';

export function countingIds(prefix: string): Ids {
  let count = 0;
  return {
    next: () => {
      count += 1;
      return `${prefix}-${String(count).padStart(9, '0')}`;
    },
  };
}
