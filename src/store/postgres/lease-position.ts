// store: where the database is now, as a plain role may ask it. In: a connection, outside of a transaction. Out: system, timeline and the
// end of the log that is on the disk.
import type { ClientBase } from 'pg';
import type { Position } from '../../domain/lease-position.ts';

/** INVARIANT: the name of the log's file has the timeline that is written now; the control file has it only after the next checkpoint. */
const POSITION = `
SELECT system_identifier::text AS system, lsn::text, ('x' || left(pg_walfile_name(lsn), 8))::bit(32)::bigint::text AS timeline
FROM pg_control_system(), pg_current_wal_flush_lsn() AS lsn`;

/** Errors: those of the connection. */
export async function readPosition(client: Pick<ClientBase, 'query'>): Promise<Omit<Position, 'fence' | 'commits'>> {
  const { rows } = await client.query<{ system: string; lsn: string; timeline: string }>(POSITION);
  const [row] = rows as [(typeof rows)[0]];
  return { system: row.system, lsn: row.lsn, timeline: Number(row.timeline) };
}
