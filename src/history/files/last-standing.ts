// history files: what holds after the last recorded run, for a recorder that begins. In: a folder. Out: its standing rows, those of one subject one after
// another; undefined when something before it is lost. Events are left out.

import type { HistoryRow } from '../rows.ts';
import { Begin } from './begin.ts';
import { Walk } from './walk.ts';

/** Without a recorded run there are no rows. Errors: AppError `store_failed` when the folder cannot be read. */
export async function lastStanding(folder: string, address: string): Promise<Iterable<HistoryRow> | undefined> {
  const walk = new Walk(folder, address);
  const newest = walk.bases.at(-1);
  if (walk.lastPlace === 0 && !newest) return [];
  const begun = await new Begin(walk, Number.NEGATIVE_INFINITY).at(Math.max(walk.lastPlace, newest?.last ?? 0) + 1);
  return 'lost' in begun ? undefined : begun.standing.rows((kind) => kind !== 'event');
}
