// report: decisions, audit entries and runs as lists for a terminal: the output of `decisions`, `audit list` and `runs`. In: rows of
// the store. Out: text whose only control characters are line feeds.

import { formatDuration, isoTime } from '../../base/time.ts';
import type { AuditEntryShown, HistoryLineShown } from '../../contract/nouns.ts';
import type { ReportDecision, ReportRun } from '../../contract/report.ts';
import type { Output } from '../../contract/table.ts';
import { deletionTexts } from '../../domain/action.ts';
import {
  type AuditCheck,
  type AuditEntry,
  type AuditFault,
  differencesText,
  entryBody,
} from '../../domain/audit-entry.ts';
import { currentReason, type DecisionNow } from '../../domain/decision.ts';
import { type Fact, isFacts } from '../../domain/facts.ts';
import { leastMode } from '../../domain/rule.ts';
import type { Run, RunCounts } from '../../domain/run.ts';
import type { HistoryLine } from '../../domain/why.ts';
import { AuditNames, auditSentence, type NamesReader } from './audit-words.ts';
import { decisionView, runView } from './decision-view.ts';
import { actKindOf, capWordsOf, decisionWords, outcomeName, timeCell } from './decision-words.ts';
import { type Cell, changeTexts, countText, factTexts, whoLines, whole } from './fact-text.ts';
import { type TerminalOptions, terminalList } from './terminal-table.ts';

/** As the stream sends it: its sentence would need names. */
export function auditView({ seq, at, kind, bytes, prev, hash }: AuditEntry): Omit<AuditEntryShown, 'text'> {
  return { seq, at: isoTime(at), kind, body: bodyOf(kind, bytes), prev, hash };
}

export async function auditViews(reader: NamesReader, entries: readonly AuditEntry[]): Promise<AuditEntryShown[]> {
  const names = await AuditNames.of(reader, entries.map(entryBody));
  return entries.map((entry) => {
    const { seq, at, kind, ...record } = auditView(entry);
    return { seq, at, kind, text: auditSentence({ kind, body: entryBody(entry) }, names), ...record };
  });
}

/** Bytes that are not JSON were tampered with: they are shown unchanged, and verification names them. */
function bodyOf(kind: string, bytes: string): Fact {
  try {
    const { body = null } = JSON.parse(bytes) as { body?: Fact };
    if (kind !== 'decision.made' || !isFacts(body) || typeof body.reason !== 'string') return body;
    return { ...body, reason: currentReason(body.reason) };
  } catch {
    return bytes;
  }
}

/** One row per decision, in the given order. */
export function decisionsText(decisions: readonly DecisionNow[], options: TerminalOptions = {}): string {
  return shownDecisionsText(decisions.map(decisionView), options);
}

/** The same of decisions as an endpoint shows them. */
export function shownDecisionsText(
  decisions: Output<'listDecisions'>['decisions'],
  options: TerminalOptions = {},
): string {
  if (decisions.length === 0) return 'no decisions\n';
  const rows = decisions.map((decision) => [
    whole(timeCell(decision.writtenAt)),
    whole(decision.rule),
    decision.action,
    whole(decision.target),
    [
      `${decisionWords(decision)}: ${decision.reasonText}`,
      ...(actKindOf(decision) === 'would' ? [capWordsOf(decision) ?? []].flat() : []),
      ...outcomeLines(decision),
    ],
    whoLines(decision.subject, decision.target),
    [
      ...changeTexts(decision.effect.changes ?? []),
      ...(decision.effect.deletion ? deletionTexts(decision.effect.deletion) : []),
    ],
    factTexts(decision.facts, Date.parse(decision.writtenAt)),
    whole(timeCell(decision.since)),
    String(decision.runSeq),
  ]);
  return `${terminalList(DECISIONS, rows, options, ['Run', 'Seen since', 'Facts', 'Change', 'About', 'Action'])}\n`;
}

const DECISIONS = [
  ...['When', 'Rule', 'Action', 'Target', 'Decision', 'About', 'Change', 'Facts', 'Seen since', 'Run'],
];

/** What a dry run would do or report has no outcome beside that. */
function outcomeLines({ outcome, outcomeText }: ReportDecision): string[] {
  if (outcome === null || outcome === 'dry_run') return [];
  return [outcomeText ? `${outcomeName(outcome)}: ${outcomeText}` : outcomeName(outcome)];
}

const AUDIT_WIDE = 140;

/** One row per entry, in the given order. JSON has all that it records. */
export function auditText(entries: readonly AuditEntryShown[], options: TerminalOptions = {}): string {
  if (entries.length === 0) return 'no audit entries\n';
  const rows = entries.map(({ seq, at, kind, text, hash }) => [
    String(seq),
    whole(timeCell(at)),
    text,
    whole(kind),
    whole(hash.slice(0, 12)),
  ]);
  const head = ['Entry', 'When', 'What', 'Kind', 'Hash'];
  // The sentence needs the room first.
  const shown = (options.width ?? AUDIT_WIDE) >= AUDIT_WIDE ? head.length : 3;
  return `${terminalList(
    head.slice(0, shown),
    rows.map((row) => row.slice(0, shown)),
    options,
    ['Hash', 'Kind'],
  )}\n`;
}

