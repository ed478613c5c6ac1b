// report: tables for a terminal, fitted to its width, in time that grows with their size. No color: output goes to pipes
// too. In: cells of any text. Out: a table of visible characters. Long cells are wrapped; a column without any text is left out.
// Where the columns cannot be as narrow as the terminal without breaking an id, each row becomes a block of its own. A list has one line a row
// instead, which is cut.
import { type Cell, type CellLine, linesOf, partsOf, plainText, showHidden, visibleLine } from './fact-text.ts';

// How many columns of a terminal a text takes.

/** Latin letters, punctuation, arrows and signs of mathematics: each is one character of one column, whatever is beside it. */
const PLAIN = /^[\x20-\x7e\u00a0-\u02ff\u2010-\u2027\u2030-\u205e\u2190-\u22ff]*$/;
const EMOJI = /\p{Emoji_Presentation}|\p{Emoji}\ufe0f/u;
/** Unicode's East Asian Width W and F, besides emoji. */
const WIDE =
  /[\u1100-\u115f\u2329\u232a\u2630-\u2637\u268a-\u268f\u2e80-\u303e\u3041-\u3247\u3250-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1d300}-\u{1d376}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]/u;
/** Marks, joiners, and the later letters of a Korean syllable. */
const NO_WIDTH = /[\p{Mn}\p{Me}\u200c\u1160-\u11ff]|\u200d/u;

let graphemes: Intl.Segmenter | undefined;

interface Character {
  text: string;
  width: number;
}

export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const character of charactersOf(text)) width += character.width;
  return width;
}

/** What must not be broken in two, each with its width. */
export function* charactersOf(text: string): Generator<Character> {
  if (PLAIN.test(text)) {
    for (const letter of text) yield { text: letter, width: 1 };
    return;
  }
  // Made when it is needed: the first one of a process takes longer than a report of plain text.
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  for (const { segment } of graphemes.segment(text)) yield { text: segment, width: widthOf(segment) };
}

function widthOf(grapheme: string): number {
  if (EMOJI.test(grapheme)) return 2;
  let width = 0;
  for (const letter of grapheme) width += NO_WIDTH.test(letter) ? 0 : WIDE.test(letter) ? 2 : 1;
  return width;
}

// Text wrapped to a width, in time that grows with its length.

interface Line {
  text: string;
  width: number;
}

/** What is broken together, or not at all. */
interface Atom extends Line {
  isWhole: boolean;
}
/** No space inside: an id with the bracket before it and the comma after it. */
type Word = readonly Atom[];

