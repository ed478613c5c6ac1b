// commands: `tokens add|list|revoke`: who may call the HTTP endpoint, and how far. Standard output of `add` is the new
// token alone, for a script or a file; notes for people go to standard error. It is shown this once.
import { addToken, revokeToken } from '../operator/endpoint-tokens.ts';
import { type Cell, views, whole } from '../report/index.ts';
import { systemClock } from '../system/clock.ts';
import { systemIds } from '../system/ids.ts';
import { newToken } from '../system/secrets.ts';
import type { CommonOptions, Io } from './io.ts';
import { COMMAND_LINE, perform } from './operator-command.ts';
import { list, minuteOf } from './operator-lists.ts';

type TokenShown = ReturnType<typeof views.token>;

export interface TokenAddOptions extends CommonOptions {
  scope: string;
  expires?: string;
}

export async function tokensAddCommand(io: Io, name: string, options: TokenAddOptions): Promise<number> {
  const { scope, expires } = options;
  const request = { name, scope, ...(expires !== undefined && { expires }) };
  return perform<TokenShown & { token: string }>(io, options, {
    path: '/api/tokens',
    body: request,
    withStore: async ({ tokens, clock }) => {
      const made = await addToken({ tokens, clock, ids: systemIds(clock), secret: newToken }, request, COMMAND_LINE);
      return { ...views.token(made.token, clock.nowMs()), token: made.text };
    },
    text: ({ token }) => [token],
    aside: (made) =>
      `token \`${made.name}\` of scope ${made.scope}, ${endOf(made)}; keep it now, it is not shown again`,
  });
}

export async function tokensRevokeCommand(io: Io, name: string, options: CommonOptions): Promise<number> {
  return perform<TokenShown>(io, options, {
    path: `/api/tokens/${encodeURIComponent(name)}/revoke`,
    body: {},
    withStore: async ({ tokens, clock }) =>
      views.token(await revokeToken({ tokens, clock }, name, COMMAND_LINE), clock.nowMs()),
    text: (revoked) => [`token \`${revoked.name}\` is revoked: it is refused from the next request on`],
  });
}

/** Valid tokens; with `--all` also expired and revoked ones. The token of the configuration, `admin`, is not listed. */
export async function tokensListCommand(io: Io, options: CommonOptions & { all?: boolean }): Promise<number> {
  const nowMs = systemClock.nowMs();
  return list<TokenShown>(io, options, async (reader) => ({
    name: 'tokens',
    rows: (await reader.endpointTokens())
      .map((token) => views.token(token, nowMs))
      .filter(({ good }) => good || options.all),
    head: ['Token', 'Scope', 'Made', 'Good until', 'Used'],
    cells: (token) => [
      whole(token.name),
      token.scope,
      [minuteOf(token.createdAt), `by ${token.createdBy}`],
      lastGoodOf(token),
      token.usedAt === null ? 'never' : minuteOf(token.usedAt),
    ],
  }));
}

function endOf({ expiresAt }: TokenShown): string {
  return expiresAt === null ? 'valid until it is revoked' : `valid until ${expiresAt}`;
}

function lastGoodOf({ expiresAt, revokedAt, revokedBy, good }: TokenShown): Cell {
  if (revokedAt !== null) return [`revoked ${minuteOf(revokedAt)}`, `by ${revokedBy}`];
  if (expiresAt === null) return 'it is revoked';
  return good ? minuteOf(expiresAt) : `ended ${minuteOf(expiresAt)}`;
}
