// report: the context part of the terminal report: what is unknown, the sources, the rules. In: a report. Out: text
// whose only control characters are line feeds.
import { countText } from './fact-text.ts';
import { groupReasons } from './grouped-reasons.ts';
import { unknownGroups } from './groups.ts';
import { showHidden } from './hostile-text.ts';
import type { Report } from './report.ts';
import { paragraph, type TerminalOptions, terminalTable } from './terminal-table.ts';
import { sourceWords } from './words.ts';

const FACTS_MAX = 10;
const EXAMPLES_MAX = 5;

export function unknownText(report: Report, options: TerminalOptions): string {
  const groups = unknownGroups(report);
  if (groups.length === 0) return '';
  const rows = groups.map(({ rule, count, missing, examples }) => [
    showHidden(rule),
    countText(count),
    lines(
      missing.map((item) => `${item.fact} (${countText(item.count)})`),
      missing.length,
      FACTS_MAX,
    ),
    groupReasons(
      examples.map(({ subject, reason }) => ({ who: subject, why: reason })),
      count,
      EXAMPLES_MAX,
    ),
  ]);
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  return [
    paragraph(
      `UNKNOWN (${countText(total)}): a fact is missing, too old or of the wrong type; no action follows`,
      options,
    ),
    terminalTable(['Rule', 'Subjects', 'Missing', 'Examples'], rows, options),
  ].join('\n');
}

function lines(items: readonly string[], count: number, max: number): string {
  const shown = items.slice(0, max).map(showHidden);
  const more = count - shown.length;
  return [...shown, ...(more > 0 ? [`and ${countText(more)} more`] : [])].join('\n');
}

export function sourcesText({ snapshot }: Report, options: TerminalOptions): string {
  const rows = Object.entries(snapshot.sources).map(([source, reading]) => {
    const { read, trust, notes } = sourceWords(reading);
    return [source, read, trust, notes.map(showHidden).join('\n')];
  });
  if (rows.length === 0) return '';
  return ['SOURCES', terminalTable(['Source', 'Read', 'Trust', 'Notes'], rows, options)].join('\n');
}

export function rulesText({ rules }: Report, options: TerminalOptions): string {
  if (rules.length === 0) return '';
  const rows = rules.map((rule) => [
    showHidden(rule.id),
    rule.judged ? rule.mode : `${rule.mode}, not judged: a source it needs could not be read`,
    ...[rule.match, rule.no_match, rule.unknown, rule.error].map(countText),
  ]);
  return ['RULES', terminalTable(['Rule', 'Mode', 'Match', 'No match', 'Unknown', 'Error'], rows, options)].join('\n');
}
