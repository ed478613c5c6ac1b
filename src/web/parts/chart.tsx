// web: counts over time: a table with the numbers, which the library draws as lines when JavaScript is on. In: rows with a time and counts.
// Out: a figure. The page that has one says `chart: true`; chart.js reads the table and nothing else.
import { type Column, type Row, Table } from '../../report/html/table.tsx';

interface ChartProps {
  id: string;
  caption: string;
  /** Those of kind `number` are drawn; each row has one `When`. */
  columns: readonly (Column | string)[];
  rows: readonly Row[];
}

export function Chart({ id, caption, columns, rows }: ChartProps) {
  return (
    <figure class="over-time">
      <div class="chart" data-chart={id} role="img" aria-label={caption} hidden></div>
      <details open>
        <summary>{caption}: the numbers</summary>
        <Table id={id} caption={caption} columns={columns} rows={rows} />
      </details>
    </figure>
  );
}
