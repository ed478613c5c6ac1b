// store: gives unused pages of the file back to the file system. In: a connection. Out: a shorter file, a little at a time. A database that an
// earlier version made keeps them, and fills them again.
import type { SqliteDb } from './database.ts';

/** Moving them takes a few milliseconds. */
const PAGES_AT_ONCE = 500;

/** Once they are more than a quarter: fewer are filled again soon. */
export function giveBackPages(db: SqliteDb): void {
  const counts = 'SELECT freelist_count AS unused, page_count AS pages FROM pragma_freelist_count, pragma_page_count';
  const { unused = 0, pages = 0 } = db.get<{ unused: number; pages: number }>(counts) ?? {};
  if (unused > pages / 4) db.transaction(() => db.exec(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`));
}
