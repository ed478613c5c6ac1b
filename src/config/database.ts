// Configuration: which database, of which organization, and where what belongs beside it lies. In: a reader of names, flags. Out: a database,
// or faults. Nothing is opened. INVARIANT: no password is part of an address, so that an address can be shown.
import { dirname, join } from 'node:path';
import { type Database, type PostgresDatabase, sqliteDatabase } from '../domain/database.ts';
import { AppError } from '../domain/errors.ts';
import { type Flags, readDatabasePath } from './database-path.ts';
import { type Environment, NameReader } from './name-reader.ts';
import { chosenOrganization, refuseOrganization } from './organization-choice.ts';

/** What a connection may be told in its address. The password is not among them, nor is anything that runs on the server. */
const PARAMETERS = ['application_name', 'connect_timeout', 'host', 'sslcert', 'sslkey', 'sslmode', 'sslrootcert'];
const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

/** For commands that need nothing else. Errors: AppError `config`, `usage` for `--org`. */
export function databaseIn(env: Environment, flags: Flags = {}, organization?: string): Database {
  const reader = new NameReader(env);
  const database = readDatabase(reader, flags, organization);
  reader.finish();
  return database;
}

/** `organization`: known already; otherwise `--org`, or the only one. Errors: AppError `usage` for `--org`. */
export function readDatabase(reader: NameReader, flags: Flags, organization?: string): Database {
  const text = readDatabasePath(reader.env, flags);
  const name = flags.db === undefined ? 'TRUSTWARD_DB' : '--db';
  if (isPostgres(text)) return readPostgres(reader, flags, { name, text, organization });
  if (isAddress(text))
    reader.fault(
      name,
      `${name} is \`${schemeOf(text)}\`: expected a file, or an address such as postgres://user@host/name`,
    );
  refuseOrganization(text, flags, organization);
  return sqliteDatabase(text);
}

/** The target of a move. Errors: AppError `config`, `usage` and `not_found` for `--org`. */
export function postgresIn(env: Environment, to: string, flags: Flags): PostgresDatabase {
  const reader = new NameReader(env);
  if (!isPostgres(to))
    throw new AppError('usage', `--to is \`${schemeOf(to)}\`: expected an address such as postgres://user@host/name`);
  const database = readPostgres(reader, flags, { name: '--to', text: to, organization: undefined });
  reader.finish();
  return database;
}

/** An address, of PostgreSQL or of what is refused, and not a file. */
export function isAddress(text: string): boolean {
  return isPostgres(text) || /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
}

/** A slip such as `postgres//…` is no file. */
export function isPostgres(text: string): boolean {
  return /^postgres(ql)?(:|\/\/)/i.test(text);
}

/** The client takes the weaker ones for the strongest, with a warning of several lines. */
const AS_VERIFY_FULL = /([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/;

function readPostgres(
  reader: NameReader,
  flags: Flags,
  { name, text, organization }: { name: string; text: string; organization: string | undefined },
): PostgresDatabase {
  const state = reader.text('TRUSTWARD_STATE');
  const password = reader.secret('TRUSTWARD_DB_PASSWORD');
  const chosen = organization ?? chosenOrganization(reader, flags);
  if (state === undefined)
    reader.fault(
      [name, 'TRUSTWARD_STATE'],
      `${name} is a PostgreSQL database and TRUSTWARD_STATE is not set: give the folder for signing keys, checkpoints, tokens and history, the same one for every process`,
    );
  const wrong = addressFault(text);
  if (wrong !== undefined) reader.fault(name, `${name} ${wrong}`);
  const beside = join(state ?? '', chosen, 'trustward');
  return {
    kind: 'postgres',
    url: wrong === undefined ? text.replace(AS_VERIFY_FULL, '$1verify-full') : schemeOf(text),
    password,
    organization: chosen,
    beside,
  };
}

/** It never repeats what may be a password. */
function addressFault(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^[a-z]+:\/\//i.test(text) || !/^\/[^/]+$/.test(url.pathname))
    return `is \`${schemeOf(text)}\`: expected an address such as postgres://user@host/name`;
  if (url.password !== '' || url.searchParams.has('password'))
    return 'holds a password: leave it out, and give it in TRUSTWARD_DB_PASSWORD_FILE, PGPASSWORD or ~/.pgpass';
  if (url.hash !== '') return 'has a fragment (`#…`): leave it out';
  const unknown = [...url.searchParams.keys()].find((key) => !PARAMETERS.includes(key));
  if (unknown !== undefined) return `has a parameter that is not known here: expected ${PARAMETERS.join(', ')}`;
  const mode = url.searchParams.get('sslmode');
  if (mode !== null && !SSL_MODES.includes(mode)) return `has another sslmode: expected ${SSL_MODES.join(', ')}`;
  return undefined;
}

/** The database of the embedded console. */
export function consoleDatabaseOf({ beside }: Pick<Database, 'beside'>): string {
  return join(dirname(beside), 'demo-console.db');
}

/** For a process of its own on the same database. */
export function databaseFlags(database: Database): string[] {
  if (database.kind === 'sqlite') return ['--db', database.file];
  return ['--db', database.url, '--org', database.organization];
}

/** All that a message repeats of an address that is wrong: what is wrong with it is often where a password stands. */
function schemeOf(address: string): string {
  const scheme = /^[a-z][a-z0-9+.-]*(:\/\/|:|\/\/)/i.exec(address)?.[0];
  return scheme === undefined ? address : `${scheme}…`;
}
