// report: the figures of the terminal report: changes, missing facts, limits and ceilings, the trend. In: a report. Out: text whose only
// control characters are line feeds.
import { countText } from './fact-text.ts';
import { boundRows, changeWords, howToLines, trendHeading, trendRows } from './figure-words.ts';
import { whole } from './marked.ts';
import type { Report } from './report.ts';
import { paragraph, type TerminalOptions, tablePieces } from './terminal-table.ts';

const FACTS_MAX = 5;

export function changesText(report: Report, options: TerminalOptions): string {
  const words = changeWords(report);
  if (words === undefined) return '';
  return [paragraph(words.sentence, options), ...words.gone.map((line) => hanging(line, options))].join('\n');
}

export function howToText(report: Report, options: TerminalOptions): string {
  const lines = howToLines(report).map(({ facts, text }) => {
    const more = facts.length - FACTS_MAX;
    const named = `${facts.slice(0, FACTS_MAX).join(', ')}${more > 0 ? ` and ${countText(more)} more` : ''}`;
    return hanging(`${named}: ${text}.`, options);
  });
  return lines.length === 0 ? '' : ['HOW TO GET WHAT IS MISSING', ...lines].join('\n');
}

export function* boundsText(report: Report, options: TerminalOptions): Generator<string> {
  const { rows, left } = boundRows(report);
  if (rows.length === 0) return;
  yield 'LIMITS AND CEILINGS\n';
  const cells = rows.map(({ name, bound, used, bar }) => [whole(name), bound, used, whole(bar)]);
  yield* tablePieces(['Rule or action', 'Limit', 'Used', 'Share'], cells, options);
  if (left > 0) yield `\nand ${countText(left)} of which less than half is used`;
}

export function* trendText(report: Report, options: TerminalOptions): Generator<string> {
  const rows = trendRows(report);
  if (rows.length === 0) return;
  yield `${trendHeading(report).toUpperCase()}\n`;
  const cells = rows.map(({ rule, chart, words }) => [whole(rule), whole(chart), words]);
  yield* tablePieces(['Rule', 'Runs, oldest first', 'Matches'], cells, options);
}

const INDENT = '  ';

function hanging(line: string, { width = 100 }: TerminalOptions): string {
  const lines = paragraph(line, { width: width - 2 * INDENT.length });
  return `${INDENT}${lines.replaceAll('\n', `\n${INDENT}${INDENT}`)}`;
}
