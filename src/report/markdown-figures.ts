// report: the figures of the Markdown report: changes, missing facts, limits and ceilings, the trend. INVARIANT: as in markdown.ts,
// hostile text is only printed through `md` or `code`.
import { countText } from './fact-text.ts';
import { boundRows, changeWords, howToLines, trendHeading, trendRows } from './figure-words.ts';
import { code, md, mdTable } from './markdown-text.ts';
import type { Report } from './report.ts';

const FACTS_MAX = 5;

export function changesPart(report: Report): string {
  const words = changeWords(report);
  if (words === undefined) return '';
  return [md(words.sentence), ...(words.gone.length === 0 ? [] : [''])]
    .concat(words.gone.map((line) => `- ${md(line)}`))
    .join('\n');
}

export function howToPart(report: Report): string {
  const lines = howToLines(report).map(({ facts, text }) => {
    const more = facts.length - FACTS_MAX;
    return `- ${facts.slice(0, FACTS_MAX).map(code).join(', ')}${more > 0 ? ` and ${countText(more)} more` : ''}: ${md(text)}.`;
  });
  return lines.length === 0 ? '' : `How to get what is missing:\n\n${lines.join('\n')}`;
}

export function* boundsPart(report: Report): Generator<string> {
  const { rows, left } = boundRows(report);
  if (rows.length === 0) return;
  yield '## Limits and ceilings\n\n';
  yield* mdTable(
    ['Rule or action', 'Limit', 'Used', 'Share'],
    rows.map(({ name, bound, used, bar }) => [code(name), md(bound), md(used), bar]),
  );
  if (left > 0) yield `\n\nand ${countText(left)} of which less than half is used.`;
}

export function* trendPart(report: Report): Generator<string> {
  const rows = trendRows(report);
  if (rows.length === 0) return;
  yield `## ${trendHeading(report)}\n\n`;
  yield* mdTable(
    ['Rule', 'Runs, oldest first', 'Matches'],
    rows.map(({ rule, chart, words }) => [code(rule), chart, md(words)]),
  );
}