/** Words wider than this give way like prose: an id has 36 characters, a hostile name any number. */
const WORD_MAX = 48;
/** The longest address. What is longer is broken, even if it is marked. */
const WHOLE_MAX = 254;
const ADDRESS = /[^\s@]@[^\s@.]+\.[^\s@]/;
const COMMAND = /^\W{0,2}`(?:trustward |node |'?\/)/;
/** Facts are long words of several: `event_count({"action":"Unauthorized"})`. */
const COMPOUND = /[({"=]/;
const SEAMS = /(?<=[,=({[/])(?=[\w"'({[])|(?<=:)(?=["'({[])/;
/** Of a path that is too long to be one word. */
const PATH_SEAMS = /(?<=[,=({[/.])(?=[\w"'({[])|(?<=:)(?=["'({[])/;

/** Wraps at spaces, then between the parts of a long word, then anywhere but in what is whole. */
function wrapLine(line: CellLine, width: number): Line[] {
  const text = plainText(line);
  const natural = textWidth(text);
  if (natural <= width && !text.startsWith(' ')) return [{ text, width: natural }]; // most lines of a report
  const lines: Line[] = [];
  let current: Line = { text: '', width: 0 };
  for (const word of wordsOf(line).flatMap((atoms) => breakWord(atoms, width))) {
    if (current.text === '') current = word;
    else if (current.width + 1 + word.width <= width) current = joined(current, ' ', word);
    else {
      lines.push(current);
      current = word;
    }
  }
  return [...lines, current];
}

/** How wide the line is, and how narrow its column can be: `word` without breaking a word, `part` without breaking an id. */
function measured(line: CellLine): { natural: number; word: number; part: number } {
  const found = { natural: -1, word: 0, part: 0 };
  for (const atoms of wordsOf(line)) {
    const width = pieceWidthOf(atoms);
    const wholes = atoms.filter(({ isWhole }) => isWhole).reduce((most, atom) => Math.max(most, atom.width), 0);
    const parts = atoms.flatMap((atom) => (atom.isWhole ? [] : seamsOf(atom).map(textWidth)));
    found.natural += 1 + width;
    found.word = Math.max(found.word, Math.min(width, Math.max(WORD_MAX, wholes)));
    found.part = Math.max(found.part, wholes, Math.min(Math.max(0, ...parts), WORD_MAX));
  }
  return found;
}

function wordsOf(line: CellLine): Word[] {
  const words: Atom[][] = [];
  let isOpenWord = false;
  for (const { text, isWhole } of partsOf(line)) {
    const atoms = isWhole ? [atomOf(text, textWidth(text) <= WHOLE_MAX)] : plainWords(text);
    for (const [at, atom] of atoms.entries()) {
      const last = words.at(-1);
      if (at === 0 && isOpenWord && last) last.push(atom);
      else words.push([atom]);
    }
    isOpenWord = true;
  }
  return words;
}

/** What stands in backticks is one word, such as a command. */
function plainWords(text: string): Atom[] {
  const parts = text.split(' ');
  const words: Atom[] = [];
  for (let at = 0; at < parts.length; at += 1) {
    let word = parts[at] as string;
    let end = at;
    while (isOpen(word) && word.length <= WHOLE_MAX && end + 1 < parts.length) {
      end += 1;
      word = `${word} ${parts[end]}`;
    }
    const isPhrase = end > at && !isOpen(word) && textWidth(word) <= (COMMAND.test(word) ? WHOLE_MAX : WORD_MAX);
    if (isPhrase) at = end;
    else word = parts[at] as string;
    const width = textWidth(word);
    words.push({ text: word, width, isWhole: isPhrase || (width <= WHOLE_MAX && ADDRESS.test(word)) });
  }
  return words;
}

function isOpen(word: string): boolean {
  return word.split('`').length % 2 === 0;
}

function atomOf(text: string, isWhole: boolean): Atom {
  return { text, width: textWidth(text), isWhole };
}

function pieceWidthOf(atoms: Word): number {
  return atoms.reduce((sum, { width }) => sum + width, 0);
}

function breakWord(word: Word, width: number): Line[] {
  if (pieceWidthOf(word) <= width) return [{ text: word.map(({ text }) => text).join(''), width: pieceWidthOf(word) }];
  const pieces: Line[] = [];
  let piece: Line = { text: '', width: 0 };
  for (const part of word.flatMap((atom) => brokenAtom(atom, width))) {
    if (piece.text !== '' && piece.width + part.width > width) {
      pieces.push(piece);
      piece = part;
    } else piece = joined(piece, '', part);
  }
  return [...pieces, piece];
}

function brokenAtom(atom: Atom, width: number): Line[] {
  if (atom.isWhole || atom.width <= width) return [atom];
  return seamsOf(atom).flatMap((text) => (textWidth(text) <= width ? [lineOf(text)] : [...charactersOf(text)]));
}

function lineOf(text: string): Line {
  return { text, width: textWidth(text) };
}

function seamsOf({ text, width }: Line): string[] {
  if (width > WORD_MAX) return text.split(PATH_SEAMS);
  return COMPOUND.test(text) ? text.split(SEAMS) : [text];
}

function joined(a: Line, between: string, b: Line): Line {
  return { text: `${a.text}${between}${b.text}`, width: a.width + between.length + b.width };
}

export interface TerminalOptions {
  /** Columns of the terminal; 100 by default. */
  width?: number;
  /** Names commands as they work here, before a text is measured. */
  named?: (text: string) => string;
}

type Row = readonly (readonly CellLine[])[];

const WIDTH = 100;

