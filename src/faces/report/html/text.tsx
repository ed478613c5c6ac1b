// report: texts on a page or in an HTML report. In: text that may come from a device, hostile. Out: elements: hidden characters are
// spelled out, long names are cut, and no text changes the direction of its neighbours. hono/jsx escapes the rest.
import type { Child } from 'hono/jsx';
import { shownName } from '../../../base/text.ts';
import { isoTime, timeText } from '../../../base/time.ts';
import { actorText } from '../../../domain/actor.ts';
import { showHidden } from '../fact-text.ts';

/** Whoever did something, as people know them; records have the whole of it. */
export function By({ children }: { children: string }) {
  return <Name>{actorText(children)}</Name>;
}

/** A name that somebody chose: of a device, a person, a service. */
export function Name({ children }: { children: string }) {
  return <bdi>{showHidden(shownName(children))}</bdi>;
}

/**
 * A sentence that may hold such names. What stands in backticks, a command or a word of the configuration, is code; a time is shown in
 * the reader's zone, too.
 */
export function Words({ children }: { children: string }) {
  const parts = showHidden(children).split('`');
  const isPaired = parts.length % 2 === 1;
  return (
    <bdi>
      {isPaired
        ? parts.map((part, at) => (at % 2 === 1 ? <code>{part}</code> : withTimes(part)))
        : withTimes(parts.join('`'))}
    </bdi>
  );
}

/** Sentences, each in an element of its own. */
export function Lines({ texts, as: Each = 'div' }: { texts: readonly string[]; as?: 'div' | 'li' | 'p' }) {
  return (
    <>
      {texts.map((text) => (
        <Each>
          <Words>{text}</Words>
        </Each>
      ))}
    </>
  );
}

/** As `timeText` and `timeCell` write them. */
const TIME = /(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: UTC|Z))/;

function withTimes(text: string): Child {
  if (!TIME.test(text)) return text;
  return text.split(TIME).map((part, at) => {
    const ms = at % 2 === 1 ? Date.parse(part) : Number.NaN;
    return Number.isNaN(ms) ? part : <When at={ms} />;
  });
}

/** An id, a serial number, an address, a command: whole, and selected by one click. */
export function Code({ children }: { children: string }) {
  return <code class="id">{showHidden(children)}</code>;
}

/** A word of the product, such as the name of an action: never broken. */
export function Term({ children }: { children: string }) {
  return <code class="term">{showHidden(children)}</code>;
}

/** In UTC without JavaScript; otherwise in the reader's zone, with UTC when pointed at. */
export function When({ at }: { at: number | string }) {
  const ms = typeof at === 'number' ? at : Date.parse(at);
  return (
    <time datetime={isoTime(ms)} title={timeText(ms)}>
      {timeText(ms)}
    </time>
  );
}

// A table that people read, sort out by typing, and walk through with the keyboard; on a narrow screen each row becomes
// a block that names its columns.

export interface Column {
  head: string;
  /** Numbers stand at the right. Facts keep the width of a field's name, and ids of rules, plans and runs most of theirs. */
  kind?: 'number' | 'facts' | 'id';
  /** A link that sorts by it, and how the table is sorted by it now. */
  sort?: { link: Child; is?: 'ascending' | 'descending' | undefined };
}

export interface Row {
  cells: readonly Child[];
  /** Of the row itself, so that a link can lead to it. */
  id?: string;
}

interface TableProps {
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
            <th scope="col" class={classOf(column)} aria-sort={column.sort?.is}>
              {column.sort?.link ?? column.head}
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

function TableRow({ columns, row }: { columns: readonly Column[]; row: Row }) {
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

// Short marks of a state: mode, decision, outcome, verdict.

export type Tone = 'good' | 'bad' | 'wait' | 'calm';

const TONES: Record<string, Tone> = {
  enforce: 'good',
  approve: 'wait',
  'dry-run': 'calm',
  off: 'calm',
  act: 'bad',
  hold: 'wait',
  skip: 'calm',
  succeeded: 'good',
  confirmed: 'good',
  done: 'good',
  failed: 'bad',
  parked: 'bad',
  unknown: 'wait',
  pending: 'wait',
  approved: 'wait',
  applying: 'wait',
  applied: 'good',
  interrupted: 'bad',
  rejected: 'calm',
  superseded: 'calm',
  expired: 'calm',
  completed: 'calm',
  aborted: 'bad',
  running: 'wait',
  waiting: 'wait',
  granted: 'good',
  match: 'bad',
  no_match: 'calm',
  error: 'bad',
  critical: 'bad',
  high: 'bad',
  medium: 'wait',
  trusted: 'good',
  'NOT TRUSTED': 'bad',
};

/** `text`: what is shown, when it is more than the word. */
export function Mark({ word, text, tone }: { word: string; text?: string; tone?: Tone }) {
  return <span class={`mark ${tone ?? TONES[word] ?? 'calm'}`}>{text ?? word}</span>;
}
