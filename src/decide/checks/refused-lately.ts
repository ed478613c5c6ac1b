// check: what the server refused before doing anything (401, 403) is no attempt, and starts no cooldown. The next run tries it again;
// from then on twice as long passes each time, up to an hour. Another credential is tried at once. In: the refused intent.
import { type Check, skip } from '../../domain/check.ts';
import { wallElapsedMs } from '../../domain/steady-time.ts';
import { timeText } from '../../domain/time-text.ts';

const FIRST_MS = 60_000;
const LONGEST_MS = 3_600_000;

export const refusedLately: Check = {
  when: 'the server refused the last request for it (401, 403) a short while ago, with the same credential',
  ask({ basis, steady, credential }) {
    for (const { earlier } of basis) {
      if (!steady || earlier?.outcome !== 'failed' || !earlier.refused || earlier.sentAt === undefined) continue;
      const { times, credential: refused } = earlier.refused;
      const leftMs = pauseMs(times) - wallElapsedMs(steady, earlier.sentAt);
      if (refused !== credential || leftMs <= 0) continue;
      const often = times === 1 ? 'once' : `${times} times in a row`;
      return skip(
        'refused',
        `the server refused it ${often}, nothing was done; next at ${timeText(steady.nowMs + leftMs)}`,
      );
    }
    return undefined;
  },
};

/** After the first refusal: none. */
function pauseMs(times: number): number {
  return times <= 1 ? 0 : Math.min(LONGEST_MS, FIRST_MS * 2 ** (times - 2));
}
