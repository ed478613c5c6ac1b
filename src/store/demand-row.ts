// store: whether the row is there after which a page begins. In: a table, and the id that a reader gives. Out: nothing, or an error.
import { AppError } from '../domain/errors.ts';
import type { Db, Work } from './queries.ts';

/** Errors: AppError `usage` when it is gone, or never was. */
export function* demandRow(db: Db, table: string, id: string | undefined): Work<void> {
  if (id === undefined || (yield* db.get(`SELECT id FROM ${table} WHERE id = ?`, id))) return;
  throw new AppError('usage', `the list has no \`${id}\` to continue from: read it again from its beginning`);
}
