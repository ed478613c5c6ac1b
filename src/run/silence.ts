// run: the first run after a day without a completed one is a dry run: the database may be that of a machine's restored snapshot, which
// nothing on the machine shows. In: when the last run was completed, and now. Out: since when it was silent. It never reads the time.
import { leastMode, type Mode } from '../domain/mode.ts';

const SILENCE_MS = 24 * 3_600_000;

/** Of one process. */
export interface Silence {
  /** When the last run before this process was completed, epoch ms, while the first run after it is due. */
  since: number | undefined;
}

/** A new database has no run to be behind of. */
export function silenceBefore(lastCompletedMs: number | undefined, nowMs: number): Silence {
  return { since: lastCompletedMs !== undefined && nowMs - lastCompletedMs > SILENCE_MS ? lastCompletedMs : undefined };
}

/** The mode of the next run, and why it is lower than requested. */
export function modeAfter(silence: Silence | undefined, mode: Mode): { mode: Mode; silentSince: number | undefined } {
  const capped = silence?.since === undefined ? mode : leastMode(mode, 'dry-run');
  return { mode: capped, silentSince: capped === mode ? undefined : silence?.since };
}
