// report: tables for a terminal, fitted to its width, in time that grows with their size. No color: output goes to pipes
// too. In: cells of any text. Out: a table of visible characters. Long cells are wrapped; where the columns cannot be
// as narrow as the terminal without breaking an id, each row becomes a block of its own.
import { textWidth } from './display-width.ts';
import { showHidden } from './hostile-text.ts';
import { type Line, narrowest, wrapLine } from './wrap.ts';

export interface TerminalOptions {
  /** Columns of the terminal; 100 by default. */
  width?: number;
}

/** One line, or several: line breaks in the data are shown, not followed. */
export type Cell = string | readonly string[];
type Row = readonly (readonly string[])[];

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
    const lines = row.map((cell) => (typeof cell === 'string' ? [cell] : cell).map(showHidden));
    columns.measure(lines);
    visible.push(lines);
    yield '';
  }
  const widths = columns.fittedTo(width - (3 * head.length + 1)); // borders and padding
  yield* widths === undefined ? blocks(head, visible, width) : grid(head, visible, widths);
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
  for (const row of rows) {
    isCompact &&= wrapped(row).every((cell) => cell.length <= 1);
    yield '';
    if (!isCompact) break;
  }
  let isFirst = true;
  for (const row of rows) {
    const above = isFirst || !isCompact ? `\n${rule('├┼┤', widths)}` : '';
    yield `${above}\n${drawn(wrapped(row), widths)}`;
    isFirst = false;
  }
  yield `\n${rule('└┴┘', widths)}`;
}

/** Each row under the other, its columns one below the other, beside their titles. */
function* blocks(head: readonly string[], rows: readonly Row[], width: number): Generator<string> {
  const titles = head.map((text) => ({ text, width: textWidth(text) }));
  const left = Math.max(...titles.map((title) => title.width));
  const right = Math.max(width - left - 6, 1);
  const line: readonly number[] = [left + 2 + right];
  let corners = '┌┬┐';
  for (const row of rows) {
    const lines = row.flatMap((cell, at) => {
      const value = cell.flatMap((text) => wrapLine(text, right));
      return value.map(
        ({ text }, index) =>
          `│ ${padded(index === 0 ? titles[at] : undefined, left)}  ${padded({ text, width: textWidth(text) }, right)} │`,
      );
    });
    yield `${[rule(corners, line), ...lines].join('\n')}\n`;
    corners = '├┼┤';
  }
  yield rule('└┴┘', line);
}

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

  constructor(head: readonly string[]) {
    this.natural = head.map(textWidth);
    this.words = head.map((title) => narrowest(title).word);
    this.parts = [...this.words];
  }

  measure(row: Row): void {
    for (const [at, lines] of row.entries()) {
      for (const line of lines) {
        const { word, part } = narrowest(line);
        this.natural[at] = Math.max(this.natural[at] as number, textWidth(line));
        this.words[at] = Math.max(this.words[at] as number, word);
        this.parts[at] = Math.max(this.parts[at] as number, part);
      }
    }
  }

  /** Takes the missing width from the widest columns, long words last. Undefined: an id would have to be broken. */
  fittedTo(available: number): number[] | undefined {
    const widths = this.natural.map((width) => Math.min(width, Math.max(available, 1)));
    return narrow(widths, this.words, available) || narrow(widths, this.parts, available) ? widths : undefined;
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
