// report: the terminal writer: the same report in tables, for the operator who asks "why was this laptop banned?". In:
// a report. Out: text whose only control characters are line feeds. Long lists are capped; the JSON report has
// everything.

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
import { countText, plural, showHidden, whoLine, whole } from './fact-text.ts';
import { groupReasons } from './grouped.ts';
import { type Cell, paragraph, type TerminalOptions, tablePieces } from './terminal-table.ts';
import {
  type ActGroup,
  actGroups,
  approvalWords,
  boundRows,
  canBeApproved,
  changeWords,
  durationWords,
  groupWords,
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

// The context part of the terminal report: what is unknown, the sources, the rules.

const FACTS_MAX = 10;
const EXAMPLES_MAX = 5;

function* unknownText(report: Report, options: TerminalOptions): Generator<string> {
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

function* sourcesText({ snapshot }: Report, options: TerminalOptions): Generator<string> {
  const rows = Object.entries(snapshot.sources).map(([source, reading]) => {
    const { read, trust, notes } = sourceWords(reading);
    return [source, read, trust, notes];
  });
  if (rows.length === 0) return;
  yield 'SOURCES\n';
  yield* tablePieces(['Source', 'Read', 'Trust', 'Notes'], rows, options);
}

function* rulesText({ rules }: Report, options: TerminalOptions): Generator<string> {
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

// The figures of the terminal report: changes, missing facts, limits and ceilings, the trend.

const TEXT_FIGURES_FACTS_MAX = 5;

function changesText(report: Report, options: TerminalOptions): string {
  const words = changeWords(report);
  if (words === undefined) return '';
  return [paragraph(words.sentence, options), ...words.gone.map((line) => hanging(line, options))].join('\n');
}

function howToText(report: Report, options: TerminalOptions): string {
  const lines = howToLines(report).map(({ facts, text }) => {
    const more = facts.length - TEXT_FIGURES_FACTS_MAX;
    const named = `${facts.slice(0, TEXT_FIGURES_FACTS_MAX).join(', ')}${more > 0 ? ` and ${countText(more)} more` : ''}`;
    return hanging(`${named}: ${text}.`, options);
  });
  return lines.length === 0 ? '' : ['HOW TO GET WHAT IS MISSING', ...lines].join('\n');
}

function* boundsText(report: Report, options: TerminalOptions): Generator<string> {
  const { rows, left } = boundRows(report);
  if (rows.length === 0) return;
  yield 'LIMITS AND CEILINGS\n';
  const cells = rows.map(({ name, bound, used, bar }) => [whole(name), bound, used, whole(bar)]);
  yield* tablePieces(['Rule or action', 'Limit', 'Used', 'Share'], cells, options);
  if (left > 0) yield `\nand ${countText(left)} of which less than half is used`;
}

function* trendText(report: Report, options: TerminalOptions): Generator<string> {
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

export interface TextOptions extends TerminalOptions {
  /** Rows of one table. */
  rowsMax?: number;
  /** What they call targets that the record does not name. */
  actions?: KnownTraits;
}

const ROWS_MAX = 100;
const NAMES_MAX = 5;

/** The whole report for a terminal, ended by a line feed. */
export function reportText(report: Report, options: TextOptions = {}): string {
  return [...reportTextPieces(report, options)].join('');
}

/** The same in pieces of bounded work. */
export function* reportTextPieces(report: Report, options: TextOptions = {}): Generator<string> {
  const parts = [
    piece(() => showHidden(headline(report))),
    piece(() => paragraph(report.sentence, options)),
    piece(() => paragraph(summaryWords(report), options)),
    piece(() => changesText(report, options)),
    actsText(report, 'done', options),
    actsText(report, 'would', options),
    heldText(report, options),
    interruptedText(report, options),
    actsText(report, 'reported', options),
    skippedText(report, options),
    unknownText(report, options),
    piece(() => howToText(report, options)),
    boundsText(report, options),
    trendText(report, options),
    sourcesText(report, options),
    rulesText(report, options),
    piece(() => runText(report, options)),
  ];
  yield* joinedParts(parts, '\n\n');
  yield '\n';
}

const ACT_HEADINGS: Record<ActKind, string> = {
  done: 'ACTED ON',
  would: 'WOULD ACT',
  reported: 'ONLY REPORTED (RULES OF MODE DRY-RUN)',
};

function* actsText(report: Report, kind: ActKind, options: TextOptions): Generator<string> {
  const groups = actGroups(report, kind);
  yield* joinedParts(
    eachOf(groups, (group) => actGroupText(report, group, kind, options)),
    '\n\n',
  );
}

function* actGroupText(
  report: Report,
  { rule, title, action, limits, undo, decisions }: ActGroup,
  kind: ActKind,
  options: TextOptions,
): Generator<string> {
  const heading = `${ACT_HEADINGS[kind]} (${countText(decisions.length)})  ${action} by rule ${rule}${undo ? ', undoing' : ''}: ${title}`;
  yield `${paragraph(limits.length === 0 ? heading : `${heading} (${limits.join('; ')})`, options)}\n`;
  const words = groupWords(decisions, report);
  if (words !== '') yield `${paragraph(words, options)}\n`;
  yield* decisionTable(report.run, decisions, kind === 'done' ? [OUTCOME] : [], options);
}

function* heldText(report: Report, options: TextOptions): Generator<string> {
  const groups = reasonGroups(report, 'hold');
  yield* joinedParts(
    eachOf(groups, (group) => heldGroupText(report, group, options)),
    '\n\n',
  );
}

function* heldGroupText(report: Report, group: ReasonGroup, options: TextOptions): Generator<string> {
  const { rule, title, action, reason, decisions } = group;
  const first = decisions[0] as RunDecision;
  const waits = heldTitle(first).toUpperCase();
  const heading = `${waits} (${countText(decisions.length)})  ${action} by rule ${rule}: ${title}`;
  const reasons = [...new Set(decisions.map((decision) => decision.reasonText))];
  const because = reasons.length === 1 ? (reasons[0] as string) : reasonWords(reason);
  const wayOut = [
    groupWords(decisions, report),
    wayOutWords(first, report),
    ...(canBeApproved(first, report) ? [approvalWords(decisions)] : []),
  ];
  const lines = [
    paragraph(heading, options),
    paragraph(
      [`Held because ${because}.`, ...wayOut].filter((text) => text !== ''),
      options,
    ),
    ...commandLines(report, first),
  ];
  yield lines.map((line) => `${line}\n`).join('');
  yield* decisionTable(report.run, decisions, reasons.length > 1 ? [HELD_BECAUSE] : [], options);
}

function interruptedText({ plan }: Report, options: TextOptions): string {
  const words = progressWords(plan);
  if (words === undefined) return '';
  return [
    'INTERRUPTED PLAN',
    paragraph(showHidden(words), options),
    `  trustward apply ${showHidden(plan.id ?? '')}`,
  ].join('\n');
}

/** Not wrapped, so that each can be copied whole. */
function commandLines(report: Report, decision: RunDecision): string[] {
  if (!canBeApproved(decision, report)) return [];
  const id = showHidden(report.plan.id ?? '');
  return [`  trustward approve ${id}`, `  trustward reject ${id}`];
}

function* skippedText(report: Report, options: TextOptions): Generator<string> {
  const groups = reasonGroups(report, 'skip');
  if (groups.length === 0) return;
  yield `SKIPPED (${countText(report.summary.skip)})\n`;
  yield* tablePieces(['Rule and action', 'Reason', 'Count', 'Who'], groups.map(skippedCells), options);
}

function skippedCells({ rule, action, reason, decisions }: ReasonGroup): Cell[] {
  const named = decisions
    .slice(0, NAMES_MAX)
    .map(({ subject, reasonText }) => ({ who: whoLine(subject), why: reasonText }));
  return [
    [rule, action],
    reasonWords(reason),
    countText(decisions.length),
    groupReasons(named, decisions.length, NAMES_MAX),
  ];
}

function* decisionTable(
  run: ReportRun,
  decisions: readonly RunDecision[],
  more: readonly DecisionColumn[],
  options: TextOptions,
): Generator<string> {
  const columns = decisionColumns(decisions, more, run, options.actions);
  const shown = decisions.slice(0, options.rowsMax ?? ROWS_MAX);
  const head = columns.map((column) => column.head);
  yield* tablePieces(head, cellsOf(shown, columns), options);
  const left = decisions.length - shown.length;
  if (left > 0) yield `\nand ${countText(left)} more: the JSON report has them all`;
}

function* cellsOf(decisions: readonly RunDecision[], columns: readonly DecisionColumn[]): Generator<Cell[]> {
  for (const decision of decisions) yield columns.map((column) => column.lines(decision));
}

function runText(report: Report, options: TextOptions): string {
  const { run, plan } = report;
  const took = durationWords(run);
  const facts = [
    `Run ${run.id} (${placeWords(run)})`,
    `started by ${startedByWords(run)}`,
    `mode ${modeWords(run)}`,
    ...(took === undefined ? [] : [`took ${took}`]),
    run.status,
    ...(plan.id === null ? [] : [`plan ${plan.id} with ${plural(plan.intents, 'intent')}`]),
  ];
  return paragraph(facts.join(', '), options);
}
