// cli: `tokens add|list|revoke`: who may call the HTTP endpoint, and how far. Standard output of `add` is the new
// token alone, for a script or a file; notes for people go to standard error. It is shown this once.
import type { EndpointToken, TokenStore } from '../../domain/endpoint-token.ts';
import type { Clock } from '../../domain/ports.ts';
import { addToken, revokeToken } from '../../engine/operate/endpoint-tokens.ts';
import { systemClock } from '../../runtime/system/clock.ts';
import { newToken, systemIds } from '../../runtime/system/ids.ts';
import { whole } from '../report/fact-text.ts';
import { views } from '../report/index.ts';
import type { Cell } from '../report/terminal-table.ts';
import { actorHere } from './daemon-client.ts';
import type { CommonOptions, Io } from './io.ts';
import { type OperatorCommand, perform, written } from './operator.ts';
import { type Listing, list, minuteOf, writeList } from './operator-lists.ts';

type TokenShown = ReturnType<typeof views.token>;

export interface TokenOptions extends CommonOptions {
  allOrganizations?: boolean;
}

export interface TokenAddOptions extends TokenOptions {
  scope: string;
  expires?: string;
}

export async function tokensAddCommand(io: Io, name: string, options: TokenAddOptions): Promise<number> {
  const { scope, expires } = options;
  const request = { name, scope, ...(expires !== undefined && { expires }) };
  const add = async (tokens: TokenStore, clock: Clock) => {
    const made = await addToken({ tokens, clock, ids: systemIds(clock), secret: newToken }, request, actorHere());
    return { ...views.token(made.token, clock.nowMs()), token: made.text };
  };
  return performed<TokenShown & { token: string }>(io, options, add, {
    path: '/api/tokens',
    body: request,
    text: ({ token }) => [token],
    aside: (made) =>
      `token \`${made.name}\` of scope ${made.scope}, ${endOf(made)}; keep it now, it is not shown again`,
  });
}

export async function tokensRevokeCommand(io: Io, name: string, options: TokenOptions): Promise<number> {
  const revoke = async (tokens: TokenStore, clock: Clock) =>
    views.token(await revokeToken({ tokens, clock }, name, actorHere()), clock.nowMs());
  return performed<TokenShown>(io, options, revoke, {
    path: `/api/tokens/${encodeURIComponent(name)}/revoke`,
    body: {},
    text: (revoked) => [`token \`${revoked.name}\` is revoked: it is refused from the next request on`],
  });
}

/** On the tokens of an organization, or of all. */
async function performed<T>(
  io: Io,
  options: TokenOptions,
  work: (tokens: TokenStore, clock: Clock) => Promise<T>,
  act: Omit<OperatorCommand<T>, 'withStore'>,
): Promise<number> {
  if (!options.allOrganizations)
    return perform<T>(io, options, { ...act, withStore: ({ tokens, clock }) => work(tokens, clock) });
  const { withTokensOfAll } = await import('./tokens-of-all.ts');
  return written(io, options, act, () => withTokensOfAll(io, options, (tokens) => work(tokens, systemClock)));
}

/** Valid tokens; with `--all` also expired and revoked ones. The token of the configuration, `admin`, is not listed. */
export async function tokensListCommand(io: Io, options: TokenOptions & { all?: boolean }): Promise<number> {
  const nowMs = systemClock.nowMs();
  const ofAll = options.allOrganizations
    ? await (await import('./tokens-of-all.ts')).withTokensOfAll(io, options, (tokens) => tokens.all())
    : undefined;
  const shown = (tokens: readonly EndpointToken[]): Listing<TokenShown> => ({
    name: 'tokens',
    rows: tokens.map((token) => views.token(token, nowMs)).filter(({ good }) => good || options.all),
    head: ['Token', 'Scope', 'Made', 'Good until', 'Used'],
    cells: (token) => [
      whole(token.name),
      token.scope,
      [minuteOf(token.createdAt), `by ${token.createdBy}`],
      lastGoodOf(token),
      token.usedAt === null ? 'never' : minuteOf(token.usedAt),
    ],
  });
  if (ofAll) return writeList(io, options, shown(ofAll));
  return list<TokenShown>(io, options, async (reader) => shown(await reader.endpointTokens()));
}

function endOf({ expiresAt }: TokenShown): string {
  return expiresAt === null ? 'valid until it is revoked' : `valid until ${expiresAt}`;
}

function lastGoodOf({ expiresAt, revokedAt, revokedBy, good }: TokenShown): Cell {
  if (revokedAt !== null) return [`revoked ${minuteOf(revokedAt)}`, `by ${revokedBy}`];
  if (expiresAt === null) return 'it is revoked';
  return good ? minuteOf(expiresAt) : `ended ${minuteOf(expiresAt)}`;
}
