// store: the table of the HTTP endpoint's tokens. It holds hashes, never a token. Rows to nouns and back.
// In: a connection, and for writing the store's unit of work. Out: the port of domain/endpoint-token.ts.

import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { type AuditNote, differencesText } from '../domain/audit-entry.ts';
import type { AnswerStore, EndpointToken, KeptAnswer, KeyedRequest, TokenStore } from '../domain/endpoint-token.ts';
import { AppError } from '../domain/errors.ts';
import type { Clock } from '../domain/ports.ts';
import type { Newest } from '../domain/store-ports.ts';
import type { ChangedTables } from './acting-tables.ts';
import { Columns } from './columns.ts';
import { newest } from './lists.ts';
import type { Unit } from './outbox.ts';
import { type Db, type Row, Where, type Work } from './queries.ts';
import { editedFault } from './store-fault.ts';

/** The newest first. */
export function* readTokens(db: Db): Work<EndpointToken[]> {
  return (yield* db.all('SELECT * FROM endpoint_tokens ORDER BY created_at DESC, id DESC')).map(TOKEN.nounOf);
}

/** A person made each of them: they are few, and no index has their order. */
export function* tokenPage(db: Db, { before, limit }: { before?: string; limit: number }): Work<Newest<EndpointToken>> {
  const { rows, total } = yield* newest(db, 'endpoint_tokens', new Where(), 'created_at', limit, before);
  return { rows: rows.map(TOKEN.nounOf), total };
}

export class SqlTokens implements TokenStore {
  constructor(
    private readonly db: Db,
    private readonly unit: Unit & { seal(): Work<unknown> },
    private readonly tables: Pick<ChangedTables, 'differenceOf'>,
  ) {}

  /** None when somebody changed the table beside the engine: nobody can say then which of them an admin gave. */
  async inUse(): Promise<EndpointToken[]> {
    const difference = await this.db.reading(this.tables.differenceOf(this.db, 'endpoint_tokens'));
    if (difference) this.db.noteFault(editedFault(differencesText([difference])));
    if (difference) return [];
    return (await this.db.reading(this.db.all('SELECT * FROM endpoint_tokens WHERE revoked_at IS NULL'))).map(
      TOKEN.nounOf,
    );
  }

  async save(token: EndpointToken, notes: AuditNote[]): Promise<void> {
    const { db, unit } = this;
    await unit.run(function* () {
      yield* db.upsert('endpoint_tokens', TOKEN.rowOf(token), 'id');
      unit.append(notes);
      yield* unit.seal();
    });
  }

  async noteUse(id: string, at: number): Promise<void> {
    await this.unit.run(() => this.db.run('UPDATE endpoint_tokens SET used_at = ? WHERE id = ?', at, id));
  }
}

export const TOKEN = new Columns<EndpointToken>({
  id: 'id',
  name: 'name',
  scope: 'scope',
  hash: 'hash',
  createdAt: 'created_at',
  createdBy: 'created_by',
  expiresAt: 'expires_at',
  revokedAt: 'revoked_at',
  revokedBy: 'revoked_by',
  usedAt: 'used_at',
});

// The table of requests with an Idempotency-Key.

const KEPT_MS = 86_400_000;

export class SqlAnswers implements AnswerStore {
  constructor(
    private readonly db: Db,
    private readonly unit: Pick<Unit, 'run'>,
    private readonly clock: Clock,
    /** A file has one process, which knows what it answers. */
    readonly hold: AnswerStore['hold'] = async () => async () => {},
  ) {}

  async find(id: string): Promise<KeyedRequest | undefined> {
    const oldest = this.clock.nowMs() - KEPT_MS;
    const row = await this.db.reading(
      this.db.get('SELECT * FROM kept_answers WHERE id = ? AND begun_at >= ?', id, oldest),
    );
    if (!row) return undefined;
    return {
      request: row.request as string,
      begunAt: row.begun_at as number,
      run: (row.run as string | null) ?? undefined,
      answer: row.status === null ? undefined : await answerOfRow(row),
    };
  }

  async begin(id: string, request: string): Promise<void> {
    const begunAt = this.clock.nowMs();
    const { db } = this;
    await this.unit.run(function* () {
      yield* db.run('DELETE FROM kept_answers WHERE begun_at < ?', begunAt - KEPT_MS);
      yield* db.insert('kept_answers', { id, request, begun_at: begunAt });
    });
  }

  async keep(id: string, { status, headers, body }: KeptAnswer): Promise<void> {
    const packed = await promisify(gzip)(body);
    const sql = 'UPDATE kept_answers SET status = ?, headers = ?, body = ? WHERE id = ?';
    await this.unit.run(() => this.db.run(sql, status, JSON.stringify(headers), packed, id));
  }

  async forget(id: string): Promise<void> {
    await this.unit.run(() => this.db.run('DELETE FROM kept_answers WHERE id = ? AND run IS NULL', id));
  }
}

/**
 * INVARIANT: called inside the transaction that begins the run: a repeat never begins a second one, except instead of one that was not made.
 * Errors: AppError `conflict`.
 */
export function* noteRunBegun(db: Db, id: string, run: string): Work<void> {
  const sql =
    'SELECT runs.seq, runs.status FROM kept_answers JOIN runs ON runs.id = kept_answers.run WHERE kept_answers.id = ?';
  const before = yield* db.get<{ seq: number; status: string }>(sql, id);
  if (before?.status === 'completed')
    throw new AppError('conflict', `the request with this key was done by run ${before.seq} already`);
  yield* db.run('UPDATE kept_answers SET run = ? WHERE id = ?', run, id);
}

async function answerOfRow({ status, headers, body }: Row): Promise<KeptAnswer> {
  return {
    status: status as number,
    headers: JSON.parse(headers as string) as KeptAnswer['headers'],
    body: await promisify(gunzip)(body as Uint8Array),
  };
}
