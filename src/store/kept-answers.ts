// store: the table of requests with an Idempotency-Key. Rows to nouns and back, a body compressed. In: a connection and the store's unit of
// work. Out: the port of domain/kept-answer.ts. Nothing that acts rests on it, so a change needs no audit entry.
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { AppError } from '../domain/errors.ts';
import type { AnswerStore, KeptAnswer, KeyedRequest } from '../domain/kept-answer.ts';
import type { Clock } from '../domain/ports.ts';
import type { Unit } from './outbox.ts';
import type { Db, Row, Work } from './queries.ts';

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
