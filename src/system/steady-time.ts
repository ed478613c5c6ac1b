// system: detects jumps of the wall clock by comparing it with the monotonic one, which counts from the machine's
// start. In: the clock, the current boot, and what an earlier process kept. Out: readings; each that finds the two
// apart starts anew from there. A jump that is reversed between two readings is not seen.
import type { Clock } from '../domain/ports.ts';
import { AGREED_MS, type ClockAgreement, type SteadyTime, type Watched } from '../domain/steady-time.ts';

/**
 * `kept`: from the database that holds the times; undefined: nothing is known about earlier times. INVARIANT: where the
 * system does not name its boots, the same distance of the two clocks is enough. On another boot of the machine it
 * would be a coincidence, and then no more time counts as over than the monotonic clock has counted since that boot.
 * `seen`: this process has watched the clock by which all times are recorded, on whichever machine, since then.
 */
export function steadyTime(
  clock: Pick<Clock, 'nowMs' | 'monotonicMs'>,
  boot: string,
  kept: ClockAgreement | undefined,
  seen?: Watched,
): SteadyTime {
  let agreed = begin(clock.nowMs(), clock.monotonicMs(), boot, kept, seen);
  const read = () => {
    const nowMs = clock.nowMs();
    const monotonicMs = clock.monotonicMs();
    const isApart = Math.abs(nowMs - monotonicMs - agreed.apartMs) > AGREED_MS;
    agreed = isApart ? afterJump(nowMs, monotonicMs, boot, agreed) : { ...agreed, seenMs: nowMs };
    const { sinceMs, fromMs, jumpedMs, setBackMs } = agreed;
    return { nowMs, sinceMs, forMs: Math.floor(monotonicMs - fromMs), jumpedMs, setBackMs };
  };
  read();
  return { read, agreement: () => agreed };
}

function begin(
  nowMs: number,
  monotonicMs: number,
  boot: string,
  kept: ClockAgreement | undefined,
  seen: Watched | undefined,
): ClockAgreement {
  if (kept === undefined) return afterJump(nowMs, monotonicMs, boot, undefined);
  const isBehind = monotonicMs < kept.seenMs - kept.apartMs - AGREED_MS;
  if (kept.boot === boot && !isBehind) return kept;
  // On another boot the only sign of a jump is that the wall clock goes back.
  if (isSetBack(nowMs, kept)) return afterJump(nowMs, monotonicMs, boot, kept);
  const begun = { ...kept, ...agreementFrom(nowMs, monotonicMs, boot) };
  if (seen === undefined) return begun;
  const jumpedMs = Math.max(kept.jumpedMs, seen.jumpedMs);
  const unwatchedMs = Math.max(0, jumpedMs - seen.sinceMs);
  return { ...begun, sinceMs: seen.sinceMs + unwatchedMs, fromMs: seen.fromMs + unwatchedMs, jumpedMs };
}

function afterJump(
  nowMs: number,
  monotonicMs: number,
  boot: string,
  before: ClockAgreement | undefined,
): ClockAgreement {
  const setBackMs = before === undefined || isSetBack(nowMs, before) ? nowMs : before.setBackMs;
  return { ...agreementFrom(nowMs, monotonicMs, boot), jumpedMs: nowMs, setBackMs };
}

function isSetBack(nowMs: number, { seenMs }: ClockAgreement): boolean {
  return nowMs < seenMs - AGREED_MS;
}

function agreementFrom(nowMs: number, monotonicMs: number, boot: string) {
  return { boot, apartMs: nowMs - monotonicMs, sinceMs: nowMs, fromMs: monotonicMs, seenMs: nowMs };
}
