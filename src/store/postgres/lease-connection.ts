// store: the connection of a lease, when it ends or does not answer. In: a connection. Out: one line for people, and no wait without an end.
import type { Client } from 'pg';
import { AppError, lineOf } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';

/** Ends it without a word: the server frees its locks. */
export function destroy(client: Client): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}

/** A connection that has not answered after `ms` is ended, and the question with it. */
export async function withinMs<T>(clock: Clock, ms: number, client: Client, question: Promise<T>): Promise<T> {
  const done = new AbortController();
  const late = clock.sleep(ms, done.signal).then(
    () => destroy(client),
    () => undefined,
  );
  try {
    return await question;
  } finally {
    done.abort();
    await late;
  }
}

export function connectionFault(organization: string, error: unknown): AppError {
  const text = `the connection to PostgreSQL by which organization \`${organization}\` is acted on broke: ${lineOf(error)}`;
  return new AppError('store_failed', text, { cause: error });
}
