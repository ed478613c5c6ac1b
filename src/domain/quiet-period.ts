// domain: the quiet period: how long after a doubtful call its effect may still come, and a read may be stale. In: the configured
// time and the latency of the API. Out: the period in force, with its reason in words. The only place that computes it.
import { formatDuration } from './duration.ts';

/** Of the calls of the last hour. Reads and writes are measured apart: a few slow writes would vanish among many reads. */
export interface Latency {
  p99Ms: number;
  calls: number;
  /** The slower kind. */
  kind: 'read' | 'write';
}

/** Before the first. */
export const NO_CALLS: Latency = { p99Ms: 0, calls: 0, kind: 'read' };

/** As an earlier process measured it. */
export interface KeptLatency extends Latency {
  /** When, by the wall clock. */
  atMs: number;
}

export interface QuietPeriod {
  ms: number;
  configuredMs: number;
  latency: Latency;
}

export interface QuietTime {
  /** In force now. */
  read(): QuietPeriod;
  /** Stored with each outcome: the next process starts with it. */
  latency(): KeptLatency;
  /** Stored with each attempt: as if its answer never comes. */
  unanswered(): KeptLatency;
}

/** A latency counts for so long. */
export const MEASURED_MS = 3_600_000;

/** The name of its line in `/readyz` and `doctor`. */
export const QUIET_PERIOD = 'quiet period';

const FACTOR = 3;
/** What is measured never makes the period longer. */
const MEASURED_QUIET_MS_MAX = 600_000;

export function quietPeriod(configuredMs: number, latency: Latency): QuietPeriod {
  const measuredMs = Math.min(FACTOR * latency.p99Ms, MEASURED_QUIET_MS_MAX);
  return { ms: Math.max(configuredMs, measuredMs), configuredMs, latency };
}

/** `1m: 3 × 20s, the 99th percentile of 7 write calls in the last hour`. */
export function describeQuietPeriod({ ms, configuredMs, latency }: QuietPeriod): string {
  const { p99Ms, calls, kind } = latency;
  const of = `${calls} ${kind} call${calls === 1 ? '' : 's'} in the last hour`;
  const measured = `${FACTOR} × ${rounded(p99Ms)}, the 99th percentile of ${of}`;
  if (calls === 0) return `${rounded(ms)}: as configured; no call was measured in the last hour`;
  if (ms === configuredMs) return `${rounded(ms)}: as configured; ${measured}, is less`;
  return FACTOR * p99Ms > ms ? `${rounded(ms)}: the most; ${measured}, is more` : `${rounded(ms)}: ${measured}`;
}

/** In steps that people read: seconds from ten on. */
function rounded(ms: number): string {
  return formatDuration(ms < 10_000 ? Math.ceil(ms) : Math.ceil(ms / 1_000) * 1_000);
}
