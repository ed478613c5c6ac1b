// history files: what holds after the last recorded run, for a recorder that begins. In: a folder. Out: its standing rows in parts, those of one subject
// one after another; undefined when something before it is lost. Events are left out.

import type { HistoryRow } from '../rows.ts';
import { standingInParts } from './begin.ts';
import type { Standing } from './standing.ts';
import { type Lost, Walk } from './walk.ts';

/** Without a recorded run there are no rows. Errors: AppError `store_failed` when the folder cannot be read. */
export async function lastStanding(
  folder: string,
  address: string,
  changesMax?: number,
): Promise<AsyncIterable<Iterable<HistoryRow>> | undefined> {
  const walk = new Walk(folder, address);
  const newest = walk.bases.at(-1);
  if (walk.lastPlace === 0 && !newest) return nothing();
  const parts = standingInParts(walk, Math.max(walk.lastPlace, newest?.last ?? 0) + 1, changesMax);
  const { value: first } = await parts.next();
  return !first || 'lost' in first ? undefined : rowsOf(first, parts);
}

async function* nothing(): AsyncGenerator<Iterable<HistoryRow>> {}

async function* rowsOf(first: Standing, parts: AsyncIterable<Standing | { lost: Lost }>) {
  const noEvents = (kind: string) => kind !== 'event';
  yield first.rows(noEvents);
  for await (const part of parts) if (!('lost' in part)) yield part.rows(noEvents);
}
