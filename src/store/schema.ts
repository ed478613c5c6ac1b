// store: whether the tables, indexes and triggers of a database are those that the migrations make. In: a connection. Out: what else there
// is. A trigger that somebody put there would run in every transaction of the writer, as a change of its own. It only reads.
import Database from 'better-sqlite3';
import type { SqliteDb } from './database.ts';
import { HASH_FUNCTION, hashInSql } from './identity-keys.ts';
import { readMigrations, versionOf } from './migrate.ts';

/** What differs, in words that follow "the database has"; undefined: nothing. Errors: AppError `store_failed`, `store_damaged`. */
export function strangeSchema(db: SqliteDb): string | undefined {
  const version = versionOf(db);
  if (version > (readMigrations().at(-1)?.version ?? 0)) return undefined; // of a newer version: refused elsewhere
  const expected = schemaOf(version);
  const found = textsOf(db.all<SchemaRow>(SCHEMA));
  const strange = [...found.keys()].find((what) => !expected.has(what));
  if (strange !== undefined) return `the ${strange}, which no version of Trustward made`;
  const other = [...expected].find(([what, text]) => found.get(what) !== text)?.[0];
  if (other === undefined) return undefined;
  return found.has(other) ? `another form of the ${other}` : `no ${other}`;
}

interface SchemaRow {
  type: string;
  name: string;
  sql: string | null;
}

/** Without the statistics that SQLite itself keeps. */
const SCHEMA =
  "SELECT type, name, sql FROM sqlite_schema WHERE type <> 'table' OR name NOT LIKE 'sqlite\\_stat%' ESCAPE '\\'";

const known = new Map<number, ReadonlyMap<string, string>>();

function schemaOf(version: number): ReadonlyMap<string, string> {
  const before = known.get(version);
  if (before) return before;
  const db = new Database(':memory:');
  try {
    db.function(HASH_FUNCTION, hashInSql);
    for (const migration of readMigrations()) if (migration.version <= version) db.exec(migration.sql);
    const texts = textsOf(db.prepare(SCHEMA).all() as SchemaRow[]);
    known.set(version, texts);
    return texts;
  } finally {
    db.close();
  }
}

/** Versions of SQLite may quote and space differently what ALTER TABLE writes. */
function textsOf(rows: readonly SchemaRow[]): Map<string, string> {
  return new Map(rows.map(({ type, name, sql }) => [`${type} \`${name}\``, (sql ?? '').replaceAll(/[\s"]+/g, '')]));
}
