// report: lines with parts that a terminal never breaks: ids, serial numbers, e-mail addresses, rule names. In: texts. Out: a
// line of a cell. Writers that do not wrap, such as Markdown, print it as plain text.
import { showHidden } from './hostile-text.ts';

export interface Marked {
  readonly parts: readonly { readonly text: string; readonly isWhole: boolean }[];
}

/** One line of a cell. In a plain one, words stay whole as long as they look like an id, an address or a command. */
export type CellLine = string | Marked;

/** An id may hold spaces and any punctuation: `VMware-56 4d 1c`. */
export function whole(text: string): Marked {
  return { parts: [{ text, isWhole: true }] };
}

/** Parts in order, with nothing between them. */
export function marked(...parts: readonly CellLine[]): Marked {
  return { parts: parts.flatMap((part) => partsOf(part)) };
}

/** The same with ` ` or another text between them. */
export function joinedLine(lines: readonly CellLine[], between: string): Marked {
  return marked(...lines.flatMap((line, at) => (at === 0 ? [line] : [between, line])));
}

export function partsOf(line: CellLine): Marked['parts'] {
  return typeof line === 'string' ? [{ text: line, isWhole: false }] : line.parts;
}

export function plainText(line: CellLine): string {
  return typeof line === 'string' ? line : line.parts.map(({ text }) => text).join('');
}

/** The same line in visible characters. */
export function visibleLine(line: CellLine): CellLine {
  if (typeof line === 'string') return showHidden(line);
  return { parts: line.parts.map(({ text, isWhole }) => ({ text: showHidden(text), isWhole })) };
}
