// report: the Markdown writer: one page that can be pasted into a ticket. Long lists are capped; the JSON report has
// everything. INVARIANT: text from a record, a rule or a server is only printed through `md` or `code`.

import type { Report, ReportRun, RunDecision } from '../../contract/report.ts';
import type { KnownTraits } from '../../domain/action.ts';
import {
  type ActKind,
  type DecisionColumn,
  decisionColumns,
  eachOf,
  HELD_BECAUSE,
  joinedParts,
  OUTCOME,
  piece,
} from './decision-words.ts';
import { evidenceLines } from './evidence-words.ts';
import { code, countText, md, mdLine, mdSentences, mdTable, plural, whoLine } from './fact-text.ts';
import {
  type ActGroup,
  actGroups,
  approvalWords,
  boundRows,
  canBeApproved,
  changeWords,
  durationWords,
  groupWords,
  HELD_TITLES,
  headline,
  heldTitle,
  howToLines,
  modeWords,
  placeWords,
  progressWords,
  type ReasonGroup,
  reasonGroups,
  reasonWords,
  sourceWords,
  startedByWords,
  summaryWords,
  trendHeading,
  trendRows,
  unknownGroups,
  wayOutWords,
} from './words.ts';

// The context part of the Markdown report: what is unknown, the sources, the rules. INVARIANT: as in markdown.ts,
// hostile text is only printed through `md` or `code`.

const FACTS_MAX = 10;
const EXAMPLES_MAX = 5;

