// store: work that one process at a time does for an organization, beside its units of work. In: a pool, an organization. Out: what the work
// finds. The lock is that of a transaction: it ends with the connection.
import { createHash } from 'node:crypto';
import type { PostgresPool } from './pool.ts';

export function alone<T>(pool: PostgresPool, organization: string, work: () => Promise<T>): Promise<T> {
  const key = createHash('sha256').update(`beside ${organization}`).digest().readBigInt64BE();
  return pool.transaction(`BEGIN; SELECT pg_advisory_xact_lock(${key})`, work);
}
