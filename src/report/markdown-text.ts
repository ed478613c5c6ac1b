// report: hostile text in Markdown: every renderer that tickets are pasted into shows it as text. INVARIANT: text from
// outside this folder goes through `md` or `code`, and never begins a line.
import { showHidden, TEXT_MAX } from './hostile-text.ts';
import { type CellLine, plainText } from './marked.ts';

/**
 * Breaks a word for machines and not for eyes: backslashes do not stop a ticket system from finding `@name` or `#12`.
 */
const BREAK = '\u200b';

const ENTITIES: { [character: string]: string } = { '<': '&lt;', '>': '&gt;', '&': '&amp;' };

/** Text as Markdown: special punctuation is escaped; mentions, issue numbers and bare links are broken. */
export function md(text: string): string {
  return showHidden(text)
    .replace(/[<>&]/g, (found) => ENTITIES[found] as string)
    .replace(/[\\`*_[\]|~$]/g, '\\$&')
    .replace(/(?<![A-Za-z0-9])@(?=\S)/g, `@${BREAK}`)
    .replace(/#(?=\w)/g, `#${BREAK}`)
    .replace(/:\/\//g, '\\://')
    .replace(/(?<=\b(?:www|mailto|xmpp))([.:])/gi, '\\$1');
}

/** A line of a cell, whose parts need no marks here. */
export function mdLine(line: CellLine): string {
  return md(plainText(line));
}

/** A word from our own vocabulary or an id, in code style; anything else is escaped like all text. */
export function code(text: string): string {
  return /^[\w.:-]+$/.test(text) && text.length <= TEXT_MAX ? `\`${text}\`` : md(text);
}

/** Sentences that follow each other: each may be as long as a text can be. */
export function mdSentences(sentences: readonly string[]): string {
  return sentences.map(md).join(' ');
}

/** A table, a row at a time; every cell is Markdown already. */
export function* mdTable(head: readonly string[], rows: Iterable<readonly string[]>): Generator<string> {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  yield `${line(head)}\n${line(head.map(() => '---'))}`;
  for (const cells of rows) yield `\n${line(cells)}`;
}
