// report: the context part of the terminal report: what is unknown, the sources, the rules. In: a report. Out: text
// whose only control characters are line feeds.
import { evidenceLines } from './evidence-words.ts';
import { countText } from './fact-text.ts';
import { groupReasons } from './grouped-reasons.ts';
import { unknownGroups } from './groups.ts';
import type { Report } from './report.ts';
import { type Cell, paragraph, type TerminalOptions, tablePieces } from './terminal-table.ts';
import { whoLine } from './who.ts';
import { sourceWords } from './words.ts';

const FACTS_MAX = 10;
const EXAMPLES_MAX = 5;

export function* unknownText(report: Report, options: TerminalOptions): Generator<string> {
  const groups = unknownGroups(report);
  if (groups.length === 0) return;
  const rows = groups.map(({ rule, count, missing, examples }): Cell[] => [
    rule,
    countText(count),
    lines(
      missing.map((item) => `${item.fact} (${countText(item.count)})`),
      missing.length,
      FACTS_MAX,
    ),
    groupReasons(
      examples.map(({ who, reason }) => ({ who: whoLine(who), why: reason })),
      count,
      EXAMPLES_MAX,
    ),
  ]);
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  const heading = `UNKNOWN (${countText(total)}): a fact is missing, too old or of the wrong type; no action follows`;
  yield `${paragraph(heading, options)}\n`;
  yield* tablePieces(['Rule', 'Subjects', 'Missing', 'Examples'], rows, options);
}

function lines(items: readonly string[], count: number, max: number): string[] {
  const shown = items.slice(0, max);
  const more = count - shown.length;
  return [...shown, ...(more > 0 ? [`and ${countText(more)} more`] : [])];
}

export function* sourcesText({ snapshot }: Report, options: TerminalOptions): Generator<string> {
  const rows = Object.entries(snapshot.sources).map(([source, reading]) => {
    const { read, trust, notes } = sourceWords(reading);
    return [source, read, trust, notes];
  });
  if (rows.length === 0) return;
  yield 'SOURCES\n';
  yield* tablePieces(['Source', 'Read', 'Trust', 'Notes'], rows, options);
}

export function* rulesText({ rules }: Report, options: TerminalOptions): Generator<string> {
  if (rules.length === 0) return;
  const rows = rules.map((rule) => [
    rule.id,
    rule.judged ? rule.mode : `${rule.mode}, not judged: a source it needs could not be read`,
    ...[rule.match, rule.no_match, rule.unknown, rule.error].map(countText),
  ]);
  yield 'RULES\n';
  yield* tablePieces(['Rule', 'Mode', 'Match', 'No match', 'Unknown', 'Error'], rows, options);
  const evidence = evidenceLines(rules).map(({ rule, text }) => paragraph(`${rule}: ${text}`, options));
  if (evidence.length > 0) yield `\n\n${evidence.join('\n')}`;
}
