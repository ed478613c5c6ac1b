// report: the context part of the Markdown report: what is unknown, the sources, the rules. INVARIANT: as in
// markdown.ts, hostile text is only printed through `md` or `code`.
import { evidenceLines } from './evidence-words.ts';
import { countText } from './fact-text.ts';
import { unknownGroups } from './groups.ts';
import { code, md, mdLine, mdTable } from './markdown-text.ts';
import type { Report } from './report.ts';
import { whoLine } from './who.ts';
import { sourceWords } from './words.ts';

const FACTS_MAX = 10;
const EXAMPLES_MAX = 5;

export function* unknownPart(report: Report, rowsMax: number): Generator<string> {
  const groups = unknownGroups(report);
  if (groups.length === 0) return;
  const rows = groups.slice(0, rowsMax).map(({ rule, count, missing, examples }) => [
    code(rule),
    countText(count),
    list(
      missing.map((item) => `${md(item.fact)} (${countText(item.count)})`),
      missing.length,
      FACTS_MAX,
    ),
    list(
      examples.map(({ who, reason }) => `${mdLine(whoLine(who))}: ${md(reason)}`),
      count,
      EXAMPLES_MAX,
    ),
  ]);
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  const meaning =
    'A fact that a rule needs is missing, too old or of the wrong type. Unknown verdicts never lead to an action.';
  yield `## Unknown (${countText(total)})\n\n${meaning}\n\n`;
  yield* mdTable(['Rule', 'Subjects', 'Missing', 'Examples'], rows);
}

function list(items: readonly string[], count: number, max: number): string {
  const shown = items.slice(0, max);
  const more = count - shown.length;
  return [...shown, ...(more > 0 ? [`and ${countText(more)} more`] : [])].join('<br>') || '—';
}

export function* sourcesPart({ snapshot }: Report): Generator<string> {
  const rows = Object.entries(snapshot.sources).map(([source, reading]) => {
    const { read, trust, notes } = sourceWords(reading);
    return [code(source), md(read), trust, notes.map(md).join('<br>') || '—'];
  });
  if (rows.length === 0) return;
  yield '## Sources\n\n';
  yield* mdTable(['Source', 'Read', 'Trust', 'Notes'], rows);
}

export function* rulesPart({ rules }: Report): Generator<string> {
  if (rules.length === 0) return;
  const rows = rules.map((rule) => [
    code(rule.id),
    rule.judged ? code(rule.mode) : `${code(rule.mode)}, not judged: a source it needs could not be read`,
    ...[rule.match, rule.no_match, rule.unknown, rule.error].map(countText),
  ]);
  yield '## Rules\n\n';
  yield* mdTable(['Rule', 'Mode', 'Match', 'No match', 'Unknown', 'Error'], rows);
  const evidence = evidenceLines(rules).map(({ rule, text }) => `- ${code(rule)}: ${md(text)}`);
  if (evidence.length > 0) yield `\n\n${evidence.join('\n')}`;
}
