// store: the version of the lists that this database was last run with. In: the version of this run. Out: the one before, if it was another:
// what rules could know has changed, and whoever reads the audit sees when. Before the first run with this setting it was version 1.
import type { Lists } from '../domain/lists.ts';
import type { Db, Work } from './queries.ts';

const KEY = 'lists';

/** Keeps `lists`; returns what it replaces, undefined when nothing has changed. */
export function* replaceLists(db: Db, lists: Lists): Work<string | undefined> {
  const before = (yield* db.get<{ value: string }>('SELECT value FROM meta WHERE key = ?', KEY))?.value ?? 'v1';
  if (before === lists) return undefined;
  yield* db.upsert('meta', { key: KEY, value: lists }, 'key');
  return before;
}
