// report: a comparison of two rule sets as Markdown, short enough for a comment on a pull request. In: the comparison as a document. Out:
// Markdown. INVARIANT: text from a record or a rule is only printed through `md`, and the whole has at most `LENGTH_MAX` characters.
import { countText } from '../fact-text.ts';
import { md, mdLine, mdSentences, mdTable } from '../markdown-text.ts';
import type { RulesDiffDocument } from './document.ts';
import { type DiffList, type DiffTable, diffLists, figuresTable } from './tables.ts';
import { diffHeadline, diffSummary } from './words.ts';

const NAMES_MAX = 20;
/** What code hosts take as one comment is a little more. */
const LENGTH_MAX = 60_000;

export function rulesDiffMarkdown(found: RulesDiffDocument): string {
  const figures = figuresTable(found);
  const head = [
    `## ${md(diffHeadline(found))}`,
    `**${md(found.sentence)}**`,
    mdSentences(diffSummary(found)),
    ...(figures.rows.length === 0 ? [] : [tableMarkdown(figures)]),
  ].filter((part) => part !== '');
  const { lists, left } = diffLists(found, NAMES_MAX);
  let text = head.join('\n\n');
  let leftOut = left;
  for (const list of lists) {
    const part = foldedList(list);
    if (text.length + part.length > LENGTH_MAX) leftOut += 1;
    else text += `\n\n${part}`;
  }
  return `${text}${leftOut > 0 ? `\n\nand ${countText(leftOut)} more lists: \`--format json\` has them all.` : ''}\n`;
}

function foldedList({ title, table, left }: DiffList): string {
  const more = left > 0 ? `\n\nand ${countText(left)} more` : '';
  return `<details><summary>${md(title)}</summary>\n\n${tableMarkdown(table)}${more}\n\n</details>`;
}

function tableMarkdown({ head, rows }: DiffTable): string {
  return [
    ...mdTable(
      head,
      rows.map((row) => row.map((lines) => lines.map(mdLine).join('<br>') || '—')),
    ),
  ].join('');
}
