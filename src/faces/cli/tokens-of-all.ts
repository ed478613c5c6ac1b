// cli: `tokens … --all-organizations`: tokens that open every organization of a PostgreSQL database. In: the settings of the database, of no
// single organization. Out: the same texts and JSON as of the tokens of one.

import { DEFAULT_ORGANIZATION, type PostgresDatabase } from '../../domain/database.ts';
import { AppError } from '../../domain/errors.ts';
import { openServer } from '../../runtime/compose/postgres.ts';
import { isPostgres, NameReader, readDatabase, readDatabasePath } from '../../runtime/config/name-reader.ts';
import { systemClock } from '../../runtime/system/clock.ts';
import { systemLog } from '../../runtime/system/log.ts';
import { TokensOfAll } from '../../store/postgres/tokens-of-all.ts';
import { type CommonOptions, flagsOf, type Io } from './io.ts';

/** Errors: AppError `usage` with a file, or for one organization; `config`, `store_failed`. */
export async function withTokensOfAll<T>(
  io: Io,
  options: CommonOptions,
  work: (tokens: TokensOfAll) => Promise<T>,
): Promise<T> {
  const { org } = options;
  if (org !== undefined)
    throw new AppError('usage', `--org \`${org}\` and --all-organizations: leave out one of the two`);
  const file = readDatabasePath(io.env, options);
  if (!isPostgres(file))
    throw new AppError(
      'usage',
      `\`${file}\` is a SQLite database, which has one organization: leave out --all-organizations`,
    );
  const reader = new NameReader(io.env);
  const database = readDatabase(reader, flagsOf(options), DEFAULT_ORGANIZATION) as PostgresDatabase;
  reader.finish();
  const server = await openServer(database, systemClock, systemLog({ level: 'silent', form: 'plain' }));
  try {
    return await work(new TokensOfAll(server.pool));
  } finally {
    await server.close();
  }
}
