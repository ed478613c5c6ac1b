// system: signals that end the process. In: SIGINT, SIGTERM, SIGHUP. Out: an Ending; at its deadline the process ends
// all the same, and a line names what has not ended. What was sent and not settled stays recorded as `sent`.
import { writeSync } from 'node:fs';
import { Ending } from './ending.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** A second signal of the same kind ends the process at once. */
export function endOnSignals(withinMs?: number): Ending {
  const ending = new Ending(withinMs);
  for (const signal of SIGNALS) process.once(signal, () => ending.begin());
  void ending.overdue.then((names) => endByForce(ending.withinMs, names));
  return ending;
}

/**
 * INVARIANT: a kill, not an exit: an exit waits for threads that read files, and one that hangs in a read never ends.
 */
function endByForce(withinMs: number, names: readonly string[]): void {
  const what = names.length === 0 ? 'a thread of the process, as when a disk does not answer' : names.join(', ');
  const rest = 'what was sent stays recorded, and the next start resolves it';
  try {
    writeSync(2, `trustward: ended by force ${withinMs / 1_000} s after the signal; not ended: ${what}; ${rest}\n`);
  } finally {
    process.kill(process.pid, 'SIGKILL');
  }
}
