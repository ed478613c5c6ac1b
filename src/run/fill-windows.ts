// run: the event windows of a fresh process, filled from the store. In: an evaluator, and how far back its windows reach. Out: nothing but
// filled windows. It asks the API for nothing.
import type { PullReader } from '../domain/pull-store.ts';
import type { Evaluator } from '../domain/verdict.ts';
import type { PullEngine } from './engine.ts';

/** Once in a process: from then on, what is read is observed as it comes. */
export async function fillWindows(
  { feed, store }: Pick<PullEngine, 'feed'> & { store: Pick<PullReader, 'events'> },
  evaluator: Evaluator,
  fromMs: number,
): Promise<void> {
  for await (const batch of store.events(fromMs)) evaluator.observe(batch);
  feed.primed.add(evaluator);
}
