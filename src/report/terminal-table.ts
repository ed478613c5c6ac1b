// report: tables for a terminal, by cli-table3, fitted to its width. No color: output goes to pipes too. In: cells of
// any text. Out: a table of visible characters. No cell is cut: long ones are wrapped.
import Table from 'cli-table3';
import { showHidden } from './hostile-text.ts';

export interface TerminalOptions {
  /** Columns of the terminal; 100 by default. */
  width?: number;
}

const WIDTH = 100;
const COLUMN_MIN = 8;

/** A table of these rows, no wider than the terminal where its columns allow that (eight characters each). */
export function terminalTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  options: TerminalOptions = {},
): string {
  const cells = rows.map((row) => row.map(visibleLines));
  const available = (options.width ?? WIDTH) - (3 * head.length + 1); // borders and padding
  const widths = fitWidths(head, cells, available);
  const wrapped = cells.map((row) => row.map((lines, column) => wrapLines(lines, widths[column] as number)));
  const compact = wrapped.every((row) => row.every((cell) => !cell.includes('\n')));
  const table = new Table({
    head: head.map((title, column) => wrapLines([title], widths[column] as number)),
    style: { head: [], border: [], compact },
    wordWrap: false,
  });
  for (const row of wrapped) table.push(row);
  return table.toString();
}

/** Words as lines that are no wider than the terminal. */
export function paragraph(words: string, { width = WIDTH }: TerminalOptions): string {
  return wrapLines([showHidden(words)], width);
}

/** A cell's own line breaks are made here, between its parts; those in the data are shown, not followed. */
function visibleLines(cell: string): string[] {
  return cell.split('\n').map(showHidden);
}

/** Takes the missing width from the widest columns: first where no word has to be broken for it. */
function fitWidths(head: readonly string[], cells: readonly string[][][], available: number): number[] {
  const measure = (of: (line: string) => number) =>
    head.map((title, column) =>
      Math.max(of(title), ...cells.map((row) => Math.max(0, ...(row[column] ?? []).map(of)))),
    );
  const widths = measure(textWidth);
  narrow(widths, measure(widestWord), available);
  narrow(widths, new Array(head.length).fill(COLUMN_MIN), available);
  return widths;
}

function narrow(widths: number[], floors: readonly number[], available: number): void {
  let lacking = widths.reduce((sum, width) => sum + width, 0) - available;
  while (lacking > 0) {
    const spare = widths.map((width, column) => (width > (floors[column] as number) ? width : 0));
    const widest = spare.indexOf(Math.max(...spare));
    if (spare[widest] === 0) return;
    widths[widest] = (widths[widest] as number) - 1;
    lacking -= 1;
  }
}

function widestWord(line: string): number {
  return Math.max(...line.split(' ').map(textWidth));
}

/** Wraps at spaces; a word that is wider than the column (an id, a path) is broken, never shortened. */
function wrapLines(lines: readonly string[], width: number): string {
  return lines.flatMap((line) => wrapLine(line, width)).join('\n');
}

function wrapLine(line: string, width: number): string[] {
  const wrapped: string[] = [];
  let current = '';
  for (const word of line.split(' ').flatMap((part) => breakWord(part, width))) {
    const longer = current === '' ? word : `${current} ${word}`;
    if (textWidth(longer) <= width) current = longer;
    else {
      if (current !== '') wrapped.push(current);
      current = word;
    }
  }
  return [...wrapped, current];
}

function breakWord(word: string, width: number): string[] {
  const pieces: string[] = [];
  let piece = '';
  for (const character of word) {
    if (piece !== '' && textWidth(piece + character) > width) {
      pieces.push(piece);
      piece = '';
    }
    piece += character;
  }
  return [...pieces, piece];
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const NO_WIDTH = /[\p{Mn}\p{Me}\u200c\u200d]/u;

/** Columns that a text takes: East Asian letters and emoji take two, combining marks none. */
export function textWidth(text: string): number {
  let width = 0;
  for (const character of text) width += NO_WIDTH.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}
