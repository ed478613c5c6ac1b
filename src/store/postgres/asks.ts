// store: what people asked for and a worker does, until it is answered: one row each, of one organization. In: an operation with what was said, as
// JSON. Out: the same at a worker, and its answer, or why there is none, at who asked. Whoever reads it parses it. Nothing that acts rests on it: the
// work itself is committed and audited elsewhere.
import { deserialize, serialize } from 'node:v8';
import { AppError } from '../../domain/errors.ts';
import { beginWriting } from './organization.ts';
import type { Client, PostgresPool } from './pool.ts';

/** An answer is asked for within minutes. */
const KEPT = '1 day';

/** `positional`: as the version before wrote it, a serialization of its Node version. It is read, and answered in the same form, for one version. */
export interface Kept {
  form: 'named' | 'positional';
  value: unknown;
}

export interface Ask {
  operation: string;
  said: Kept;
}

const BRACE = 0x7b;

export function bytesOf({ form, value }: Kept): Buffer {
  return form === 'positional' ? serialize(value) : Buffer.from(JSON.stringify(value));
}

/** JSON begins with a brace, and a serialization never does. */
export function keptOf(bytes: Buffer): Kept {
  return bytes[0] === BRACE
    ? { form: 'named', value: JSON.parse(bytes.toString()) }
    : { form: 'positional', value: deserialize(bytes) };
}

const NOTHING = bytesOf({ form: 'named', value: {} });

export class Asks {
  constructor(
    private readonly pool: PostgresPool,
    private readonly organization: string,
  ) {}

  async add(id: string, { operation, said }: Ask): Promise<void> {
    const sql = 'INSERT INTO asks (id, operation, said) VALUES ($1, $2, $3)';
    await this.within((client) => client.query(sql, [id, operation, bytesOf(said)]));
  }

  /** Errors: AppError `not_found`. */
  async find(id: string): Promise<Ask> {
    const row = await this.row(id);
    return { operation: row.operation, said: keptOf(row.said) };
  }

  async answer(id: string, answer: Kept): Promise<void> {
    await this.within((client) => client.query('UPDATE asks SET answer = $2 WHERE id = $1', [id, bytesOf(answer)]));
  }

  /** Errors: AppError `not_found`, also for one that has none yet. */
  async answerOf(id: string): Promise<Kept> {
    const { answer } = await this.row(id);
    if (answer === null) throw gone(id);
    return keptOf(answer);
  }

  /** Why the job `id` could not be done. The text may name subjects, so it is here and not with the job. */
  async noteFault(id: string, fault: object): Promise<void> {
    const sql = `INSERT INTO asks (id, operation, said, answer) VALUES ($1, 'fault', $2, $3)
      ON CONFLICT (org, id) DO UPDATE SET answer = excluded.answer`;
    await this.within((client) => client.query(sql, [id, NOTHING, bytesOf({ form: 'named', value: fault })]));
  }

  async faultOf(id: string): Promise<unknown> {
    const sql = "SELECT answer FROM asks WHERE id = $1 AND operation = 'fault'";
    const { rows } = await this.within((client) => client.query<{ answer: Buffer }>(sql, [id]));
    return rows[0] && keptOf(rows[0].answer).value;
  }

  async prune(): Promise<void> {
    await this.within((client) =>
      client.query(`DELETE FROM asks WHERE asked_at < clock_timestamp() - interval '${KEPT}'`),
    );
  }

  private async row(id: string): Promise<{ operation: string; said: Buffer; answer: Buffer | null }> {
    const { rows } = await this.within((client) =>
      client.query('SELECT operation, said, answer FROM asks WHERE id = $1', [id]),
    );
    const [row] = rows;
    if (!row) throw gone(id);
    return row;
  }

  private within<T>(work: (client: Client) => Promise<T>): Promise<T> {
    return this.pool.transaction(beginWriting(this.organization), work);
  }
}

function gone(id: string): AppError {
  return new AppError('not_found', `what was asked for as \`${id}\` is not kept any longer`);
}
