// store: the text of INSERT for one row or several. In: a table, its columns. Out: SQL, the same text for the same question, so that a
// connection prepares it once. It runs nothing.

/** Each is one prepared statement. */
export const ROWS_OF_INSERT = [20, 5, 1];
const insertions = new Map<string, string>();

export function insertion(table: string, columns: readonly string[], rows: number, conflict: string): string {
  const key = `${table} ${rows} ${columns} ${conflict}`;
  const known = insertions.get(key);
  if (known !== undefined) return known;
  const row = `(${columns.map(() => '?').join(', ')})`;
  const sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${Array(rows).fill(row).join(', ')} ${conflict}`;
  insertions.set(key, sql);
  return sql;
}
