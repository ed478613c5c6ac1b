// report: the Markdown writer (GFM): documents that can be pasted into a ticket or a pull request. INVARIANT: text from a record, a rule or
// a server is only printed through `md` or `code`, and never begins a line.

import { type Block, type Document, headOf, leftWords, titleOf } from './document.ts';
import { asSentence, type Cell, type CellLine, countText, linesOf, partsOf, showHidden } from './fact-text.ts';

/** Ended by a line feed. `lengthMax`: lists that can be closed are left out where the whole would be longer. */
export function documentMarkdown(document: Document, lengthMax = Number.MAX_SAFE_INTEGER): string {
  let text = '';
  for (const piece of markdownPieces(document, () => lengthMax - text.length)) text += piece;
  return text;
}

/** The same in pieces of bounded work. `space`: how much may still be written. */
export function* markdownPieces(
  { title, note, sections }: Document,
  space = () => Number.MAX_SAFE_INTEGER,
): Generator<string> {
  yield `# ${md(title)}`;
  if (note !== undefined) yield `\n\n${md(note)}`;
  for (const section of sections) {
    if (section.title !== '') yield `\n\n## ${md(titleOf(section))}`;
    for (const block of section.blocks) yield* blockMarkdown(block, space);
  }
  yield '\n';
}

function* blockMarkdown(block: Block, space: () => number): Generator<string> {
  switch (block.is) {
    case 'words': {
      const text = block.sentences.map(md).join(' ');
      if (text !== '') yield `\n\n${block.tone === 'lead' ? `**${text}**` : text}`;
      return;
    }
    case 'list':
      yield `\n\n${block.items.map((item) => `- ${mdLine(item)}`).join('\n')}`;
      return;
    case 'commands':
      if (block.commands.length > 0)
        yield `\n\n${block.to}: ${block.commands.map((one) => `\`${md(one)}\``).join(' or ')}.`;
      return;
    case 'facts':
      yield `\n\n${asSentence(block.facts.map(({ name, value }) => `${name} ${mdLine(value)}`).join(' · '))}`;
      return;
    case 'table':
      yield '\n\n';
      yield* mdTable(block.columns.map(headOf), cellsOf(block.rows));
      if (block.left !== undefined) yield `\n\n${block.left}.`;
      return;
    case 'part':
      yield `\n\n### ${countText(block.count)} × ${mdLine(block.title)}`;
      for (const inner of block.blocks) yield* blockMarkdown(inner, space);
      return;
    case 'folds': {
      let { left } = block;
      for (const { title, blocks } of block.folds) {
        const inner = blocks.flatMap((one) => [...blockMarkdown(one, space)]).join('');
        const fold = `\n\n<details><summary>${md(title)}</summary>${inner}\n\n</details>`;
        if (fold.length <= space()) yield fold;
        else left += 1;
      }
      if (left > 0) yield `\n\n${leftWords(left)}.`;
    }
  }
}

function* cellsOf(rows: Iterable<readonly Cell[]>): Generator<string[]> {
  for (const row of rows) yield row.map((cell) => linesOf(cell).map(mdLine).join('<br>') || '—');
}

/** A table, a row at a time; every cell is Markdown already. */
export function* mdTable(head: readonly string[], rows: Iterable<readonly string[]>): Generator<string> {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  yield `${line(head)}\n${line(head.map(() => '---'))}`;
  for (const cells of rows) yield `\n${line(cells)}`;
}

/**
 * Breaks a word for machines and not for eyes: backslashes do not stop a ticket system from finding `@name` or `#12`.
 */
const BREAK = '\u200b';

const ENTITIES: { [character: string]: string } = { '<': '&lt;', '>': '&gt;', '&': '&amp;' };

/** Text as Markdown, as text for every renderer: special punctuation is escaped; mentions, issue numbers and bare links are broken. */
export function md(text: string): string {
  return showHidden(text)
    .replace(/[<>&]/g, (found) => ENTITIES[found] as string)
    .replace(/[\\`*_[\]|~$]/g, '\\$&')
    .replace(/(?<![A-Za-z0-9])@(?=\S)/g, `@${BREAK}`)
    .replace(/#(?=\w)/g, `#${BREAK}`)
    .replace(/:\/\//g, '\\://')
    .replace(/(?<=\b(?:www|mailto|xmpp))([.:])/gi, '\\$1');
}

/** Parts that are no words of the product are escaped as one text: what must be broken may begin in one and end in the next. */
function mdLine(line: CellLine): string {
  let [written, plain] = ['', ''];
  for (const { text, is } of partsOf(line)) {
    if (is !== 'term' && is !== 'state') plain += text;
    else {
      written += md(plain) + code(text);
      plain = '';
    }
  }
  return written + md(plain);
}

const CODE_MAX = 4_000;

/** A word from our own vocabulary or an id, in code style; anything else is escaped like all text. */
function code(text: string): string {
  return /^[\w.:-]+$/.test(text) && text.length <= CODE_MAX ? `\`${text}\`` : md(text);
}
