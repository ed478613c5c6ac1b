// store: which tables a move takes from SQLite, and in which order. In: both databases. Out: tables with their columns, those that others refer
// to first. A table or a column that PostgreSQL has no place for ends the move: nothing is left behind.
import { AppError } from '../../domain/errors.ts';
import type { SqliteDb } from '../database.ts';
import type { Db, Work } from '../queries.ts';
import { answered } from '../sqlite-work.ts';

export interface MovedTable {
  name: string;
  columns: readonly string[];
}

/** SQLite numbers rows by itself; where that number is the order of a list, PostgreSQL has a column for it. */
const NUMBER = 'rowid';

export function* movedTables(db: Db, source: SqliteDb): Work<MovedTable[]> {
  const sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
  const names = source.all<{ name: string }>(sql).map(({ name }) => name);
  const here = new Map(yield* db.columnsOf(names));
  return answered(source, (theirs) => theirs.columnsOf(names)).map(([name, columns]) => {
    const taken = here.get(name) ?? [];
    const missing = columns.find((column) => !taken.includes(column));
    const added = taken.find((column) => column !== NUMBER && !columns.includes(column));
    if (missing !== undefined) throw unlike(db, `${name}.${missing}`);
    if (added !== undefined) throw unlike(db, `${name}.${added}`);
    return { name, columns: taken };
  });
}

function unlike(db: Db, column: string): AppError {
  const text = `the file and \`${db.name}\` have different columns (\`${column}\`): use the same version of Trustward for both`;
  return new AppError('store_failed', text);
}

export function inOrderOfReferences(source: SqliteDb, tables: readonly MovedTable[]): MovedTable[] {
  const sorted = new Set<MovedTable>();
  const add = (table: MovedTable | undefined): void => {
    if (table === undefined || sorted.has(table)) return;
    const rows = source.all<{ table: string }>(`PRAGMA foreign_key_list(${table.name})`);
    for (const { table: referred } of rows)
      if (referred !== table.name) add(tables.find(({ name }) => name === referred));
    sorted.add(table);
  };
  for (const table of tables) add(table);
  return [...sorted];
}
