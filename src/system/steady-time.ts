// system: sees the wall clock jump by holding it against the monotonic one. In: the clock. Out: readings; each that finds the
// two apart begins anew from there. What jumped and jumped back between two readings is not seen.
import type { Clock } from '../domain/ports.ts';
import { AGREED_MS, type SteadyTime } from '../domain/steady-time.ts';

export function steadyTime(clock: Clock): SteadyTime {
  let sinceMs = Number.NEGATIVE_INFINITY;
  let fromMs = clock.monotonicMs();
  let apartMs = clock.nowMs() - fromMs;
  return {
    read: () => {
      const nowMs = clock.nowMs();
      const monotonicMs = clock.monotonicMs();
      if (Math.abs(nowMs - monotonicMs - apartMs) > AGREED_MS) {
        apartMs = nowMs - monotonicMs;
        fromMs = monotonicMs;
        sinceMs = nowMs;
      }
      return { nowMs, sinceMs, forMs: monotonicMs - fromMs };
    },
  };
}