// The result of verifying the audit, for people.

export function auditCheckText(check: AuditCheck): string {
  if (check.bad) return `the audit is broken at ${faultText(check.bad)}; ${check.entries} entries before it are whole`;
  if (check.tables.length > 0) {
    return `${check.entries} entries are whole, but the database was changed beside the engine: ${differencesText(check.tables)}`;
  }
  const lines = [
    `the audit is whole: ${check.entries} entries, head ${check.head}`,
    ...(check.first > 1
      ? [`entries before ${check.first} are missing here: archived, or not part of this export`]
      : []),
    ...(check.checkpoints > 0
      ? [
          check.checkpoints === 1
            ? `1 signed checkpoint agrees, over entry ${check.sealed}`
            : `${check.checkpoints} signed checkpoints agree, the last over entry ${check.sealed}`,
        ]
      : []),
    ...check.notes,
  ];
  return lines.join('\n');
}

function faultText({ seq, checkpoint, reason }: AuditFault): string {
  if (checkpoint === undefined) return `entry ${seq}: ${reason}`;
  return `entry ${seq}: the checkpoint over ${checkpoint} entries ${reason}`;
}

// The history of a target or subject: JSON for programs, lines for a terminal.

export function historyView({ at, kind, text, action, target, rules, run, by, id }: HistoryLine): HistoryLineShown {
  return {
    at: isoTime(at),
    kind,
    text,
    action: action ?? null,
    target: target ?? null,
    rules,
    run: run ?? null,
    by: by ?? null,
    id,
  };
}

/** Empty without lines. */
export function historyText(lines: readonly HistoryLine[], options: TerminalOptions = {}): string {
  if (lines.length === 0) return '';
  const rows = lines.map(({ at, kind, text, run, by }) => [
    whole(timeCell(isoTime(at))),
    kind,
    text,
    by ?? '',
    run === undefined ? '' : String(run),
  ]);
  return `History\n\n${terminalList(['When', 'What', 'How', 'Who', 'Run'], rows, options, ['Run', 'Who'])}\n`;
}

// Runs as a list: JSON for programs, a table for a terminal.

export interface CountedRun {
  run: Run;
  counts: RunCounts;
}

export function runLineView({ run, counts }: CountedRun) {
  const { rulesDir, rules, ...view } = runView(run);
  return {
    ...view,
    /** The lower of the run's and the daemon's mode: how far it could go. */
    modeInForce: leastMode(run.mode, run.daemonMode),
    tookMs: run.finishedAt === undefined ? null : run.finishedAt - run.startedAt,
    rules,
    rulesDir,
    counts,
  };
}

/** What started a run, and what it left out. */
export function triggerWords({ trigger, scoped, rules }: Pick<ReportRun, 'trigger' | 'scoped' | 'rules'>): string[] {
  if (trigger === 'check') return [trigger, 'only one subject'];
  if (trigger === 'watch') return [trigger, scoped ? 'only subjects of new events' : 'all subjects, after new events'];
  return [trigger, ...(scoped ? [`only ${rules.join(', ')}`] : [])];
}

const RUNS = ['Run', 'Started', 'Trigger', 'Mode', 'Status', 'Took', 'Decided, done'];

/** One row per run, in the given order. */
export function runsText(runs: readonly CountedRun[], options: TerminalOptions = {}): string {
  if (runs.length === 0) return 'no runs\n';
  const rows = runs
    .map(runLineView)
    .map((run): Cell[] => [
      String(run.seq),
      whole(timeCell(run.startedAt)),
      triggerWords(run),
      run.modeInForce,
      [run.status, ...(run.error === null ? [] : [run.error])],
      run.tookMs === null ? '' : formatDuration(run.tookMs),
      countWords(run.counts),
    ]);
  return `${terminalList(RUNS, rows, options, ['Took'])}\n`;
}

/** Each that is not zero, the decisions first. */
export function countWords({ act, hold, wait, skip, done, failed, open }: RunCounts): string[] {
  const words = (counts: readonly [string, number][]) =>
    counts.filter(([, count]) => count > 0).map(([word, count]) => `${countText(count)} ${word}`);
  const decided = words([
    ['act', act],
    ['wait', hold],
    ['later', wait],
    ['skip', skip],
  ]);
  const called = words([
    ['done', done],
    ['failed', failed],
    ['open', open],
  ]);
  return [decided, called].filter((part) => part.length > 0).map((part) => part.join(', '));
}
