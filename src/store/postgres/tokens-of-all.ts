// store: tokens that open every organization, and whose the others are. In: a pool; it is asked as the role that logged in, since no session of an
// organization sees these tables. Out: the port of domain/endpoint-token.ts. There are hashes, never a token.
import type { EndpointToken, TokenStore } from '../../domain/endpoint-token.ts';
import type { Row } from '../queries.ts';
import { rowOfToken, tokenOfRow } from '../token-table.ts';
import type { PostgresPool } from './pool.ts';

/** No organization has this name. */
export const ALL = '*';

export class TokensOfAll implements TokenStore {
  constructor(private readonly pool: Pick<PostgresPool, 'query' | 'notices'>) {}

  inUse(): Promise<EndpointToken[]> {
    return this.read('WHERE revoked_at IS NULL');
  }

  /** The newest first. */
  all(): Promise<EndpointToken[]> {
    return this.read('');
  }

  /** The audits are those of organizations: who made or revoked it is in its row. */
  async save(token: EndpointToken): Promise<void> {
    const row = rowOfToken(token);
    const columns = Object.keys(row);
    const places = columns.map((_, index) => `$${index + 1}`).join(', ');
    const updates = columns.map((column) => `${column} = excluded.${column}`).join(', ');
    const sql = `INSERT INTO trustward.tokens_of_all (${columns.join(', ')}) VALUES (${places}) ON CONFLICT (id) DO UPDATE SET ${updates}`;
    await this.pool.query(sql, Object.values(row));
    this.pool.notices.tell(ALL, [{ kind: 'token' }]);
    await this.pool.notices.flush();
  }

  async noteUse(id: string, at: number): Promise<void> {
    await this.pool.query('UPDATE trustward.tokens_of_all SET used_at = $2 WHERE id = $1', [id, at]);
  }

  private async read(where: string): Promise<EndpointToken[]> {
    const sql = `SELECT ${COLUMNS} FROM trustward.tokens_of_all ${where} ORDER BY created_at DESC, id DESC`;
    return (await this.pool.query<Row>(sql)).map(tokenOfRow);
  }
}

/** A driver of its own gives integers as texts; these are times, which a number holds. */
const COLUMNS = `id, name, scope, hash, created_at::float8, created_by, expires_at::float8, revoked_at::float8, revoked_by, used_at::float8`;

/** Undefined for an unknown token, a revoked one, and one that several organizations have. */
export async function ownerOf(pool: Pick<PostgresPool, 'query'>, hash: string): Promise<string | undefined> {
  const sql = 'SELECT organization FROM trustward.token_owners WHERE hash = $1 LIMIT 2';
  const [owner, ...others] = await pool.query<{ organization: string }>(sql, [hash]);
  return others.length === 0 ? owner?.organization : undefined;
}
