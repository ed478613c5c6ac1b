// system: sees the wall clock jump by holding it against the monotonic one, which counts from the machine's start. In: the clock,
// which start it is, and what an earlier process kept. Out: readings; each that finds the two apart begins anew from there. What
// jumped and jumped back between two readings is not seen.
import type { Clock } from '../domain/ports.ts';
import { AGREED_MS, type ClockAgreement, type SteadyTime } from '../domain/steady-time.ts';

/**
 * `kept`: of the database that the times are in; undefined: nothing is known of what was written down before.
 * INVARIANT: where the system does not name its boots, the same distance of the two clocks is enough. On another boot of the
 * machine it would be a coincidence, and then no more time is taken for over than the monotonic clock has counted since that boot.
 */
export function steadyTime(
  clock: Pick<Clock, 'nowMs' | 'monotonicMs'>,
  boot: string,
  kept: ClockAgreement | undefined,
): SteadyTime {
  const anew = (nowMs: number, fromMs: number): ClockAgreement => ({
    boot,
    apartMs: nowMs - fromMs,
    sinceMs: nowMs,
    fromMs,
  });
  let agreed = kept?.boot === boot ? kept : anew(clock.nowMs(), clock.monotonicMs());
  const read = () => {
    const nowMs = clock.nowMs();
    const monotonicMs = clock.monotonicMs();
    const isApart = Math.abs(nowMs - monotonicMs - agreed.apartMs) > AGREED_MS;
    if (isApart || monotonicMs < agreed.fromMs) agreed = anew(nowMs, monotonicMs);
    return { nowMs, sinceMs: agreed.sinceMs, forMs: monotonicMs - agreed.fromMs };
  };
  read();
  return { read, agreement: () => agreed };
}
