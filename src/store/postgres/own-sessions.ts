// store: whether each connection has a session of its own, as locks and leases need it. In: two connections that are open. Out: nothing, or one
// line: a pooler of transactions gives both the same session when they are used in turn, and a server never does.
import { AppError } from '../../domain/errors.ts';

export interface Asked {
  query(sql: string): Promise<{ rows: { pid?: number }[] }>;
}

const WHICH = 'SELECT pg_backend_pid() AS pid';
/** Another client of the pooler may come between. */
const TURNS = 3;

/** Errors: AppError `config`; those of the connections. */
export async function demandOwnSessions(one: Asked, other: Asked, place: string): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) {
    const pids = [await one.query(WHICH), await other.query(WHICH)].map(({ rows }) => rows[0]?.pid);
    if (pids[0] === pids[1])
      throw new AppError(
        'config',
        `database \`${place}\` is reached through a pooler of transactions, which cannot hold a lock: let TRUSTWARD_DB name the server itself, or a pooler of sessions`,
      );
  }
}
