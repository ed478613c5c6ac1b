// commands: an explanation of one subject for the terminal: the verdict, what would be decided now, what the last run decided, and
// as of when it knows what it did not read now. In: what explaining answered. Out: text; hidden characters of names are shown.
import type { StoredDecision } from '../domain/decision.ts';
import { SOURCE_OF } from '../domain/subjects.ts';
import { isoTime } from '../domain/time-text.ts';
import { explanationText } from '../evaluate/index.ts';
import type { DecidedNow, ExplainedSubject } from '../explain/explain-subject.ts';
import { paragraph, showHidden, type TerminalOptions, timeWords } from '../report/index.ts';

/** `whatIf`: the folder of the rules, when they are not the active ones. */
export type Explained = ExplainedSubject & { whatIf?: string | undefined };

/** Each line of a part with how far it is set in. */
type Line = [indent: number, words: string];

export function explainedText(explained: Explained, { width = 100 }: TerminalOptions = {}): string {
  const { explanation, whatIf } = explained;
  const lines: Line[] = [
    ...nowLines(explained),
    [0, ''],
    ...lastRunLines(explained),
    [0, ''],
    ...basisLines(explained),
  ];
  return [
    ...(whatIf === undefined ? [] : [`what-if: by the rules in \`${whatIf}\`, not the active ones\n`]),
    ...explanationText(explanation).split('\n'),
    ...lines.flatMap(([indent, words]) => indented(words, indent, width)),
  ]
    .map((line) => line.split('\n').map(showHidden).join('\n'))
    .join('\n');
}

function indented(words: string, indent: number, width: number): string[] {
  const lines = paragraph(words, { width: width - indent }).split('\n');
  return lines.map((line) => `${' '.repeat(line === '' ? 0 : indent)}${line}`);
}

const NOW = { act: 'would be done', hold: 'WOULD BE HELD', skip: 'would be skipped' };
const THEN = { act: 'to be done', hold: 'HELD', skip: 'skipped' };

const CHECKS = {
  conflict: 'conflicts with other rules',
  other_first: 'what goes first on the same target',
  limits: 'limits',
  owners: 'owners',
  ceiling: 'ceilings',
  cleared: 'undoings of other rules',
} as const;

function nowLines(explained: Explained): Line[] {
  const { explanation, decisions, claims } = explained;
  const notAsked = (Object.keys(CHECKS) as (keyof typeof CHECKS)[]).filter((check) =>
    decisions.some((decision) => decision.notAsked.includes(check)),
  );
  return [
    [0, `decided now, for this one subject (${time(explanation.atMs)})`],
    ...decisions.flatMap((decision) => decisionLines(nowWords(decision), decision)),
    ...(decisions.length > 0 ? [] : [[2, nothingWords(explained)] as Line]),
    ...claims.map(({ action, target, openedAt }): Line => {
      const since = time(openedAt);
      return [2, `in force: ${action} ${target}, since ${since}; it is undone when every rule's claim on it has ended`];
    }),
    ...(notAsked.length > 0
      ? [[2, `not checked: ${notAsked.map((check) => CHECKS[check]).join(', ')}: they take a whole run`] as Line]
      : []),
  ];
}

function decisionLines(
  what: string,
  { reason, reasonText, effect }: Pick<StoredDecision, 'reason' | 'reasonText' | 'effect'>,
): Line[] {
  return [
    [2, `${what}: ${effect.text}`],
    [4, `because ${reasonText} (${reason})`],
  ];
}

/** What is not live is not done: by the rule's own mode, or by the daemon's. */
function nowWords({ decision, mode }: DecidedNow): string {
  return decision === 'act' && mode !== 'enforce' ? `would only be reported, in mode ${mode}` : NOW[decision];
}

function nothingWords({ mode, explanation: { verdict }, claims }: Explained): string {
  if (mode === 'off') return 'nothing: the rule is off';
  if (verdict === 'unknown' || verdict === 'error') return `nothing: a verdict ${verdict} never acts, and never undoes`;
  if (claims.length > 0) return 'nothing yet about what is in force';
  return 'nothing: the rule does not match, and nothing of its doing is in force';
}

function lastRunLines({ explanation, basis: { run }, recorded }: Explained): Line[] {
  const list = SOURCE_OF[explanation.subject.kind];
  if (!run) return [[0, `last run: ${recorded.none}`]];
  const edited = run.wasEdited ? ', by the rule as it was before it was edited' : '';
  const what = `${run.match} of ${run.subjects} ${list} matched${edited}`;
  return [
    [0, `decided by run ${run.seq}, the last one of this rule (${time(run.atMs)}, mode ${run.mode}): ${what}`],
    ...recorded.decisions.flatMap((decision) => decisionLines(thenWords(decision, run.seq), decision)),
    ...(recorded.none === undefined ? [] : [[2, `nothing: ${recorded.none}`] as Line]),
    [
      2,
      recorded.differs
        ? 'THIS DIFFERS from what is decided now: things changed since, or it takes a whole run'
        : 'the same as now',
    ],
  ];
}

function thenWords({ decision, outcome, runSeq, writtenAt, mode }: StoredDecision, seq: number): string {
  const what = outcome === undefined ? THEN[decision] : outcome === 'dry_run' ? 'dry run' : `done, ${outcome}`;
  const since = runSeq === seq ? '' : `, unchanged since run ${runSeq} (${time(writtenAt)})`;
  return `${what}, mode ${mode}${since}`;
}

function basisLines({ basis: { sources, events } }: Explained): Line[] {
  return [
    [0, 'the subject is read now; whether its sources can be trusted is as of the last run'],
    ...sources.map((source): Line => [2, sourceWords(source)]),
    ...(events ? eventWords(events).map((words): Line => [2, words]) : []),
  ];
}

function sourceWords({ source, seq, state, trusted, reasons }: Explained['basis']['sources'][number]): string {
  if (seq === undefined) return `${source}: not read by a run yet, and taken as trusted`;
  if (state === 'read' && trusted) return `${source}: trusted in run ${seq}`;
  const what = { read: 'NOT TRUSTED', unavailable: 'not available (403)', failed: 'could not be read', skipped: '' };
  return `${source}: ${what[state]} in run ${seq}: ${reasons.join('; ')}`;
}

function eventWords({ state, trusted, atMs, reasons }: NonNullable<Explained['basis']['events']>): string[] {
  const why = reasons.join('; ');
  if (state === 'read') return trusted ? ['events: read now'] : [`events: NOT TRUSTED: ${why}`];
  if (state === 'unavailable') return [`events: not available (403): ${why}`];
  const known = atMs === undefined ? 'and never were' : `so windows end at ${time(atMs)}, when they last were`;
  return [`events cannot be read now, ${known}: ${why}`];
}

function time(ms: number): string {
  return timeWords(isoTime(ms));
}
