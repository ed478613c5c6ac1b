// web: work that an answer waits for only so long, and no longer than the daemon runs. In: work under way, and the longest wait. Out: its
// result, or undefined while it still takes. The work goes on; whoever began it sees to a failure that comes later.
import type { HttpDeps } from '../http/deps.ts';

export interface Waiting {
  clock: Pick<HttpDeps['clock'], 'sleep'>;
  stream: Pick<HttpDeps['stream'], 'ending'>;
}

/** Errors: those of the work, when they come in time. */
export async function within<T>(
  { clock, stream: { ending } }: Waiting,
  waitMs: number,
  work: Promise<T>,
): Promise<T | undefined> {
  const answered = new AbortController();
  const nothing = () => undefined;
  const late = clock.sleep(waitMs, AbortSignal.any([answered.signal, ending])).then(nothing, nothing);
  try {
    return await Promise.race([work, late]);
  } finally {
    // INVARIANT: no timer outlives the answer.
    answered.abort();
  }
}
