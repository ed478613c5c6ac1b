// web: the address of a page with its filters. In: a path, and what is filtered by. Out: an address; what is not given is not in it.
import type { HttpDeps } from '../http/deps.ts';

type Filters = Readonly<Record<string, string | number | undefined>>;

export function addressOf(path: string, filters: Filters = {}): string {
  const given = Object.entries(filters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

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

export function partAfter<T extends { id: string }>(all: readonly T[], after: string | undefined, limit: number) {
  const at = after === undefined ? -1 : all.findIndex(({ id }) => id === after);
  const from = after !== undefined && at === -1 ? all.length : at + 1;
  return { rows: all.slice(from, from + limit), hasMore: all.length > from + limit };
}
