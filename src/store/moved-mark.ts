// store: the mark of a database whose rows were moved to another one. In: a connection, where they went. Out: a refusal for whoever would go on
// with it. It is part of the transaction that records the move, so neither is there without the other.
import { AppError } from '../domain/errors.ts';
import type { Db, Work } from './queries.ts';

export const MOVED_TO = 'moved_to';

/** For people: the address, and the organization there. Undefined: it was not moved. */
export function* movedTo(db: Db): Work<string | undefined> {
  if ((yield* db.columnsOf(['meta'])).length === 0) return undefined;
  return (yield* db.get<{ value: string }>('SELECT value FROM meta WHERE key = ?', MOVED_TO))?.value;
}

export function* markMoved(db: Db, to: string): Work<void> {
  yield* db.insert('meta', { key: MOVED_TO, value: to });
}

/** Errors: AppError `config`, for whoever would write. */
export function* refuseMoved(db: Db): Work<void> {
  const to = yield* movedTo(db);
  if (to === undefined) return;
  throw new AppError(
    'config',
    `database \`${db.name}\` was moved to \`${to}\`, and nothing goes on with the file: set TRUSTWARD_DB to that address; if the move was interrupted, run the same \`trustward db move\` again`,
  );
}
