// The replays of the history beside a database, beside any writer. In: the database's file, the environment. Out: replays, which load neither
// the API nor a credential.
import type { Environment } from '../config/reader.ts';
import { AppError } from '../domain/errors.ts';
import type { Replayer } from '../domain/replayer.ts';

/** Errors: AppError `not_found` without a history. */
export async function composeReplayer(database: string, _env: Environment): Promise<Replayer> {
  throw new AppError('not_found', `there is no history beside \`${database}\``);
}
