// report: the columns of a table of decisions, for Markdown and terminal alike. In: decisions of one group. Out:
// columns of plain lines that may hold hostile names: each writer escapes them.
import type { KnownTraits } from '../domain/action.ts';
import { deletionTexts } from '../domain/deletion.ts';
import { alsoTouched, outcomeWords, targetNoun, unchangedWords } from './decision-words.ts';
import { changeTexts, factTexts, flipWords } from './fact-text.ts';
import { type CellLine, joinedLine, marked, whole } from './marked.ts';
import type { ReportRun, RunDecision } from './report.ts';
import { timeCell } from './time-words.ts';
import { whoLine, whoLines } from './who.ts';

export interface DecisionColumn {
  head: string;
  /** What an HTML report shows in its own way. */
  kind?: 'who' | 'since' | 'facts';
  lines(decision: RunDecision): CellLine[];
}

const ALSO_MAX = 5;

const WHO: DecisionColumn = {
  head: 'Who',
  kind: 'who',
  lines: (decision) => [...whoLines(decision.subject, decision.target), ...alsoHit(decision)],
};
/** The changed values, before and after: this is what an operator approves. */
const CHANGE: DecisionColumn = {
  head: 'Change',
  lines: ({ effect }) =>
    effect.changes?.length === 0 ? ['nothing: already in this state'] : changeTexts(effect.changes ?? []),
};
/** What a deletion takes from whom: the devices, their owners' certificates, the users who have no other device. */
const TAKES: DecisionColumn = {
  head: 'Takes',
  lines: ({ effect }) => (effect.deletion ? deletionTexts(effect.deletion) : []),
};
export const OUTCOME: DecisionColumn = { head: 'Outcome', lines: (decision) => [outcomeWords(decision)] };
export const HELD_BECAUSE: DecisionColumn = { head: 'Held because', lines: ({ reasonText }) => [reasonText] };
export const SKIPPED_BECAUSE: DecisionColumn = { head: 'Skipped because', lines: ({ reasonText }) => [reasonText] };

/**
 * Who, the target if it is not the subject itself, what is changed or taken, why, since when; then `more`. Ages are those at the
 * start of the run.
 */
export function decisionColumns(
  decisions: readonly RunDecision[],
  more: readonly DecisionColumn[],
  { startedAt }: Pick<ReportRun, 'startedAt'>,
  actions?: KnownTraits,
): DecisionColumn[] {
  const why: DecisionColumn = {
    head: 'Why',
    kind: 'facts',
    lines: (decision) => whyLines(decision, Date.parse(startedAt)),
  };
  const target: DecisionColumn = {
    head: targetNoun(decisions, actions),
    lines: (decision) => [whole(decision.target)],
  };
  // Where all are new, or none is, the line above the table says so.
  const isMixed = new Set(decisions.map(({ change }) => change)).size > 1;
  const since: DecisionColumn = {
    head: 'Seen since',
    kind: 'since',
    lines: ({ since: at, change }) => [timeCell(at), ...(isMixed && change !== 'still' ? [change] : [])],
  };
  const isSubject = decisions.every(({ subject, target: own }) => subject.id === own);
  const change = decisions.some(({ effect }) => effect.changes !== undefined) ? [CHANGE] : [];
  const takes = decisions.some(({ effect }) => effect.deletion !== undefined) ? [TAKES] : [];
  return [WHO, ...(isSubject ? [] : [target]), ...change, ...takes, why, since, ...more];
}

/** Several devices may share a serial number: all are affected. */
export function alsoHit(decision: RunDecision): CellLine[] {
  if (decision.subject.kind !== 'device') return [];
  const also = alsoTouched(decision);
  if (also.length === 0) return [];
  const more = also.length > ALSO_MAX ? ` and ${also.length - ALSO_MAX} more` : '';
  const named = also.slice(0, ALSO_MAX).map(({ id, name, owners }) => whoLine({ id, name, owners }));
  return [marked('also affects ', joinedLine(named, '; '), more)];
}

function whyLines(decision: RunDecision, atMs: number): string[] {
  const unchanged = unchangedWords(decision);
  return [
    ...factTexts(decision.facts, atMs),
    ...(decision.flip ? [flipWords(decision.flip, atMs)] : []),
    ...(decision.decision === 'act' && decision.reason !== 'rule_matches' ? [decision.reasonText] : []),
    ...(unchanged ? [`(${unchanged})`] : []),
  ];
}
