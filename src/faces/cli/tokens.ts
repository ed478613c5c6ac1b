// cli: `tokens add|list|revoke`: who may call the HTTP endpoint, and how far. Standard output of `add` is the new
// token alone, for a script or a file; notes for people go to standard error. It is shown this once.
import type { TokenShown } from '../../contract/nouns.ts';
import { parsedInput } from '../../contract/operation.ts';
import { OPERATIONS } from '../../contract/table.ts';
import { actorText } from '../../domain/actor.ts';
import { DEFAULT_ORGANIZATION, type PostgresDatabase } from '../../domain/database.ts';
import { AppError } from '../../domain/errors.ts';
import { isPostgres, NameReader, readDatabase, readDatabasePath } from '../../runtime/config/name-reader.ts';
import { systemClock } from '../../runtime/system/clock.ts';
import { systemLog } from '../../runtime/system/log.ts';
import type { TokensOfAll } from '../../store/postgres/tokens-of-all.ts';
import type { Cell } from '../report/fact-text.ts';
import { whole } from '../report/fact-text.ts';
import { views } from '../report/index.ts';
import { remoteOf } from './config-of.ts';
import { actorHere } from './daemon-client.ts';
import { type CommonOptions, flagsOf, type Io } from './io.ts';
import { does, spelledAs, type Words } from './operations.ts';
import { type Listing, list, minuteOf, writeList } from './operator-lists.ts';

interface TokenOptions extends CommonOptions {
  allOrganizations?: boolean;
}

export async function tokensAddCommand(io: Io, name: string, options: TokenOptions): Promise<number> {
  return performed(io, options, 'addToken', name, {
    text: ({ token }) => [token],
    isBare: true,
    aside: (made) =>
      `token \`${made.name}\` of scope ${made.scope}, ${endOf(made)}; keep it now, it is not shown again`,
  });
}

export async function tokensRevokeCommand(io: Io, name: string, options: TokenOptions): Promise<number> {
  return performed(io, options, 'revokeToken', name, {
    text: (revoked) => [`token \`${revoked.name}\` is revoked: it is refused from the next request on`],
  });
}

/** On the tokens of an organization, or of all. */
async function performed<Id extends 'addToken' | 'revokeToken'>(
  io: Io,
  options: TokenOptions,
  id: Id,
  name: string,
  words: Words<Id>,
): Promise<number> {
  if (!options.allOrganizations) return does(io, options, id, { name }, words);
  const { TOKENS } = await import('../../runtime/operations/acting.ts');
  return does(io, options, id, { name }, words, (input) => {
    const parsed = parsedInput(OPERATIONS[id], input, (path) => spelledAs(id, path));
    return withTokensOfAll(io, options, (tokens) =>
      TOKENS[id]({ operating: { clock: systemClock }, tokens }, parsed, { by: actorHere() }),
    );
  });
}

/** With `--all-organizations`: tokens that open every organization of a PostgreSQL database. Errors: AppError `usage` with a file, or for one organization; `config`, `store_failed`. */
async function withTokensOfAll<T>(
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
  const { openServer } = await import('../../runtime/compose/postgres.ts');
  const { TokensOfAll } = await import('../../store/postgres/tokens-of-all.ts');
  const server = await openServer(database, systemClock, systemLog({ level: 'silent', form: 'plain' }));
  try {
    return await work(new TokensOfAll(server.pool));
  } finally {
    await server.close();
  }
}

/** Valid tokens; with `--all` also expired and revoked ones. The token of the configuration, `admin`, is not listed. */
export async function tokensListCommand(io: Io, options: TokenOptions & { all?: boolean }): Promise<number> {
  const nowMs = systemClock.nowMs();
  const ofAll = options.allOrganizations ? await withTokensOfAll(io, options, (tokens) => tokens.all()) : undefined;
  const shown = (tokens: readonly TokenShown[]): Listing<TokenShown> => ({
    name: 'tokens',
    rows: tokens.filter(({ good }) => good || options.all),
    head: ['Token', 'Scope', 'Good until', 'Used', 'Made'],
    spare: ['Made'],
    cells: (token) => [
      whole(token.name),
      token.scope,
      lastGoodOf(token),
      token.usedAt === null ? 'never' : minuteOf(token.usedAt),
      [whole(minuteOf(token.createdAt)), `by ${actorText(token.createdBy)}`],
    ],
  });
  if (ofAll) return writeList(io, options, shown(ofAll.map((token) => views.token(token, nowMs))));
  const remote = await remoteOf(io, options);
  if (remote) return writeList(io, options, shown((await remote.listTokens({})).tokens));
  return list<TokenShown>(io, options, async (reader) =>
    shown((await reader.endpointTokens()).map((token) => views.token(token, nowMs))),
  );
}

function endOf({ expiresAt }: TokenShown): string {
  return expiresAt === null ? 'valid until it is revoked' : `valid until ${expiresAt}`;
}

function lastGoodOf({ expiresAt, revokedAt, revokedBy, good }: TokenShown): Cell {
  if (revokedAt !== null) return [whole(`revoked ${minuteOf(revokedAt)}`), `by ${actorText(revokedBy ?? '')}`];
  if (expiresAt === null) return 'it is revoked';
  return good ? minuteOf(expiresAt) : `ended ${minuteOf(expiresAt)}`;
}
