// store: work that one process at a time does for an organization, beside its units of work. In: a pool, an organization. Out: what the work
// finds. The lock is that of a transaction: it ends with the connection.
import { advisoryKey } from './advisory-key.ts';
import type { PostgresPool } from './pool.ts';

export function alone<T>(pool: PostgresPool, organization: string, work: () => Promise<T>): Promise<T> {
  return pool.transaction(`BEGIN; SELECT pg_advisory_xact_lock(${advisoryKey(`beside ${organization}`)})`, work);
}
