// store: the connection of a lease, when it ends or does not answer. In: a connection. Out: one line for people, and no wait without an end.
import type { Client } from 'pg';
import { AppError, lineOf } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { postgresError } from './postgres-fault.ts';

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

/** What an error of it means, for whoever works with it. */
export function errorOn(client: Client, error: unknown): unknown {
  return postgresError(error, `${client.host}:${client.port}/${client.database}`);
}

/** The end of acting for an organization, with its reason. */
export function leaseFault(organization: string, client: Client, error: unknown): AppError {
  const reason = errorOn(client, error);
  const text = `organization \`${organization}\` is not acted on here any more: ${lineOf(reason)}`;
  if (!(reason instanceof AppError)) return new AppError('store_failed', text, { cause: error });
  return new AppError(reason.code, text, { cause: reason, detail: reason.detail });
}
