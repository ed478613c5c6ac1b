// report: a table that people read, sort out by typing, and walk through with the keyboard; on a narrow screen each row becomes a block
// that names its columns. In: columns and rows. Out: a table, or a sentence when there is no row.
import type { Child } from 'hono/jsx';

export interface Column {
  head: string;
  /** Numbers stand at the right. Facts keep the width of a field's name, and ids of rules, plans and runs most of theirs. */
  kind?: 'number' | 'facts' | 'id';
}

export interface Row {
  cells: readonly Child[];
  /** Of the row itself, so that a link can lead to it. */
  id?: string;
}

export interface TableProps {
  /** What the table has, for a reader who cannot see where it stands. */
  caption: string;
  columns: readonly (Column | string)[];
  rows: readonly Row[];
  /** In place of a table without rows. */
  empty?: string;
  id?: string;
}

export function Table({ caption, columns, rows, empty, id }: TableProps) {
  const all = columns.map((column) => (typeof column === 'string' ? { head: column } : column));
  if (rows.length === 0 && empty !== undefined) return <p class="empty">{empty}</p>;
  return (
    <table id={id} class="rows">
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          {all.map((column) => (
            <th scope="col" class={classOf(column)}>
              {column.head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <TableRow columns={all} row={row} />
        ))}
      </tbody>
    </table>
  );
}

/** The same in pieces of bounded work, for many rows. */
export function* tablePieces(table: Omit<TableProps, 'rows' | 'empty'>, rows: Iterable<Row>): Generator<string> {
  const whole = String(<Table {...table} rows={[]} />);
  const end = whole.lastIndexOf('</tbody>');
  const columns = table.columns.map((column) => (typeof column === 'string' ? { head: column } : column));
  yield whole.slice(0, end);
  for (const row of rows) yield String(<TableRow columns={columns} row={row} />);
  yield whole.slice(end);
}

export function TableRow({ columns, row }: { columns: readonly Column[]; row: Row }) {
  return (
    <tr id={row.id} data-row>
      {row.cells.map((cell, at) =>
        isEmpty(cell) ? (
          <td></td>
        ) : (
          <td class={classOf(columns[at])} data-label={columns[at]?.head}>
            <div>{cell}</div>
          </td>
        ),
      )}
    </tr>
  );
}

const CLASSES = { number: 'number', facts: 'facts-of', id: 'id-of' } as const;

function classOf(column: Column | undefined): string | undefined {
  return column?.kind && CLASSES[column.kind];
}

function isEmpty(cell: Child): boolean {
  return cell === null || cell === undefined || cell === '' || (Array.isArray(cell) && cell.length === 0);
}
