// report: tables for a terminal, fitted to its width, in time that grows with their size. No color: output goes to pipes
// too. In: cells of any text. Out: a table of visible characters. Long cells are wrapped; a column without any text is left out.
// Where the columns cannot be as narrow as the terminal without breaking an id, each row becomes a block of its own.
import { textWidth } from './display-width.ts';
import { showHidden } from './hostile-text.ts';
import { type CellLine, visibleLine } from './marked.ts';
import { type Line, measured, wrapLine } from './wrap.ts';

export interface TerminalOptions {
  /** Columns of the terminal; 100 by default. */
  width?: number;
}

/** One line, or several: line breaks in the data are shown, not followed. */
export type Cell = CellLine | readonly CellLine[];
type Row = readonly (readonly CellLine[])[];

const WIDTH = 100;

/** A table of these rows. */
export function terminalTable(
  head: readonly string[],
  rows: Iterable<readonly Cell[]>,
  options: TerminalOptions = {},
): string {
  return [...tablePieces(head, rows, options)].join('');
}

/** The same in pieces, a row at most each; an empty one for each row that was only measured. */
export function* tablePieces(
  head: readonly string[],
  rows: Iterable<readonly Cell[]>,
  { width = WIDTH }: TerminalOptions,
): Generator<string> {
  const columns = new Columns(head);
  const visible: Row[] = [];
  for (const row of rows) {
    const lines = row.map((cell) => linesOf(cell).map(visibleLine));
    columns.measure(lines);
    visible.push(lines);
    yield '';
  }
  const widths = columns.fittedTo(width);
  if (widths === undefined) yield* blocks(head, visible, width);
  else
    yield* grid(
      columns.filled(head),
      visible.map((row) => columns.filled(row)),
      widths,
    );
}

function linesOf(cell: Cell): readonly CellLine[] {
  return typeof cell === 'string' || 'parts' in cell ? [cell] : cell;
}

/** Sentences as lines that are no wider than the terminal; given as a list, each may be as long as a text can be. */
export function paragraph(words: string | readonly string[], { width = WIDTH }: TerminalOptions): string {
  const line = (typeof words === 'string' ? [words] : words).map(showHidden).join(' ');
  return wrapLine(line, width)
    .map(({ text }) => text)
    .join('\n');
}

function* grid(head: readonly string[], rows: readonly Row[], widths: readonly number[]): Generator<string> {
  const wrapped = (row: Row) => row.map((lines, at) => lines.flatMap((line) => wrapLine(line, widths[at] as number)));
  yield `${rule('┌┬┐', widths)}\n${drawn(wrapped(head.map((title) => [title])), widths)}`;
  let isCompact = true;
  const begun: Line[][][] = [];
  for (const row of rows) {
    const cells = wrapped(row);
    begun.push(cells);
    isCompact &&= cells.every((cell) => cell.length <= 1);
    yield '';
    if (!isCompact) break;
  }
  for (const [at, row] of rows.entries()) {
    const above = at === 0 || !isCompact ? `\n${rule('├┼┤', widths)}` : '';
    yield `${above}\n${drawn(begun[at] ?? wrapped(row), widths)}`;
  }
  yield `\n${rule('└┴┘', widths)}`;
}

/** Each row under the other, its columns one below the other, beside their titles; below the title where an id needs it. */
function* blocks(head: readonly string[], rows: readonly Row[], width: number): Generator<string> {
  const left = Math.max(...head.map(textWidth));
  const inner = Math.max(width - 4, 1);
  let corners = '┌┬┐';
  for (const row of rows) {
    const lines = row.flatMap((cell, at) => blockLines(head[at] as string, cell, left, inner));
    yield `${[rule(corners, [inner]), ...lines.map((line) => drawn([[line]], [inner]))].join('\n')}\n`;
    corners = '├┼┤';
  }
  yield rule('└┴┘', [inner]);
}

function blockLines(head: string, cell: readonly CellLine[], left: number, inner: number): Line[] {
  const title = { text: head, width: textWidth(head) };
  if (cell.every((line) => measured(line).natural === 0)) return [];
  const needed = Math.max(...cell.map((line) => measured(line).part));
  const isBeside = needed <= inner - left - GAP;
  const indent = isBeside ? left + GAP : GAP;
  const value = cell.flatMap((line) => wrapLine(line, Math.max(inner - indent, 1)));
  const lines = value.map(({ text, width }, at) => {
    const before = isBeside && at === 0 ? padded(title, indent) : ' '.repeat(indent);
    return { text: before + text, width: indent + width };
  });
  return isBeside ? lines : [title, ...lines];
}

/** Between a title and its value. */
const GAP = 2;

function drawn(cells: readonly (readonly Line[])[], widths: readonly number[]): string {
  const height = cells.reduce((most, cell) => Math.max(most, cell.length), 1);
  return Array.from({ length: height }, (_, line) => {
    const texts = cells.map((cell, at) => padded(cell[line], widths[at] as number));
    return `│ ${texts.join(' │ ')} │`;
  }).join('\n');
}

function padded(line: Line | undefined, width: number): string {
  return line === undefined ? ' '.repeat(width) : line.text + ' '.repeat(Math.max(0, width - line.width));
}

function rule([left, middle, right]: string, widths: readonly number[]): string {
  return `${left}${widths.map((width) => '─'.repeat(width + 2)).join(middle)}${right}`;
}

/** How wide each column is by itself, and how narrow it may become. */
class Columns {
  private readonly natural: number[];
  private readonly words: number[];
  private readonly parts: number[];
  private readonly hasText: boolean[];

  constructor(head: readonly string[]) {
    const titles = head.map((title) => measured(title));
    this.natural = titles.map(({ natural }) => natural);
    this.words = titles.map(({ word }) => word);
    this.parts = titles.map(({ part }) => part);
    this.hasText = head.map(() => false);
  }

  measure(row: Row): void {
    for (const [at, lines] of row.entries()) {
      for (const line of lines) {
        const { natural, word, part } = measured(line);
        this.natural[at] = Math.max(this.natural[at] as number, natural);
        this.words[at] = Math.max(this.words[at] as number, word);
        this.parts[at] = Math.max(this.parts[at] as number, part);
        this.hasText[at] ||= natural > 0;
      }
    }
  }

  /** What stands in columns that have text. */
  filled<T>(row: readonly T[]): T[] {
    return row.filter((_, at) => this.hasText[at]);
  }

  /** Takes the missing width from the widest columns, long words last. Undefined: an id would have to be broken. */
  fittedTo(width: number): number[] | undefined {
    const natural = this.filled(this.natural);
    const available = width - (3 * natural.length + 1); // borders and padding
    const words = this.filled(this.words);
    const parts = this.filled(this.parts);
    const widths = natural.map((one, at) => Math.max(Math.min(one, available), parts[at] as number));
    const fits = narrow(widths, words, available) || narrow(widths, parts, available);
    return fits ? widths : undefined;
  }
}

/** Narrows the widths, none below its floor; whether that is enough. */
function narrow(widths: number[], floors: readonly number[], available: number): boolean {
  let lacking = widths.reduce((sum, width) => sum + width, 0) - available;
  while (lacking > 0) {
    const spare = widths.map((width, at) => (width > (floors[at] as number) ? width : 0));
    const widest = spare.indexOf(Math.max(...spare));
    if (spare[widest] === 0) return false;
    widths[widest] = (widths[widest] as number) - 1;
    lacking -= 1;
  }
  return true;
}
