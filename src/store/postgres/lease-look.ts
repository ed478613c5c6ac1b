// store: who acts for an organization now, for people. In: a pool. Out: the row of its lease, by the clock of the database. It takes nothing.
import { LOOK } from './lease-statements.ts';
import { beginReading } from './organization.ts';
import type { PostgresPool } from './pool.ts';

export interface LeaseLook {
  holder: string;
  /** It ended everything that it sent: nobody acts now. */
  isReleased: boolean;
  /** Since its last sign of life. */
  silentMs: number;
  leaseMs: number;
}

interface Row {
  holder: string;
  is_clean: boolean;
  silent_ms: number;
  lease_ms: number;
}

/** Undefined: nobody has ever acted for it. Errors: AppError `store_failed`. */
export async function lookAtLease(pool: PostgresPool, organization: string): Promise<LeaseLook | undefined> {
  const { rows } = await pool.transaction(beginReading(organization), (client) =>
    client.query<Row>(LOOK, [organization]),
  );
  const [row] = rows;
  return (
    row && {
      holder: row.holder,
      isReleased: row.is_clean,
      silentMs: Number(row.silent_ms),
      leaseMs: Number(row.lease_ms),
    }
  );
}
