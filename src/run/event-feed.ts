// run: what one process remembers of the event log between its runs and looks. In: nothing. Out: nouns.
import type { RunRecord } from '../domain/store.ts';
import type { Evaluator } from '../domain/verdict.ts';

export interface EventFeed {
  primed: WeakSet<Evaluator>;
  triedMs: number;
  /** What looks between two whole runs remember; undefined before the first. */
  looks?: LooksMemory;
}

export interface LooksMemory {
  /** The last whole run, as it was read from the store. */
  whole?: RunRecord | undefined;
  /** The id of the last whole run before the server refused to show the event log. */
  forbiddenAfter?: string;
}
