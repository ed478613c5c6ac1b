// support: all that a folder keeps: each file as bytes, the rows of segments of a history as text, and each value of each table of its databases,
// unpacked where it is compressed.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { gunzipSync, inflateRawSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { rowsOf } from '../../src/history/files/begin.ts';
import { bytesOf, readColumns } from '../../src/history/files/segment-bytes.ts';

/** Place → what is there; for each file. */
export function filesIn(folder: string): Map<string, Uint8Array> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    paths
      .map((path) => [relative(folder, path), path] as const)
      .map(([name, path]) => [`the file ${name}`, name.endsWith('.parquet') ? rowsIn(path) : readFileSync(path)]),
  );
}

function rowsIn(path: string): Uint8Array {
  const rows = [...rowsOf(readColumns(bytesOf(readFileSync(path))))];
  return Buffer.from(rows.map((row) => [row.kind, row.subject, row.path, row.value].join('\n')).join('\n'));
}

/** `table.column` → all of its values as text. */
export function columnsOf(databaseFile: string): Map<string, string> {
  const db = new Database(databaseFile, { readonly: true });
  try {
    const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all() as string[];
    const columns = new Map<string, string>();
    for (const table of tables)
      for (const row of db.prepare(`SELECT * FROM "${table}"`).iterate() as Iterable<Record<string, unknown>>)
        for (const [column, value] of Object.entries(row)) {
          const place = `the column ${table}.${column}`;
          columns.set(place, `${columns.get(place) ?? ''}${textOf(value)}\n`);
        }
    return columns;
  } finally {
    db.close();
  }
}

function textOf(value: unknown): string {
  if (!(value instanceof Uint8Array)) return String(value);
  for (const unpack of [gunzipSync, inflateRawSync])
    try {
      return unpack(value).toString();
    } catch {
      // not packed in this way
    }
  return Buffer.from(value).toString('latin1');
}
