// store: how a transaction begins: it names its organization, and a unit of work locks its row. In: the name of an organization. Out: SQL.
// INVARIANT: the name is for this transaction alone: the connection serves another organization after it.
import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { AppError } from '../../domain/errors.ts';

// Brings the schema `trustward` of a PostgreSQL database to this version's tables.

const FOLDER = new URL('./migrations/', import.meta.url);
/** Every session works as this role: it owns nothing, and sees the rows of one organization. */
export const WORK_ROLE = 'trustward_work';
/** `trustward` as a number, for the lock that migrating takes. */
const MIGRATE_LOCK = 0x7472_7573;
const NEWER_BY = 1;

interface PostgresMigration {
  version: number;
  name: string;
  sql: string;
}

/** The shipped migrations in order. Several may bring the same version. */
export function readPostgresMigrations(folder: URL = FOLDER): PostgresMigration[] {
  return readdirSync(folder)
    .filter((name) => /^\d{4}-.+\.sql$/.test(name))
    .sort()
    .map((name) => ({ version: Number(name.slice(0, 4)), name, sql: readFileSync(new URL(name, folder), 'utf8') }));
}

interface Connection {
  query(sql: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
}

/**
 * Safe to repeat, and safe when two processes start at once. Returns the version reached. `place`: names the database in texts.
 * Errors: AppError `store_failed` for a schema of a later version, or a role that may not make tables.
 */
export async function migratePostgres(
  client: Connection,
  place: string,
  migrations: readonly PostgresMigration[] = readPostgresMigrations(),
): Promise<number> {
  const latest = migrations.at(-1)?.version ?? 0;
  const found = await postgresVersion(client);
  if (found >= latest) return accepted(found, latest, place);
  try {
    await client.query('BEGIN');
    await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATE_LOCK]);
    const from = await postgresVersion(client);
    if (from === 0) await prepare(client);
    for (const { sql } of migrations.filter(({ version }) => version > from)) await client.query(sql);
    if (from < latest) await client.query('UPDATE trustward.schema_version SET version = $1', [latest]);
    await client.query('COMMIT');
    return accepted(Math.max(from, latest), latest, place);
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw mayNot(error, place) ?? error;
  }
}

/**
 * INVARIANT: rows of the catalog, and not `to_regclass`: that answers from a memory of the session, which does not know what another process
 * committed while this one waited for the lock.
 */
const IS_THERE = `SELECT EXISTS (SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE nspname = 'trustward' AND relname = 'schema_version') AS there`;

/** 0: the database has none of our tables. */
export async function postgresVersion(client: Connection): Promise<number> {
  const { rows: tables } = await client.query(IS_THERE);
  if (!tables[0]?.there) return 0;
  const { rows } = await client.query('SELECT version FROM trustward.schema_version');
  return Number(rows[0]?.version ?? 0);
}

/** For who only reads, and makes no tables. Errors: AppError `store_failed` for a schema of a later version. */
export async function demandKnownTables(client: Connection, place: string): Promise<void> {
  accepted(await postgresVersion(client), readPostgresMigrations().at(-1)?.version ?? 0, place);
}

function accepted(found: number, latest: number, place: string): number {
  if (found <= latest + NEWER_BY) return found;
  throw new AppError(
    'store_failed',
    `database \`${place}\` was written by a newer version (tables ${found}, this one knows ${latest}): update Trustward`,
  );
}

/** The role belongs to the whole server: another database may have made it. */
const PREPARE = `
  DO $$ BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '${WORK_ROLE}') THEN
      CREATE ROLE ${WORK_ROLE} NOLOGIN;
    END IF;
  EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
  END $$;
  DO $$ BEGIN
    -- From version 16 on, who makes a role is its member without becoming it.
    IF NOT pg_has_role(current_user, '${WORK_ROLE}', CASE WHEN current_setting('server_version_num')::int < 160000 THEN 'MEMBER' ELSE 'SET' END)
    THEN
      EXECUTE format('GRANT ${WORK_ROLE} TO %I', current_user);
    END IF;
  END $$;
  CREATE SCHEMA trustward;
  CREATE TABLE trustward.schema_version (version integer NOT NULL);
  INSERT INTO trustward.schema_version VALUES (0);
  GRANT SELECT ON trustward.schema_version TO ${WORK_ROLE};`;

async function prepare(client: Connection): Promise<void> {
  await client.query(PREPARE);
}

const MAY_NOT = '42501';

function mayNot(error: unknown, place: string): AppError | undefined {
  if ((error as { code?: unknown }).code !== MAY_NOT) return undefined;
  const commands = `\`CREATE ROLE ${WORK_ROLE} NOLOGIN; GRANT ${WORK_ROLE} TO ROLE; GRANT CREATE ON DATABASE NAME TO ROLE\``;
  const text = `the role of TRUSTWARD_DB may not make Trustward's tables: an administrator runs ${commands} once`;
  return new AppError('store_failed', `database \`${place}\`: ${text}`, { cause: error });
}

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