function* unknownPart(report: Report, rowsMax: number): Generator<string> {
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

function* sourcesPart({ snapshot }: Report): Generator<string> {
  const rows = Object.entries(snapshot.sources).map(([source, reading]) => {
    const { read, trust, notes } = sourceWords(reading);
    return [code(source), md(read), trust, notes.map(md).join('<br>') || '—'];
  });
  if (rows.length === 0) return;
  yield '## Sources\n\n';
  yield* mdTable(['Source', 'Read', 'Trust', 'Notes'], rows);
}

function* rulesPart({ rules }: Report): Generator<string> {
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

// The figures of the Markdown report: changes, missing facts, limits and ceilings, the trend. INVARIANT: as in
// markdown.ts, hostile text is only printed through `md` or `code`.

const MARKDOWN_FIGURES_FACTS_MAX = 5;

function changesPart(report: Report): string {
  const words = changeWords(report);
  if (words === undefined) return '';
  return [md(words.sentence), ...(words.gone.length === 0 ? [] : [''])]
    .concat(words.gone.map((line) => `- ${md(line)}`))
    .join('\n');
}

function howToPart(report: Report): string {
  const lines = howToLines(report).map(({ facts, text }) => {
    const more = facts.length - MARKDOWN_FIGURES_FACTS_MAX;
    return `- ${facts.slice(0, MARKDOWN_FIGURES_FACTS_MAX).map(code).join(', ')}${more > 0 ? ` and ${countText(more)} more` : ''}: ${md(text)}.`;
  });
  return lines.length === 0 ? '' : `How to get what is missing:\n\n${lines.join('\n')}`;
}

function* boundsPart(report: Report): Generator<string> {
  const { rows, left } = boundRows(report);
  if (rows.length === 0) return;
  yield '## Limits and ceilings\n\n';
  yield* mdTable(
    ['Rule or action', 'Limit', 'Used', 'Share'],
    rows.map(({ name, bound, used, bar }) => [code(name), md(bound), md(used), bar]),
  );
  if (left > 0) yield `\n\nand ${countText(left)} of which less than half is used.`;
}

function* trendPart(report: Report): Generator<string> {
  const rows = trendRows(report);
  if (rows.length === 0) return;
  yield `## ${trendHeading(report)}\n\n`;
  yield* mdTable(
    ['Rule', 'Runs, oldest first', 'Matches'],
    rows.map(({ rule, chart, words }) => [code(rule), chart, md(words)]),
  );
}

export interface MarkdownOptions {
  /** Rows of one table; a group shows a quarter as many examples. */
  rowsMax?: number;
  /** What they call targets that the record does not name. */
  actions?: KnownTraits;
}

const ROWS_MAX = 40;

/** The whole report as Markdown (GFM tables), ended by a line feed. */
export function reportMarkdown(report: Report, options: MarkdownOptions = {}): string {
  return [...reportMarkdownPieces(report, options)].join('');
}

/** The same in pieces of bounded work. */
export function* reportMarkdownPieces(report: Report, options: MarkdownOptions = {}): Generator<string> {
  const rowsMax = options.rowsMax ?? ROWS_MAX;
  const parts = [
    piece(() => `# ${md(headline(report))}`),
    piece(() => md(report.sentence)),
    piece(() => mdSentences(summaryWords(report))),
    piece(() => changesPart(report)),
    actsPart(report, 'done', options),
    actsPart(report, 'would', options),
    ...HELD_TITLES.map((title) => heldPart(report, title, options)),
    interruptedPart(report),
    actsPart(report, 'reported', options),
    skippedPart(report, rowsMax),
    unknownPart(report, rowsMax),
    piece(() => howToPart(report)),
    boundsPart(report),
    trendPart(report),
    sourcesPart(report),
    rulesPart(report),
    piece(() => runPart(report)),
  ];
  yield* joinedParts(parts, '\n\n');
  yield '\n';
}

const ACT_HEADINGS: Record<ActKind, string> = {
  done: 'Acted on',
  would: 'Would act',
  reported: 'Only reported (rules of mode dry-run)',
};

function* actsPart(report: Report, kind: ActKind, options: MarkdownOptions): Generator<string> {
  const groups = actGroups(report, kind);
  if (groups.length === 0) return;
  const count = groups.reduce((sum, { decisions }) => sum + decisions.length, 0);
  yield `## ${ACT_HEADINGS[kind]} (${countText(count)})\n\n`;
  yield* joinedParts(
    eachOf(groups, (group) => actGroupPart(report, group, kind, options)),
    '\n\n',
  );
}

function* actGroupPart(
  report: Report,
  { rule, title, action, limits, undo, decisions }: ActGroup,
  kind: ActKind,
  options: MarkdownOptions,
): Generator<string> {
  const limit = limits.length === 0 ? '' : ` (${md(limits.join('; '))})`;
  yield `### ${code(action)}${undo ? ', undoing' : ''}: ${md(title)}\n\n`;
  yield `Rule ${code(rule)}, ${plural(decisions.length, 'match', 'matches')}${limit}. ${md(groupWords(decisions, report))}`.trimEnd();
  yield '\n\n';
  yield* markdownDecisionTable(report.run, decisions, kind === 'done' ? [OUTCOME] : [], options);
}

function* markdownDecisionTable(
  run: ReportRun,
  decisions: readonly RunDecision[],
  more: readonly DecisionColumn[],
  { rowsMax = ROWS_MAX, actions }: MarkdownOptions,
): Generator<string> {
  const columns = decisionColumns(decisions, more, run, actions);
  const shown = decisions.slice(0, rowsMax);
  const head = columns.map((column) => column.head);
  yield* mdTable(head, markdownCellsOf(shown, columns));
  const left = decisions.length - shown.length;
  if (left > 0) yield `\n\nand ${countText(left)} more: the JSON report has them all.`;
}

function* markdownCellsOf(decisions: readonly RunDecision[], columns: readonly DecisionColumn[]): Generator<string[]> {
  for (const decision of decisions)
    yield columns.map((column) => column.lines(decision).map(mdLine).join('<br>') || '—');
}

function* heldPart(report: Report, heading: (typeof HELD_TITLES)[number], options: MarkdownOptions): Generator<string> {
  const groups = reasonGroups(report, 'hold').filter((group) => heldTitle(group) === heading);
  if (groups.length === 0) return;
  const count = groups.reduce((sum, { decisions }) => sum + decisions.length, 0);
  yield `## ${heading} (${countText(count)})\n\n`;
  yield* joinedParts(
    eachOf(groups, (group) => heldGroupPart(report, group, options)),
    '\n\n',
  );
}

function* heldGroupPart(report: Report, group: ReasonGroup, options: MarkdownOptions): Generator<string> {
  const reasons = [...new Set(group.decisions.map((decision) => decision.reasonText))];
  const because = reasons.length === 1 ? (reasons[0] as string) : reasonWords(group.reason);
  yield `### ${code(group.action)}: ${md(group.title)}\n\n`;
  yield `Rule ${code(group.rule)}. Held because ${md(because)}. ${wayOutPart(report, group.decisions)}\n\n`;
  yield* markdownDecisionTable(report.run, group.decisions, reasons.length > 1 ? [HELD_BECAUSE] : [], options);
}

function interruptedPart({ plan }: Report): string {
  const words = progressWords(plan);
  if (words === undefined) return '';
  return `## Interrupted plan\n\n${md(words)} To continue: \`trustward apply ${md(plan.id ?? '')}\`.`;
}

/** What an operator can do, with the commands for it. */
function wayOutPart(report: Report, decisions: readonly RunDecision[]): string {
  const first = decisions[0] as RunDecision;
  const words = [groupWords(decisions, report), wayOutWords(first, report)].filter((text) => text !== '');
  if (!canBeApproved(first, report)) return mdSentences(words);
  const id = md(report.plan.id ?? '');
  return `${mdSentences([...words, approvalWords(decisions)])} To decide: \`trustward approve ${id}\` or \`trustward reject ${id}\`.`;
}

function* skippedPart(report: Report, rowsMax: number): Generator<string> {
  const groups = reasonGroups(report, 'skip');
  if (groups.length === 0) return;
  const namesMax = Math.max(1, Math.floor(rowsMax / 4));
  const rows = groups.map(({ rule, action, reason, decisions }) => [
    code(rule),
    code(action),
    `${md(reasonWords(reason))} (${code(reason)})`,
    countText(decisions.length),
    skippedNames(decisions, namesMax),
  ]);
  yield `## Skipped (${countText(report.summary.skip)})\n\n`;
  yield* mdTable(['Rule', 'Action', 'Reason', 'Count', 'Who'], rows);
}

function skippedNames(decisions: readonly RunDecision[], namesMax: number): string {
  const named = decisions
    .slice(0, namesMax)
    .map((decision) => `${mdLine(whoLine(decision.subject))}: ${md(decision.reasonText)}`);
  const more = decisions.length - named.length;
  return [...named, ...(more > 0 ? [`and ${countText(more)} more`] : [])].join('<br>');
}

function runPart(report: Report): string {
  const { run, plan } = report;
  const took = durationWords(run);
  const facts = [
    `Run ${code(run.id)} (${placeWords(run)})`,
    `started by ${startedByWords(run)}`,
    `mode ${modeWords(run, code)}`,
    ...(took === undefined ? [] : [`took ${took}`]),
    `status ${code(run.status)}`,
    ...(plan.id === null ? [] : [`plan ${code(plan.id)} with ${plural(plan.intents, 'intent')}`]),
  ];
  return `---\n\n${facts.join(' · ')}`;
}
