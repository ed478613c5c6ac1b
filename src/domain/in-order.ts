// domain: several reads at a time. In: jobs, and how each is run. Out: the results, in the order of the jobs.
// The first failure ends it; what runs already is not waited for.

/** Runs jobs ahead, at most `concurrency` at once, and returns their results in the order of the jobs. */
export async function* inOrder<J, T>(
  jobs: Iterable<J> | AsyncIterable<J>,
  concurrency: number,
  run: (job: J) => Promise<T>,
): AsyncGenerator<T, void> {
  const waiting: Promise<T>[] = [];
  const iterator = Symbol.asyncIterator in jobs ? jobs[Symbol.asyncIterator]() : jobs[Symbol.iterator]();
  try {
    let next = await iterator.next();
    while (!next.done || waiting.length > 0) {
      while (!next.done && waiting.length < concurrency) {
        const promise = run(next.value);
        promise.catch(() => undefined); // reported when its turn comes; until then it is not unhandled
        waiting.push(promise);
        next = await iterator.next();
      }
      yield await (waiting.shift() as Promise<T>);
    }
  } finally {
    await iterator.return?.();
  }
}
