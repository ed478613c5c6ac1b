// commands: an explanation of one subject for the terminal: the verdict, what would be decided now, what the last run decided, and
// as of when all of it is known. In: what explaining answered. Out: text as wide as the terminal; hidden characters are shown.
import type { Decision, StoredDecision } from '../domain/decision.ts';
import { isDone } from '../domain/intent.ts';
import { SOURCE_OF } from '../domain/subjects.ts';
import { timeText } from '../domain/time-text.ts';
import { explanationText } from '../evaluate/index.ts';
import type { ExplainedSubject } from '../explain/explain-subject.ts';
import type { DecidedNow } from '../explain/judge-subject.ts';
import { flipWords, paragraph, type TerminalOptions } from '../report/index.ts';

/** `whatIf`: the folder of the rules, when they are not the active ones. */
export type Explained = ExplainedSubject & { whatIf?: string | undefined };

/** Spaces at the beginning of a line set it in, and what is wrapped of it a little more. */
export function explainedText(explained: Explained, { width = 100 }: TerminalOptions = {}): string {
  const { explanation, whatIf } = explained;
  const lines = [
    ...(whatIf === undefined ? [] : [`what-if: by the rules in \`${whatIf}\`, not the active ones`, '']),
    ...explanationText(explanation).split('\n'),
    ...nowLines(explained),
    '',
    ...lastRunLines(explained),
    '',
    ...basisLines(explained),
  ];
  return lines.flatMap((line) => wrapped(line, width)).join('\n');
}

function wrapped(line: string, width: number): string[] {
  const indent = line.length - line.trimStart().length;
  const [first = '', ...rest] = paragraph(line.slice(indent), { width: width - indent - 2 }).split('\n');
  return [' '.repeat(indent) + first, ...rest.map((more) => ' '.repeat(indent + 2) + more)];
}

const CHECKS = {
  conflict: 'conflicts with other rules',
  other_first: 'what goes first on the same target',
  limits: 'limits',
  owners: 'owners',
  ceiling: 'ceilings',
  cleared: 'undoings by other rules',
} as const;

function nowLines(explained: Explained): string[] {
  const { explanation, decisions, claims } = explained;
  const unasked = new Set<string>(decisions.flatMap(({ notAsked }) => notAsked));
  const checks = Object.entries(CHECKS).flatMap(([check, words]) => (unasked.has(check) ? words : []));
  return [
    `DECIDED NOW, for this ${explanation.subject.kind} alone (${time(explanation.atMs)})`,
    ...decisions.flatMap((decision) => [
      `  ${nowWords(decision)}, ${because(decision)}`,
      `    ${decision.effect.text}`,
    ]),
    ...(decisions.length === 0 ? [`  ${nothingWords(explained)}`] : []),
    ...(checks.length === 0 ? [] : [`  not checked, since they take a whole run: ${checks.join(', ')}`]),
    ...claims.map(
      ({ action, target, openedAt }) => `  in force by this rule: ${action} ${target}, since ${time(openedAt)}`,
    ),
  ];
}

/** What is not live is not done: by the rule's own mode, or by the daemon's. */
function nowWords({ decision, mode, notAsked }: DecidedNow): string {
  if (decision === 'hold') return 'would be HELD';
  if (decision === 'skip') return 'would be skipped';
  if (mode !== 'enforce') return `would only be reported, in mode ${mode}`;
  return notAsked.length === 0 ? 'WOULD ACT' : 'WOULD ACT, if a whole run allows it';
}

function because({ reason, reasonText }: Pick<Decision, 'reason' | 'reasonText'>): string {
  return `because ${reasonText} (${reason})`;
}

function nothingWords({ mode, explanation: { verdict }, claims, basis: { events } }: Explained): string {
  if (mode === 'off') return 'nothing: the rule is off';
  if (events?.state === 'failed') return 'nothing: a run does not judge by events that it cannot read';
  if (verdict === 'unknown' || verdict === 'error') return `nothing: a verdict ${verdict} never acts, and never undoes`;
  if (claims.length > 0) return 'nothing, as yet: a run decides when what is in force is undone';
  return 'nothing: the rule does not match, and nothing is in force by it';
}

function lastRunLines({ explanation, decisions, basis: { run }, recorded }: Explained): string[] {
  if (!run) return [`LAST RUN: ${recorded.none}`];
  const edited = run.wasEdited ? ', by the rule as it was before it was edited' : '';
  const matched = `${run.match} of ${run.subjects} ${SOURCE_OF[explanation.subject.kind]} matched${edited}`;
  return [
    `LAST RUN of this rule: run ${run.seq} (${time(run.atMs)}, mode ${run.mode}): ${matched}`,
    ...recorded.decisions.flatMap((decision) => [
      `  ${thenWords(decision)}, ${because(decision)}`,
      ...(decision.flip ? [`    ${flipWords(decision.flip, decision.writtenAt)}`] : []),
      `    ${decisions.some(({ effect }) => effect.text === decision.effect.text) ? `${decision.action} ${decision.target}` : decision.effect.text}${sinceWords(decision, run.seq)}`,
    ]),
    ...(recorded.none === undefined ? [] : [`  nothing: ${recorded.none}`]),
    `  ${recorded.differs ? 'THIS DIFFERS from now: something changed since, or it takes a whole run to decide' : 'the same as now'}`,
  ];
}

function thenWords({ decision, mode, cappedBy, outcome }: StoredDecision): string {
  if (decision === 'hold') return 'was HELD';
  if (decision === 'skip') return 'was skipped';
  const isDry = outcome === 'dry_run' || (outcome === undefined && mode === 'dry-run');
  if (isDry) return cappedBy === undefined ? `was only reported, in mode ${mode}` : 'would have ACTED in a live run';
  if (outcome === undefined) return 'was to be done, and is not carried out yet';
  return `${isDone({ outcome }) ? 'was DONE' : 'was tried'} (${outcome})`;
}

function sinceWords({ runSeq, writtenAt }: StoredDecision, seq: number): string {
  return runSeq === seq ? '' : ` (unchanged since run ${runSeq}, ${time(writtenAt)})`;
}

function basisLines({ explanation: { subject }, basis: { sources, events } }: Explained): string[] {
  return [
    'AS OF',
    `  this ${subject.kind}: read now`,
    ...sources.map((source) => `  ${sourceWords(source)}`),
    ...(events ? [`  ${eventWords(events)}`] : []),
  ];
}

function sourceWords({ source, seq, state, trusted, reasons }: Explained['basis']['sources'][number]): string {
  if (seq === undefined) return `${source}: not read by a run yet, and taken as trusted`;
  if (state === 'read' && trusted) return `${source}: trusted in run ${seq}`;
  const what = { read: 'NOT TRUSTED', unavailable: 'not available (403)', failed: 'could not be read', skipped: '' };
  return `${source}: ${what[state]} in run ${seq}: ${reasons.join('; ')}`;
}

function eventWords({ state, trusted, atMs, reasons }: NonNullable<Explained['basis']['events']>): string {
  const why = reasons.join('; ');
  if (state === 'read') return trusted ? 'events: read now' : `events: NOT TRUSTED: ${why}`;
  if (state === 'unavailable') return `events: not available (403): ${why}`;
  const known = atMs === undefined ? 'and never were' : `so windows end at ${time(atMs)}, when they last were`;
  return `events cannot be read now, ${known}: ${why}`;
}

function time(ms: number): string {
  return timeText(ms);
}
