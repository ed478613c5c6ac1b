// web: work that an answer waits for only so long. In: work under way, and the longest wait. Out: its result, or undefined while it still
// takes. The work goes on; whoever began it sees to a failure that comes later.
import type { Clock } from '../domain/ports.ts';

/** Errors: those of the work, when they come in time. */
export async function within<T>(clock: Pick<Clock, 'sleep'>, waitMs: number, work: Promise<T>): Promise<T | undefined> {
  const answered = new AbortController();
  const nothing = () => undefined;
  try {
    return await Promise.race([work, clock.sleep(waitMs, answered.signal).then(nothing, nothing)]);
  } finally {
    // INVARIANT: no timer outlives the answer.
    answered.abort();
  }
}
