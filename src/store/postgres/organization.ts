// store: how a transaction begins: it names its organization, and a unit of work locks its row. In: the name of an organization. Out: SQL.
// INVARIANT: the name is for this transaction alone: the connection serves another organization after it.
import pg from 'pg';
import { WORK_ROLE } from './migrate.ts';

/** Several reads of one state. */
export function beginReading(organization: string): string {
  return `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${named(organization)}`;
}

export function beginWriting(organization: string): string {
  return `BEGIN; ${named(organization)}`;
}

/** Within a transaction that began. The role owns nothing, and no wall between organizations is open to it. */
export function named(organization: string): string {
  return `SET LOCAL ROLE ${WORK_ROLE}; SELECT set_config('trustward.org', ${pg.escapeLiteral(organization)}, true)`;
}

/** INVARIANT: the first statement of a unit: whatever it reads after it, no other unit of the organization changes before its commit. */
export const LOCK = 'SELECT 1 FROM trustward.organizations WHERE org = trustward.organization() FOR UPDATE';

/** Two numbers name the lock of a unit that goes first: ours, and the organization's. */
const URGENT = 0x7472_7573;

/** Held by a unit that nothing keeps waiting, from before it waits for its turn until its commit. */
export const GO_FIRST = `SELECT pg_advisory_xact_lock(${URGENT}, hashtext(trustward.organization()))`;
/** Whether one waits, in whichever process. */
export const IS_URGENT = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = ${URGENT} AND objsubid = 2
  AND objid = hashtext(trustward.organization())::oid AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) LIMIT 1`;

/** For an organization that this database sees for the first time. */
export const ADD = 'INSERT INTO trustward.organizations DEFAULT VALUES ON CONFLICT DO NOTHING';