/** A table of these rows. Line breaks in the data are shown, not followed. */
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
  { width = WIDTH, named }: TerminalOptions,
): Generator<string> {
  const columns = new Columns(head);
  const visible: Row[] = [];
  for (const row of rows) {
    const lines = row.map((cell) => linesOf(cell).map((line) => visibleLine(namedLine(line, named))));
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

function namedLine(line: CellLine, named: TerminalOptions['named']): CellLine {
  if (named === undefined || !plainText(line).includes('trustward ')) return line;
  return typeof line === 'string'
    ? named(line)
    : { parts: line.parts.map((part) => ({ ...part, text: named(part.text) })) };
}

/** The beginning of a line, with `…` where the rest is left out. */
export function clippedTo(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let cut = '';
  let left = width - 1;
  for (const character of charactersOf(text)) {
    if (character.width > left) break;
    cut += character.text;
    left -= character.width;
  }
  return `${cut}…`;
}

/** Sentences as lines that are no wider than the terminal; given as a list, each may be as long as a text can be. */
export function paragraph(
  words: string | readonly string[],
  { width = WIDTH, named = (text) => text }: TerminalOptions,
): string {
  const line = (typeof words === 'string' ? [words] : words).map((text) => showHidden(named(text))).join(' ');
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

// Lists: one line a row, its columns below each other, without borders.

/** Between two columns. */
const BETWEEN = '  ';
/** Of words, this much is to be seen while a column could be left out, and this much when none is left to leave out. */
const COMFORT = 32;
const LEAST = 16;
/** As wide as `2026-11-21 09:37:02Z`. */
const TIME = 20;
/** A cell wider than this moves the rest of its line, and not that of all others. */
const ALIGNED_MAX = 80;
const NUMBER = /^(?:[\d.,]+(?: (?:bytes|[kMGT]B))?)?$/;

interface ListColumn {
  title: string;
  texts: string[];
  natural: number;
  /** What stands first in its cells is an id, a time: as wide as that. */
  whole: number;
}

/**
 * A row a line, as wide as the terminal; whole without a width. What is too long ends in `…`: words before ids. Several lines of a cell become one.
 * `spare`: titles of the columns that a narrow terminal does without, the first one first. A column without any text is left out.
 */
export function terminalList(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  { width = Number.POSITIVE_INFINITY, named }: TerminalOptions,
  spare: readonly string[] = [],
): string {
  let columns = head
    .map((title, at) => {
      const cells = rows.map((row) => linesOf(row[at] ?? []).map((line) => visibleLine(namedLine(line, named))));
      return listColumn(title, cells, spare.includes(title));
    })
    .filter(({ natural }) => natural > 0);
  const room = () => width - BETWEEN.length * (columns.length - 1);
  const least = (words: number) => columns.map(({ natural, whole }) => Math.max(Math.min(natural, words), whole));
  for (const title of spare)
    if (sumOf(least(COMFORT)) > room()) columns = columns.filter((column) => column.title !== title);
  const widths = columns.map(({ natural, title }) => Math.max(natural, textWidth(title)));
  // At last ids are cut as well, but neither times nor what names the row.
  const any = columns.map(({ whole }, at) => (at === 0 ? whole : Math.max(6, Math.min(whole, TIME))));
  if (width < Number.POSITIVE_INFINITY)
    [least(COMFORT), least(LEAST), any].some((floors) => narrow(widths, floors, room()));
  return Array.from({ length: rows.length + 1 }, (_, at) => {
    const cells = columns.map((column, no) => listCell(column, at, widths[no] as number));
    return clippedTo(cells.join(BETWEEN).trimEnd(), width);
  }).join('\n');
}

/** What can be left out is shown whole or not at all, like a command that is to be copied. */
function listColumn(title: string, cells: readonly (readonly CellLine[])[], isSpare: boolean): ListColumn {
  const texts = cells.map((lines) => lines.map(plainText).join(', '));
  const ids = cells.flatMap(([first]) =>
    first !== undefined && partsOf(first).some(({ isWhole }) => isWhole) ? [first] : [],
  );
  return {
    title,
    texts,
    natural: Math.max(0, ...texts.map(textWidth)),
    whole: Math.min(isSpare ? WHOLE_MAX : WORD_MAX, Math.max(0, ...ids.map((line) => textWidth(plainText(line))))),
  };
}

/** `at`: 0 is the title. Numbers end below each other. */
function listCell({ title, texts }: ListColumn, at: number, width: number): string {
  const text = clippedTo(at === 0 ? title : (texts[at - 1] as string), width);
  const rest = ' '.repeat(Math.max(0, Math.min(width, ALIGNED_MAX) - textWidth(text)));
  return texts.every((one) => NUMBER.test(one)) ? rest + text : text + rest;
}

function sumOf(widths: readonly number[]): number {
  return widths.reduce((sum, one) => sum + one, 0);
}
