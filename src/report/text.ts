// report: the terminal writer: the same report in tables, for the operator who asks "why was this laptop banned?". In:
// a report. Out: text whose only control characters are line feeds. Long lists are capped; the JSON report has
// everything.
import type { KnownTraits } from '../domain/action.ts';
import type { ActKind } from './act-kind.ts';
import { type DecisionColumn, decisionColumns, HELD_BECAUSE, OUTCOME } from './decision-columns.ts';
import { subjectWords } from './decision-words.ts';
import { countText, plural } from './fact-text.ts';
import { groupReasons } from './grouped-reasons.ts';
import { type ActGroup, actGroups, type ReasonGroup, reasonGroups } from './groups.ts';
import { showHidden } from './hostile-text.ts';
import type { Report, RunDecision } from './report.ts';
import { paragraph, type TerminalOptions, terminalTable } from './terminal-table.ts';
import { rulesText, sourcesText, unknownText } from './text-context.ts';
import {
  durationWords,
  headline,
  placeWords,
  progressWords,
  reasonWords,
  summaryWords,
  waitsInPlan,
  wayOutWords,
} from './words.ts';

export interface TextOptions extends TerminalOptions {
  /** Rows of one table. */
  rowsMax?: number;
  /** What they call their targets. */
  actions?: KnownTraits;
}

const ROWS_MAX = 100;
const NAMES_MAX = 5;

/** The whole report for a terminal, ended by a line feed. */
export function reportText(report: Report, options: TextOptions = {}): string {
  const parts = [
    showHidden(headline(report)),
    paragraph(summaryWords(report), options),
    actsText(report, 'done', options),
    actsText(report, 'would', options),
    heldText(report, options),
    interruptedText(report, options),
    actsText(report, 'reported', options),
    skippedText(report, options),
    unknownText(report, options),
    sourcesText(report, options),
    rulesText(report, options),
    runText(report, options),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

const ACT_HEADINGS: Record<ActKind, string> = {
  done: 'ACTED ON',
  would: 'WOULD BE DONE',
  reported: 'ONLY REPORTED (RULES OF MODE DRY-RUN)',
};

function actsText(report: Report, kind: ActKind, options: TextOptions): string {
  return actGroups(report, kind)
    .map((group) => actGroupText(group, kind, options))
    .join('\n\n');
}

function actGroupText(
  { rule, title, action, limits, undo, decisions }: ActGroup,
  kind: ActKind,
  options: TextOptions,
): string {
  const heading = `${ACT_HEADINGS[kind]} (${countText(decisions.length)})  ${action} by rule ${rule}${undo ? ', undoing' : ''}: ${title}`;
  return [
    paragraph(limits.length === 0 ? heading : `${heading} (${limits.join('; ')})`, options),
    decisionTable(decisions, kind === 'done' ? [OUTCOME] : [], options),
  ].join('\n');
}

function heldText(report: Report, options: TextOptions): string {
  return reasonGroups(report, 'hold')
    .map((group) => heldGroupText(report, group, options))
    .join('\n\n');
}

function heldGroupText(report: Report, group: ReasonGroup, options: TextOptions): string {
  const { rule, title, action, reason, decisions } = group;
  const first = decisions[0] as RunDecision;
  const heading = `HELD FOR A PERSON (${countText(decisions.length)})  ${action} by rule ${rule}: ${title}`;
  const reasons = [...new Set(decisions.map((decision) => decision.reasonText))];
  const because = reasons.length === 1 ? (reasons[0] as string) : reasonWords(reason);
  return [
    paragraph(heading, options),
    paragraph(`Held because ${because}. ${wayOutWords(first, report)}`, options),
    ...commandLines(report, first),
    decisionTable(decisions, reasons.length > 1 ? [HELD_BECAUSE] : [], options),
  ].join('\n');
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
function commandLines({ plan }: Report, decision: RunDecision): string[] {
  if (!waitsInPlan(decision) || plan.id === null || plan.status !== 'pending') return [];
  return [`  trustward approve ${showHidden(plan.id)}`, `  trustward reject ${showHidden(plan.id)}`];
}

function skippedText(report: Report, options: TextOptions): string {
  const groups = reasonGroups(report, 'skip');
  if (groups.length === 0) return '';
  const rows = groups.map(({ rule, action, reason, decisions }) => {
    const named = decisions.map((decision) => ({ who: subjectWords(decision), why: decision.reasonText }));
    return [
      `${showHidden(rule)}\n${action}`,
      reasonWords(reason),
      countText(decisions.length),
      groupReasons(named, decisions.length, NAMES_MAX),
    ];
  });
  return [
    `SKIPPED (${countText(report.summary.skip)})`,
    terminalTable(['Rule and action', 'Reason', 'Count', 'Who'], rows, options),
  ].join('\n');
}

function decisionTable(
  decisions: readonly RunDecision[],
  more: readonly DecisionColumn[],
  options: TextOptions,
): string {
  const columns = decisionColumns(decisions, more, options.actions);
  const rows = decisions
    .slice(0, options.rowsMax ?? ROWS_MAX)
    .map((decision) => columns.map((column) => column.lines(decision).map(showHidden).join('\n')));
  const table = terminalTable(
    columns.map((column) => column.head),
    rows,
    options,
  );
  const left = decisions.length - rows.length;
  return left === 0 ? table : `${table}\nand ${countText(left)} more: the JSON report has them all`;
}

function runText(report: Report, options: TextOptions): string {
  const { run, plan } = report;
  const took = durationWords(run);
  const facts = [
    `Run ${run.id} (${placeWords(run)})`,
    `started by ${run.trigger}`,
    `mode ${run.mode}, the daemon allows ${run.daemonMode}`,
    ...(took === undefined ? [] : [`took ${took}`]),
    run.status,
    ...(plan.id === null ? [] : [`plan ${plan.id} with ${plural(plan.intents, 'intent')}`]),
  ];
  return paragraph(facts.join(', '), options);
}
