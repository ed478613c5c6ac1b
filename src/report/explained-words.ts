// report: what would be decided now about one subject, what the last run decided, and as of when all of it is known, in words. In: an
// explanation. Out: plain text that may hold hostile names: each writer escapes it for its own medium.
import type { Decision, StoredDecision } from '../domain/decision.ts';
import type { DecidedNow, ExplainedSubject } from '../domain/explanation.ts';
import { isDone } from '../domain/intent.ts';
import { SOURCE_OF } from '../domain/subjects.ts';
import { timeText } from '../domain/time-text.ts';

const CHECKS = {
  conflict: 'conflicts with other rules',
  other_first: 'what goes first on the same target',
  limits: 'limits',
  owners: 'owners',
  ceiling: 'ceilings',
  cleared: 'undoings by other rules',
} as const;

/** The checks that were not asked, as they take a whole run. */
export function notAskedWords(decisions: readonly Pick<DecidedNow, 'notAsked'>[]): string[] {
  const unasked = new Set<string>(decisions.flatMap(({ notAsked }) => notAsked));
  return Object.entries(CHECKS).flatMap(([check, words]) => (unasked.has(check) ? words : []));
}

/** What is not live is not done: by the rule's own mode, or by the daemon's. */
export function nowWords({ decision, mode, notAsked }: DecidedNow): string {
  if (decision === 'hold') return 'would be HELD';
  if (decision === 'skip') return 'would be skipped';
  if (mode !== 'enforce') return `would only be reported, in mode ${mode}`;
  return notAsked.length === 0 ? 'WOULD ACT' : 'WOULD ACT, if a whole run allows it';
}

export function becauseWords({ reason, reasonText }: Pick<Decision, 'reason' | 'reasonText'>): string {
  return `because ${reasonText} (${reason})`;
}

export function nothingNowWords({
  mode,
  explanation: { verdict },
  claims,
  basis: { events },
}: ExplainedSubject): string {
  if (mode === 'off') return 'nothing: the rule is off';
  if (events?.state === 'failed') return 'nothing: a run does not judge by events that it cannot read';
  if (verdict === 'unknown' || verdict === 'error') return `nothing: a verdict ${verdict} never acts, and never undoes`;
  if (claims.length > 0) return 'nothing, as yet: a run decides when what is in force is undone';
  return 'nothing: the rule does not match, and nothing is in force by it';
}

export function thenWords({ decision, mode, cappedBy, outcome }: StoredDecision): string {
  if (decision === 'hold') return 'was HELD';
  if (decision === 'skip') return 'was skipped';
  const isDry = outcome === 'dry_run' || (outcome === undefined && mode === 'dry-run');
  if (isDry) return cappedBy === undefined ? `was only reported, in mode ${mode}` : 'would have ACTED in a live run';
  if (outcome === undefined) return 'was to be done, and is not carried out yet';
  return `${isDone({ outcome }) ? 'was DONE' : 'was tried'} (${outcome})`;
}

export function sinceWords({ runSeq, writtenAt }: StoredDecision, seq: number): string {
  return runSeq === seq ? '' : ` (unchanged since run ${runSeq}, ${timeText(writtenAt)})`;
}

export function basisWords({
  source,
  seq,
  state,
  trusted,
  reasons,
}: ExplainedSubject['basis']['sources'][number]): string {
  if (seq === undefined) return `${source}: not read by a run yet, and taken as trusted`;
  if (state === 'read' && trusted) return `${source}: trusted in run ${seq}`;
  const what = { read: 'NOT TRUSTED', unavailable: 'not available (403)', failed: 'could not be read', skipped: '' };
  return `${source}: ${what[state]} in run ${seq}: ${reasons.join('; ')}`;
}

export function eventWords({
  state,
  trusted,
  at: atMs,
  reasons,
}: NonNullable<ExplainedSubject['basis']['events']>): string {
  const why = reasons.join('; ');
  if (state === 'read') return trusted ? 'events: read now' : `events: NOT TRUSTED: ${why}`;
  if (state === 'unavailable') return `events: not available (403): ${why}`;
  const known = atMs === undefined ? 'and never were' : `so windows end at ${timeText(atMs)}, when they last were`;
  return `events cannot be read now, ${known}: ${why}`;
}

/** The last run that judged the rule; undefined: there is none, and `recorded.none` is why. */
export function lastRunWords({ explanation, basis: { run } }: ExplainedSubject): string | undefined {
  if (!run) return undefined;
  const edited = run.wasEdited ? ', by the rule as it was before it was edited' : '';
  const matched = `${run.match} of ${run.subjects} ${SOURCE_OF[explanation.subject.kind]} matched${edited}`;
  return `run ${run.seq} (${timeText(run.at)}, mode ${run.mode}): ${matched}`;
}

export function differsWords({ recorded }: ExplainedSubject): string {
  return recorded.differs
    ? 'THIS DIFFERS from now: something changed since, or it takes a whole run to decide'
    : 'the same as now';
}
