// store: tokens that open every organization, and whose the others are. In: a pool; it is asked as the role that logged in, since no session of an
// organization sees these tables. Out: the port of domain/endpoint-token.ts. There are hashes, never a token.
import {
  type Caller,
  type EndedSession,
  type EndpointToken,
  IDLE_MS,
  KEPT_MAX,
  type KeptSignIn,
  LASTS_MS,
  type PersonSession,
  type Scope,
  type SignInKind,
  type SignInStore,
  type TokenStore,
  USE_EVERY_MS,
} from '../../domain/endpoint-token.ts';
import type { KeptKey } from '../../domain/signal-stream.ts';
import { PERSON_SECRET } from '../person-links.ts';
import type { Row } from '../queries.ts';
import { keptKeysIn, SIGNAL_KEYS } from '../signal-streams.ts';
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
  key = PERSON_SECRET,
): Promise<string | undefined> {
  const sql = 'SELECT value FROM meta WHERE key = $1';
  return pool.transaction(beginReading(organization), async (client) => {
    return (await client.query<{ value: string }>(sql, [key])).rows[0]?.value;
  });
}

/** What signs its signals; also not known to be there otherwise. */
export async function signalKeysOf(pool: Pick<PostgresPool, 'transaction'>, organization: string): Promise<KeptKey[]> {
  return keptKeysIn(await personSecretOf(pool, organization, SIGNAL_KEYS));
}

// Who is signed in, and links that sign in once, of one organization or of tokens of all.

interface SignInRow {
  hash: string;
  name: string;
  scope: Scope;
  token: string | null;
  person: PersonSession | null;
  unused_ms: number;
}

const ago = (ms: number) => `clock_timestamp() - interval '${ms} milliseconds'`;
/** A person's is of a kind of its own in the table: the version before does not know what it may open. */
const OF_SESSIONS = ['session', 'person'];
const kindsOf = (kind: SignInKind) => (kind === 'session' ? OF_SESSIONS : [kind]);
const IS_OLD = `(made_at <= CASE WHEN kind IN ('session', 'person') THEN ${ago(LASTS_MS.session)} ELSE ${ago(LASTS_MS.link)} END OR used_at <= ${ago(IDLE_MS)})`;
const IS_OVER = `(${IS_OLD} OR trustward.is_token_over(token))`;

const FIND = `SELECT hash, name, scope, token, person, extract(epoch FROM clock_timestamp() - used_at)::float8 * 1000 AS unused_ms FROM sign_ins
  WHERE kind = ANY ($1::text[]) AND hash = ANY ($2::text[]) AND NOT ${IS_OVER}`;
const ADD = `INSERT INTO sign_ins (kind, hash, name, scope, token, person) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`;
const REMOVE = `DELETE FROM sign_ins WHERE kind = ANY ($1::text[]) AND hash = $2 RETURNING NOT ${IS_OLD} AS was_good`;
const KEEP = `UPDATE sign_ins SET person = person || $2::jsonb WHERE kind = 'person' AND hash = $1`;
const TURN = `${KEEP} AND (person->>'askingUntil')::float8 <= $3`;
const SEE = `UPDATE sign_ins SET person = jsonb_set(person, '{seen}', (person->'seen') || to_jsonb($2::text))
  WHERE kind = 'person' AND hash = $1 AND NOT (person->'seen') ? $2`;
/** As `isEnded` of the domain. */
const END = `DELETE FROM sign_ins WHERE kind = 'person' AND person->>'issuer' = $1 AND ($2::text IS NULL OR person->>'sub' = $2)
  AND ($3::text IS NULL OR person->>'sid' = $3 OR (person->>'sid' IS NULL AND $2::text IS NOT NULL))`;
