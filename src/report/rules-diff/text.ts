// report: a comparison of two rule sets for a terminal. In: the comparison as a document. Out: text whose only control characters are line
// feeds. Long lists are cut; JSON has more.
import { countText } from '../fact-text.ts';
import { paragraph, type TerminalOptions, terminalTable } from '../terminal-table.ts';
import type { RulesDiffDocument } from './document.ts';
import { type DiffList, diffLists, figuresTable } from './tables.ts';
import { diffHeadline, diffSummary } from './words.ts';

const NAMES_MAX = 20;

export function rulesDiffText(found: RulesDiffDocument, options: TerminalOptions = {}): string {
  const { head, rows } = figuresTable(found);
  const { lists, left } = diffLists(found, NAMES_MAX);
  const parts = [
    paragraph(diffHeadline(found), options),
    paragraph(found.sentence, options),
    paragraph(diffSummary(found), options),
    ...(rows.length === 0 ? [] : [`BY RULE, BEFORE → AFTER\n${terminalTable(head, rows, options)}`]),
    ...lists.map((list) => listText(list, options)),
    ...(left > 0 ? [`and ${countText(left)} more lists: the JSON form has them all`] : []),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function listText({ title, table, left }: DiffList, options: TerminalOptions): string {
  const more = left > 0 ? [`and ${countText(left)} more`] : [];
  return [paragraph(title, options), terminalTable(table.head, table.rows, options), ...more].join('\n');
}
