// report: decisions and audit entries as tables for a terminal: the output of `decisions` and `audit list`. In: rows of
// the store. Out: text whose only control characters are line feeds.
import type { AuditEntry } from '../domain/audit-entry.ts';
import { clip, NAME_MAX } from '../domain/clip.ts';
import type { StoredDecision } from '../domain/decision.ts';
import { deletionTexts } from '../domain/deletion.ts';
import { type Fact, isFacts } from '../domain/facts.ts';
import { actKindOf } from './act-kind.ts';
import { auditView } from './audit-view.ts';
import { decisionView } from './decision-view.ts';
import { capWordsOf, decisionWords } from './decision-words.ts';
import { changeTexts, factTexts } from './fact-text.ts';
import { type CellLine, marked, whole } from './marked.ts';
import type { ReportDecision } from './report.ts';
import { type TerminalOptions, terminalTable } from './terminal-table.ts';
import { timeCell } from './time-words.ts';
import { whoLines } from './who.ts';

/** One row per decision, in the given order. */
export function decisionsText(decisions: readonly StoredDecision[], options: TerminalOptions = {}): string {
  if (decisions.length === 0) return 'no decisions\n';
  const rows = decisions.map(decisionView).map((decision) => [
    [timeCell(decision.writtenAt), `run ${decision.runSeq}`],
    [
      ...whoLines(decision.subject, decision.target),
      actionLine(decision),
      ...changeTexts(decision.effect.changes ?? []),
      ...(decision.effect.deletion ? deletionTexts(decision.effect.deletion) : []),
    ],
    [
      whole(decision.rule),
      `${decisionWords(decision)}: ${decision.reasonText}`,
      ...(actKindOf(decision) === 'would' ? [capWordsOf(decision) ?? []].flat() : []),
      ...outcomeLines(decision),
    ],
    [...factTexts(decision.facts, Date.parse(decision.writtenAt)), `seen since ${timeCell(decision.since)}`],
  ]);
  return `${terminalTable(['When', 'Subject and action', 'Rule and decision', 'Why'], rows, options)}\n`;
}

/** The target where it is not the subject itself. */
function actionLine({ action, target, subject }: ReportDecision): CellLine {
  return target === subject.id ? action : marked(`${action} `, whole(target));
}

/** What a dry run would do or report has no outcome beside that. */
function outcomeLines({ outcome, outcomeText }: ReportDecision): string[] {
  if (outcome === null || outcome === 'dry_run') return [];
  return [outcomeText ? `${outcome}: ${outcomeText}` : outcome];
}

/** One row per entry, in the given order; the body as its members, the most informative first. JSON has all of it. */
export function auditText(entries: readonly AuditEntry[], options: TerminalOptions = {}): string {
  if (entries.length === 0) return 'no audit entries\n';
  const rows = entries
    .map(auditView)
    .map(({ seq, at, kind, body, hash }) => [
      String(seq),
      timeCell(at),
      kind,
      [...entryTexts(body, Date.parse(at)), `[${hash.slice(0, 12)}]`],
    ]);
  return `${terminalTable(['Entry', 'When', 'What', 'Content and hash'], rows, options)}\n`;
}

/** What a reader looks for first; identifiers come last. */
const FIRST = [
  'rule',
  'subject',
  'action',
  'target',
  'answer',
  'outcome',
  'reasonText',
  'error',
  'mode',
  'facts',
  'by',
];
const LONG_HASH = /^[0-9a-f]{64}$/;

/** The members of an entry's body, the most informative first, each cut to the length of a name. */
export function entryTexts(body: Fact, atMs: number): string[] {
  if (!isFacts(body)) return factTexts({ content: body }, atMs);
  const rank = (name: string) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
  const members = Object.entries(body).sort(([a], [b]) => rank(a) - rank(b));
  return members.flatMap(([name, value]) => memberTexts(name, value, atMs)).map((text) => clip(text, NAME_MAX));
}

function memberTexts(name: string, value: Fact, atMs: number): string[] {
  if (name === 'facts' && isFacts(value)) return factTexts(value, atMs);
  return factTexts(
    { [name]: typeof value === 'string' && LONG_HASH.test(value) ? `${value.slice(0, 12)}…` : value },
    atMs,
  );
}
