// system: the only place that reads the time.
import { readFileSync } from 'node:fs';
import { AGREED_MS, type ClockAgreement, elapsedMs, type SteadyTime, type Watched } from '../../base/time.ts';
import { AppError } from '../../domain/errors.ts';
import {
  type Api,
  type Clock,
  type KeptLatency,
  MEASURED_MS,
  type QuietTime,
  quietPeriod,
} from '../../domain/ports.ts';

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  // Counted from the machine's start, not from this process's: values kept by an earlier process are comparable.
  monotonicMs: () => Number(process.hrtime.bigint()) / 1e6,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const stopped = () => new AppError('stopped', 'stopped while waiting');
      if (signal?.aborted) return reject(stopped());
      const onAbort = () => {
        clearTimeout(timer);
        reject(stopped());
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      }, ms);
      signal?.addEventListener('abort', onAbort, { once: true });
    }),
};

/** Which start of which machine this is; empty when the system does not report it. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

// Detects jumps of the wall clock by comparing it with the monotonic one, which counts from the machine's start.

/**
 * `kept`: from the database that holds the times; undefined: nothing is known about earlier times. INVARIANT: where the
 * system does not name its boots, the same distance of the two clocks is enough. On another boot of the machine it
 * would be a coincidence, and then no more time counts as over than the monotonic clock has counted since that boot.
 * `isWrong`: the server's time contradicts the wall clock, so that no time before this boot counts as over by it.
 * `seen`: this process has watched the clock by which all times are recorded, on whichever machine, since then.
 */
export function steadyTime(
  clock: Pick<Clock, 'nowMs' | 'monotonicMs'>,
  boot: string,
  kept: ClockAgreement | undefined,
  isWrong: () => boolean = () => false,
  seen?: Watched,
): SteadyTime {
  let agreed = begin(clock.nowMs(), clock.monotonicMs(), boot, kept, seen);
  const read = () => {
    const nowMs = clock.nowMs();
    const monotonicMs = clock.monotonicMs();
    const isApart = Math.abs(nowMs - monotonicMs - agreed.apartMs) > AGREED_MS;
    agreed = isApart ? afterJump(nowMs, monotonicMs, boot, agreed) : { ...agreed, seenMs: nowMs };
    const { sinceMs, fromMs, jumpedMs, setBackMs } = agreed;
    return {
      nowMs,
      sinceMs,
      forMs: Math.floor(monotonicMs - fromMs),
      jumpedMs: isWrong() ? nowMs : jumpedMs,
      setBackMs,
    };
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

export function quietTime(
  configuredMs: number,
  api: Pick<Api, 'latency' | 'unansweredMs'>,
  steady: SteadyTime,
  kept: KeptLatency | undefined,
): QuietTime {
  const latency = (): KeptLatency => {
    const reading = steady.read();
    const measured = { ...api.latency(), atMs: reading.nowMs };
    const counts = kept !== undefined && elapsedMs(reading, kept.atMs) < MEASURED_MS;
    return counts && kept.p99Ms > measured.p99Ms ? kept : measured;
  };
  const unanswered = (): KeptLatency => {
    const now = latency();
    const p99Ms = api.unansweredMs();
    return now.p99Ms >= p99Ms ? now : { p99Ms, calls: 1, kind: 'write', atMs: steady.read().nowMs };
  };
  return { read: () => quietPeriod(configuredMs, latency()), latency, unanswered };
}
