// system: the quiet period in force, from the latency that this process measured and the one that an earlier process kept. In: the
// configured period, the API, the clocks. Out: the period, and what to keep for the next process. A restart never makes it shorter.
import type { Api } from '../domain/ports.ts';
import { type KeptLatency, MEASURED_MS, type QuietTime, quietPeriod } from '../domain/quiet-period.ts';
import { elapsedMs, type SteadyTime } from '../domain/steady-time.ts';

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