/** INVARIANT: one statement: of two that ask with one link, the second waits for the row, and finds none. */
const TAKE = `DELETE FROM sign_ins WHERE kind = 'link' AND hash = $1 AND NOT ${IS_OVER} RETURNING name, scope, token`;
// What another one removes now is left to it: nobody waits, and nobody waits for each other.
const FORGET = `DELETE FROM sign_ins WHERE hash IN (SELECT hash FROM sign_ins WHERE ${IS_OLD} OR token IN (
  SELECT token FROM (SELECT DISTINCT token FROM sign_ins OFFSET 0) AS held WHERE trustward.is_token_over(token)) FOR UPDATE SKIP LOCKED)`;
const MAKE_ROOM = `DELETE FROM sign_ins WHERE hash IN (SELECT hash FROM sign_ins WHERE kind = $1 AND token IS NOT DISTINCT FROM $2
  ORDER BY made_at DESC, hash OFFSET $3 FOR UPDATE SKIP LOCKED)`;
const USE = `UPDATE sign_ins SET used_at = clock_timestamp() WHERE kind IN ('session', 'person') AND hash = $1 AND used_at <= ${ago(USE_EVERY_MS)}`;

export class PostgresSignIns implements SignInStore {
  /** `organization`: it need not be there; `*` for tokens of all organizations. */
  constructor(
    private readonly pool: Pick<PostgresPool, 'transaction'>,
    private readonly organization: string,
  ) {}

  add(kind: SignInKind, hash: string, caller: Caller, person?: PersonSession): Promise<boolean> {
    return this.writing((client) => added(client, kind, hash, caller, person));
  }

  async find(kind: SignInKind, hashes: readonly string[]): Promise<KeptSignIn[]> {
    const rows = await this.pool.transaction(beginReading(this.organization), async (client) => {
      return (await client.query<SignInRow>(FIND, [kindsOf(kind), hashes])).rows;
    });
    return rows.map((row) => ({
      ...{ hash: row.hash, caller: callerOf(row), unusedMs: Number(row.unused_ms) },
      person: row.person ?? undefined,
    }));
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

  async remove(kind: SignInKind, hash: string): Promise<boolean> {
    const sent = await this.writing((client) => client.query<{ was_good: boolean }>(REMOVE, [kindsOf(kind), hash]));
    return sent.rows[0]?.was_good ?? false;
  }

  async keep(session: string, changes: Partial<PersonSession>): Promise<void> {
    await this.writing((client) => client.query(KEEP, [session, JSON.stringify(changes)]));
  }

  async see(session: string, organization: string): Promise<boolean> {
    return (await this.writing((client) => client.query(SEE, [session, organization]))).rowCount === 1;
  }

  async takeTurn(session: string, nowMs: number, untilMs: number): Promise<boolean> {
    const turn = JSON.stringify({ askingUntil: untilMs });
    return (await this.writing((client) => client.query(TURN, [session, turn, nowMs]))).rowCount === 1;
  }

  async endOfPerson({ issuer, sub, sid }: EndedSession): Promise<number> {
    return (await this.writing((client) => client.query(END, [issuer, sub ?? null, sid ?? null]))).rowCount ?? 0;
  }

  private writing<T>(work: (client: Client) => Promise<T>, setting = ''): Promise<T> {
    return this.pool.transaction(`${beginWriting(this.organization)}; ${setting}`, work);
  }
}

async function added(
  client: Client,
  kind: SignInKind,
  hash: string,
  { name, scope, token = null }: CallerRow,
  person?: PersonSession,
): Promise<boolean> {
  const written = person ? 'person' : kind;
  const row = [written, hash, name, scope, token, person ? JSON.stringify(person) : null];
  const isNew = (await client.query(ADD, row)).rowCount === 1;
  await client.query(FORGET);
  await client.query(MAKE_ROOM, [written, token, KEPT_MAX[kind]]);
  return isNew;
}

type CallerRow = Pick<Caller, 'name' | 'scope'> & { token?: string | null | undefined };

function callerOf({ name, scope, token }: Pick<SignInRow, 'name' | 'scope' | 'token'>): Caller {
  return { name, scope, token: token ?? undefined };
}
