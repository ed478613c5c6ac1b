// store: finds a row by its id or an unambiguous beginning of it, as typed by a person. In: a table, and the typed text. Out: the
// row, or undefined. It never guesses: a beginning that several ids share is an error that names them.
import { AppError } from '../domain/errors.ts';
import type { Db, Row, Work } from './queries.ts';

const NAMED_MAX = 5;

/** By table: the name of its rows, and the columns that distinguish them. */
const TABLES = {
  runs: { noun: 'run', describe: ({ seq }: Row) => `number ${seq}` },
  plans: { noun: 'plan', describe: ({ run_id }: Row) => `of run ${run_id}` },
  intents: {
    noun: 'intent',
    describe: ({ action, target, status, outcome }: Row) => `${action} ${target}, ${outcome ?? status}`,
  },
  exemptions: {
    noun: 'exemption',
    describe: ({ subject_id, selector_field, selector_value }: Row) =>
      subject_id === null ? `${selector_field} = ${selector_value}` : String(subject_id),
  },
} as const;

/** Errors: AppError `usage` for a beginning that several ids have, with those ids. An empty text finds nothing. */
export function* rowByPrefix(db: Db, table: keyof typeof TABLES, idOrPrefix: string): Work<Row | undefined> {
  const exact = yield* db.get(`SELECT * FROM ${table} WHERE id = ?`, idOrPrefix);
  if (exact || idOrPrefix === '') return exact;
  const end = `${idOrPrefix}\u{10ffff}`; // no id has this character: all ids with this beginning come before it
  const sql = `SELECT * FROM ${table} WHERE id >= ? AND id < ? ORDER BY id LIMIT ?`;
  const rows = yield* db.all(sql, idOrPrefix, end, NAMED_MAX + 1);
  if (rows.length <= 1) return rows[0];
  const { noun, describe } = TABLES[table];
  const named = rows.slice(0, NAMED_MAX).map((row) => `${row.id} (${describe(row)})`);
  const more = rows.length > NAMED_MAX ? ' and more' : '';
  const text = `${noun} \`${idOrPrefix}\` is ambiguous: it begins ${named.join(', ')}${more}; give more of its id`;
  throw new AppError('usage', text);
}
