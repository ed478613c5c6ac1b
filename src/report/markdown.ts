// report: the Markdown writer: one page that can be pasted into a ticket. Long lists are capped; the JSON report has
// everything. INVARIANT: text from a record, a rule or a server is only printed through `md` or `code`.
import type { KnownTraits } from '../domain/action.ts';
import type { ActKind } from './act-kind.ts';
import { type DecisionColumn, decisionColumns, HELD_BECAUSE, OUTCOME } from './decision-columns.ts';
import { countText, plural } from './fact-text.ts';
import { approvalWords, groupWords } from './figure-words.ts';
import { type ActGroup, actGroups, type ReasonGroup, reasonGroups } from './groups.ts';
import { rulesPart, sourcesPart, unknownPart } from './markdown-context.ts';
import { boundsPart, changesPart, howToPart, trendPart } from './markdown-figures.ts';
import { code, md, mdLine, mdSentences, mdTable } from './markdown-text.ts';
import { eachOf, joinedParts, piece } from './pieces.ts';
import type { Report, ReportRun, RunDecision } from './report.ts';
import { whoLine } from './who.ts';
import {
  canBeApproved,
  durationWords,
  HELD_TITLES,
  headline,
  heldTitle,
  modeWords,
  placeWords,
  progressWords,
  reasonWords,
  startedByWords,
  summaryWords,
  wayOutWords,
} from './words.ts';

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
  yield* decisionTable(report.run, decisions, kind === 'done' ? [OUTCOME] : [], options);
}

function* decisionTable(
  run: ReportRun,
  decisions: readonly RunDecision[],
  more: readonly DecisionColumn[],
  { rowsMax = ROWS_MAX, actions }: MarkdownOptions,
): Generator<string> {
  const columns = decisionColumns(decisions, more, run, actions);
  const shown = decisions.slice(0, rowsMax);
  const head = columns.map((column) => column.head);
  yield* mdTable(head, cellsOf(shown, columns));
  const left = decisions.length - shown.length;
  if (left > 0) yield `\n\nand ${countText(left)} more: the JSON report has them all.`;
}

function* cellsOf(decisions: readonly RunDecision[], columns: readonly DecisionColumn[]): Generator<string[]> {
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
  yield* decisionTable(report.run, group.decisions, reasons.length > 1 ? [HELD_BECAUSE] : [], options);
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
