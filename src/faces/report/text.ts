// report: the terminal writer: documents in the width of a terminal. Out: text whose only control characters are line feeds.

import { type Block, type Document, headOf, leftWords, type Section, titleOf } from './document.ts';
import { asSentence, countText, plainText, showHidden } from './fact-text.ts';
import { paragraph, type TerminalOptions, tablePieces } from './terminal-table.ts';

/** Ended by a line feed. */
export function documentText(document: Document, options: TerminalOptions = {}): string {
  return [...textPieces(document, options)].join('');
}

/** The same in pieces of bounded work. */
export function* textPieces({ title, note, sections }: Document, options: TerminalOptions = {}): Generator<string> {
  yield paragraph(title, options);
  if (note !== undefined) yield `\n${paragraph(note, options)}`;
  for (const section of sections) yield* sectionText(section, options);
  yield '\n';
}

function* sectionText(section: Section, options: TerminalOptions): Generator<string> {
  yield* underHeading(capitals(titleOf(section)), section.blocks, options, capitals(section.title));
}

/** Parts stand by themselves, each under the title of its section, with its own beside that. */
function* underHeading(
  heading: string,
  blocks: Iterable<Block>,
  options: TerminalOptions,
  section = '',
): Generator<string> {
  let before = heading === '' ? '\n\n' : `\n\n${paragraph(heading, options)}\n`;
  for (const block of blocks) {
    if (block.is === 'part') {
      const title = `${section} (${countText(block.count)})  ${plainText(block.title)}`;
      yield* underHeading(title, block.blocks, options);
      continue;
    }
    if (block.is === 'folds') {
      for (const { title, blocks: inner } of block.folds) yield* underHeading(title, inner, options);
      if (block.left > 0) yield `\n\n${leftWords(block.left)}`;
      continue;
    }
    let hasBegun = false;
    for (const piece of blockText(block, options)) {
      if (piece !== '' && !hasBegun) {
        yield before;
        hasBegun = true;
        if (heading !== '') before = '\n';
      }
      yield piece;
    }
  }
}

/** The name of an action stays as it is. */
function capitals(title: string): string {
  const [what = '', ...action] = title.split(':');
  return [what.toUpperCase(), ...action].join(':');
}

function* blockText(block: Exclude<Block, { is: 'part' | 'folds' }>, options: TerminalOptions): Generator<string> {
  switch (block.is) {
    case 'words':
      yield block.sentences.length === 0 ? '' : paragraph(block.sentences, options);
      return;
    case 'list':
      yield block.items.map((item) => hanging(plainText(item), options)).join('\n');
      return;
    case 'commands':
      yield block.commands.map((command) => `${INDENT}${showHidden(command)}`).join('\n');
      return;
    case 'facts': {
      const facts = block.facts.map(({ name, value }) => `${name} ${plainText(value)}`);
      yield paragraph(asSentence(facts.join(', ')), options);
      return;
    }
    case 'table':
      yield* tablePieces(block.columns.map(headOf), block.rows, options);
      if (block.left !== undefined) yield `\n${block.left}`;
  }
}

const INDENT = '  ';

function hanging(line: string, { width = 100, ...options }: TerminalOptions): string {
  const lines = paragraph(line, { ...options, width: width - 2 * INDENT.length });
  return `${INDENT}${lines.replaceAll('\n', `\n${INDENT}${INDENT}`)}`;
}
