// store: how a transaction begins: it names its organization, and a unit of work locks its row. In: the name of an organization. Out: SQL.
// INVARIANT: the name is for this transaction alone: the connection serves another organization after it.
import pg from 'pg';
import { WORK_ROLE } from './migrate.ts';

/** Several reads of one state. */
export function beginReading(organization: string): string {
  return `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${named(organization)}`;
}

/** Within a transaction that began. The role owns nothing, and no wall between organizations is open to it. */
export function named(organization: string): string {
  return `SET LOCAL ROLE ${WORK_ROLE}; SELECT set_config('trustward.org', ${pg.escapeLiteral(organization)}, true)`;
}

/** INVARIANT: the first statement of a unit: whatever it reads after it, no other unit of the organization changes before its commit. */
export const LOCK = 'SELECT 1 FROM trustward.organizations WHERE org = trustward.organization() FOR UPDATE';

/** For an organization that this database sees for the first time. */
export const ADD = 'INSERT INTO trustward.organizations DEFAULT VALUES ON CONFLICT DO NOTHING';
