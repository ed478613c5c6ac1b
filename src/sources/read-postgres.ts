// sources: a query → rows. It runs in a transaction that can change nothing, with a time limit, and is fetched in parts.
import pg from 'pg';
import { AppError } from '../domain/errors.ts';
import type { Facts } from '../domain/facts.ts';
import type { GivenOrigin } from '../domain/given-facts.ts';
import { parseExact } from '../platform/contract/exact-json.ts';
import { type Read, type RowSink, unusable } from './rows.ts';

const ROWS_OF_PART = 2_000;
const [BOOLEAN, JSON_TEXT, JSON_BINARY, TEXTS, VARCHARS] = [16, 114, 3802, 1009, 1015];

/** As text, which the schema types: a number keeps its digits, a time its zone. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number) => {
    if (oid === BOOLEAN) return (text: string) => text === 't';
    if (oid === JSON_TEXT || oid === JSON_BINARY) return (text: string) => parseExact(text);
    return oid === TEXTS || oid === VARCHARS ? pg.types.getTypeParser(TEXTS) : (text: string) => text;
  },
};

/** `url`: of the database, with its password. */
export async function readPostgres(
  { query, timeoutMs }: GivenOrigin & { by: 'postgres' },
  { url, nowMs, signal }: { url: string; nowMs: number; signal: AbortSignal },
  sink: RowSink,
): Promise<Read> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const client = clientAt(url, timeoutMs);
  const cut = () => destroy(client);
  limit.addEventListener('abort', cut, { once: true });
  // One statement alone can be in such a message: a query that ends the transaction first is refused by the server.
  const ask = (text: string) => client.query({ text, queryMode: 'extended' } as pg.QueryConfig);
  try {
    await client.connect();
    await ask('BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    await ask(`DECLARE given NO SCROLL CURSOR FOR ${query.replace(/;\s*$/, '')}`);
    for (let number = 1; ; ) {
      const { rows, fields } = await ask(`FETCH ${ROWS_OF_PART} FROM given`);
      if (number === 1) sink.columns(fields.map(({ name }) => name));
      for (const row of rows) sink.row(row as Facts, number++);
      if (rows.length < ROWS_OF_PART) break;
    }
    return { atMs: nowMs, mark: undefined };
  } catch (error) {
    if (limit.aborted && !signal.aborted) throw unusable(`no answer within ${timeoutMs / 1_000} s`);
    // INVARIANT: what has a code is the server's or the system's, and has no password.
    if (error instanceof AppError) throw error;
    const { code, message } = error as { code?: string; message?: string };
    throw code === undefined
      ? unusable('the database cannot be reached by its address')
      : unusable(`the database: ${message} (${code})`);
  } finally {
    limit.removeEventListener('abort', cut);
    destroy(client);
  }
}

/** Nothing is committed, and a server that hangs answers no goodbye. */
function destroy(client: pg.Client): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}

function clientAt(url: string, timeoutMs: number): pg.Client {
  const settings = {
    connectionTimeoutMillis: timeoutMs,
    statement_timeout: timeoutMs,
    application_name: 'trustward sources',
    types,
  };
  try {
    const client = new pg.Client({ connectionString: url, ...settings });
    client.on('error', () => {}); // a broken connection fails the query under way
    return client;
  } catch {
    throw unusable('the address of the database is none');
  }
}
