// store: tokens that open every organization, and whose the others are. In: a pool; it is asked as the role that logged in, since no session of an
// organization sees these tables. Out: the port of domain/endpoint-token.ts. There are hashes, never a token.
import {
  type Caller,
  type EndpointToken,
  IDLE_MS,
  KEPT_MAX,
  type KeptSignIn,
  LASTS_MS,
  type Scope,
  type SignInKind,
  type SignInStore,
  type TokenStore,
  USE_EVERY_MS,
} from '../../domain/endpoint-token.ts';
import { PERSON_SECRET } from '../person-links.ts';
import type { Row } from '../queries.ts';
import { TOKEN } from '../token-table.ts';
import { beginReading, beginWriting } from './organization.ts';
import type { Client, PostgresPool } from './pool.ts';

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
    const row = TOKEN.rowOf(token);
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
    return (await this.pool.query<Row>(sql)).map(TOKEN.nounOf);
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

/** What seals the links of an organization's persons, in a time that does not depend on whether it is there. Undefined: it made none. */
export async function personSecretOf(
  pool: Pick<PostgresPool, 'transaction'>,
  organization: string,
): Promise<string | undefined> {
  const sql = 'SELECT value FROM meta WHERE key = $1';
  return pool.transaction(beginReading(organization), async (client) => {
    return (await client.query<{ value: string }>(sql, [PERSON_SECRET])).rows[0]?.value;
  });
}

// Who is signed in, and links that sign in once, of one organization or of tokens of all.

interface SignInRow {
  hash: string;
  name: string;
  scope: Scope;
  token: string | null;
  unused_ms: number;
}

const ago = (ms: number) => `clock_timestamp() - interval '${ms} milliseconds'`;
const IS_OLD = `(made_at <= CASE kind WHEN 'link' THEN ${ago(LASTS_MS.link)} ELSE ${ago(LASTS_MS.session)} END OR used_at <= ${ago(IDLE_MS)})`;
const IS_OVER = `(${IS_OLD} OR trustward.is_token_over(token))`;

const FIND = `SELECT hash, name, scope, token, extract(epoch FROM clock_timestamp() - used_at)::float8 * 1000 AS unused_ms FROM sign_ins
  WHERE kind = $1 AND hash = ANY ($2::text[]) AND NOT ${IS_OVER}`;
const ADD = 'INSERT INTO sign_ins (kind, hash, name, scope, token) VALUES ($1, $2, $3, $4, $5)';
/** INVARIANT: one statement: of two that ask with one link, the second waits for the row, and finds none. */
const TAKE = `DELETE FROM sign_ins WHERE kind = 'link' AND hash = $1 AND NOT ${IS_OVER} RETURNING name, scope, token`;
// What another one removes now is left to it: nobody waits, and nobody waits for each other.
const FORGET = `DELETE FROM sign_ins WHERE hash IN (SELECT hash FROM sign_ins WHERE ${IS_OLD} OR token IN (
  SELECT token FROM (SELECT DISTINCT token FROM sign_ins OFFSET 0) AS held WHERE trustward.is_token_over(token)) FOR UPDATE SKIP LOCKED)`;
const MAKE_ROOM = `DELETE FROM sign_ins WHERE hash IN (SELECT hash FROM sign_ins WHERE kind = $1 AND token IS NOT DISTINCT FROM $2
  ORDER BY made_at DESC, hash OFFSET $3 FOR UPDATE SKIP LOCKED)`;
const USE = `UPDATE sign_ins SET used_at = clock_timestamp() WHERE kind = 'session' AND hash = $1 AND used_at <= ${ago(USE_EVERY_MS)}`;

export class PostgresSignIns implements SignInStore {
  /** `organization`: it need not be there; `*` for tokens of all organizations. */
  constructor(
    private readonly pool: Pick<PostgresPool, 'transaction'>,
    private readonly organization: string,
  ) {}

  async add(kind: SignInKind, hash: string, caller: Caller): Promise<void> {
    await this.writing((client) => added(client, kind, hash, caller));
  }

  async find(kind: SignInKind, hashes: readonly string[]): Promise<KeptSignIn[]> {
    const rows = await this.pool.transaction(beginReading(this.organization), async (client) => {
      return (await client.query<SignInRow>(FIND, [kind, hashes])).rows;
    });
    return rows.map((row) => ({ hash: row.hash, caller: callerOf(row), unusedMs: Number(row.unused_ms) }));
  }

  redeem(link: string, session: string): Promise<Caller | undefined> {
    return this.writing(async (client) => {
      const [row] = (await client.query<SignInRow>(TAKE, [link])).rows;
      if (!row) return undefined;
      const caller = callerOf(row);
      await added(client, 'session', session, caller);
      return caller;
    });
  }

  /** One that a power cut takes back was of the last seconds. */
  async noteUse(session: string): Promise<void> {
    await this.writing((client) => client.query(USE, [session]), 'SET LOCAL synchronous_commit = off');
  }

  async remove(session: string): Promise<void> {
    await this.writing((client) =>
      client.query("DELETE FROM sign_ins WHERE kind = 'session' AND hash = $1", [session]),
    );
  }

  private writing<T>(work: (client: Client) => Promise<T>, setting = ''): Promise<T> {
    return this.pool.transaction(`${beginWriting(this.organization)}; ${setting}`, work);
  }
}

async function added(client: Client, kind: SignInKind, hash: string, { name, scope, token = null }: CallerRow) {
  await client.query(ADD, [kind, hash, name, scope, token]);
  await client.query(FORGET);
  await client.query(MAKE_ROOM, [kind, token, KEPT_MAX[kind]]);
}

type CallerRow = Pick<Caller, 'name' | 'scope'> & { token?: string | null | undefined };

function callerOf({ name, scope, token }: Pick<SignInRow, 'name' | 'scope' | 'token'>): Caller {
  return { name, scope, token: token ?? undefined };
}
