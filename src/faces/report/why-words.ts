// report: what is known of one subject, in words: whether it is banned or disabled now, who made it so and why, and what each rule says of it.
// In: the answer of `why`. Out: plain text that may hold hostile names: each writer escapes it for its own medium.

import { shownName } from '../../base/text.ts';
import { ageText, epochMsOf, formatDuration, isoTime, spanText, timeText } from '../../base/time.ts';
import { actorText } from '../../domain/actor.ts';
import { type Decision, LIFTED_BY_TIME, type StoredDecision } from '../../domain/decision.ts';
import { type Fact, showLiteral } from '../../domain/facts.ts';
import { type Intent, isDone } from '../../domain/intent.ts';
import { SOURCE_OF } from '../../domain/subjects.ts';
import { ANOTHER_TEXT } from '../../domain/verdict.ts';
import type {
  AsOf,
  DecidedNow,
  ExplainedFact,
  ExplainedPart,
  ExplainedPast,
  ExplainedSubject,
  Explanation,
  ShownUnit,
  TargetState,
  Why,
  WhyRule,
} from '../../domain/why.ts';
import { factTexts, numberOf, rangeWords } from './fact-text.ts';
import { breakGlassWords } from './plan-view.ts';

/** The states, the first sentence of each in capitals where access is taken away; never empty. */
export function stateWords({
  states,
  unread,
  subject,
  asOf,
}: Pick<Why, 'states' | 'unread' | 'subject' | 'asOf'>): string[] {
  const lines = states.flatMap((state) => stateOf(state, subject.id, asOf));
  if (unread !== undefined) lines.push(`it could not be read now: ${unread}`);
  if (lines.length === 0) lines.push(`a ${subject.kind} has no state of its own that Trustward changes`);
  return lines;
}

/** `BANNED`, or that it is not known: for a device beside others. */
export function shortStateWords({ text, isSo }: TargetState): string {
  return isSo === undefined ? 'state unknown' : isSo ? text.toUpperCase() : `not ${text}`;
}

function stateOf(state: TargetState, id: string, asOf: AsOf | undefined): string[] {
  const { text, target, isSo, last, isOwn } = state;
  if (isSo === undefined && asOf) return [`whether it was ${text} is not recorded`, ...lastWords(state, id)];
  if (isSo === undefined) return [`whether it is ${text} could not be read now`, ...lastWords(state, id)];
  const now = isSo ? text.toUpperCase() : `not ${text}`;
  if (!isOwn && !last) return [isSo ? `${now}, but not by Trustward: somebody else did it` : now];
  if (!isOwn)
    return [`${now}: somebody else changed it after Trustward's last action on ${target}`, ...lastWords(state, id)];
  return [now, ...lastWords(state, id)];
}

/** Who did it, when, and on which facts: those of another device of the serial number, or of the user, name it. */
function lastWords({ last }: TargetState, id: string): string[] {
  if (!last) return [];
  const { intent, runSeq, isOfLook, approvedBy, breakGlass } = last;
  const rules = [...new Set(intent.basis.map(({ rule }) => rule))].join(', ');
  const run = runSeq === undefined ? '' : ` in run ${runSeq}${isOfLook ? ' (watch, after new events)' : ''}`;
  const who = intent.released
    ? 'at an operator’s request'
    : `by rule ${rules}${run}${approvedBy === undefined ? '' : `, approved by ${actorText(approvedBy)}`}`;
  const at = intent.settledAt === undefined ? '' : `, ${timeText(intent.settledAt)}`;
  const factsOf = ({ subjectId, facts }: Intent['basis'][number]) =>
    factTexts(facts, intent.createdAt).map((text) => (subjectId === id ? text : `${text} of ${shownName(subjectId)}`));
  const facts = [...new Set(intent.basis.flatMap(factsOf))];
  const because = facts.length === 0 || intent.undo ? [] : [`because ${facts.join(' and ')}`];
  const glass = breakGlassWords({ breakGlass });
  return [
    `${intent.action} ${intent.target}: ${intent.outcome}${at}, ${who}`,
    ...because,
    ...(glass === undefined ? [] : [glass]),
  ];
}

/** Those that say something first. */
const ORDER = { match: 0, unknown: 1, error: 1, no_match: 2 } as const;

export function rulesInOrder(rules: readonly WhyRule[]): WhyRule[] {
  return [...rules].sort((a, b) => ORDER[a.verdict ?? 'unknown'] - ORDER[b.verdict ?? 'unknown']);
}

const VERDICTS = { match: 'MATCHES', no_match: 'does not match', unknown: 'is unknown', error: 'failed' } as const;

export function verdictWords({ verdict }: Pick<WhyRule, 'verdict'>): string {
  return verdict === undefined ? 'not judged' : VERDICTS[verdict];
}

/** What led to its match, each fact once. */
export function matchingFacts({ verdict, decisions }: WhyRule, atMs: number): string[] {
  return verdict === 'match' ? [...new Set(decisions.flatMap((one) => factTexts(one.facts, atMs)))] : [];
}

/** What an answer about an earlier time rests on; empty for the present. */
export function asOfWords(asOf: AsOf | undefined): string[] {
  if (asOf === undefined) return [];
  const { askedAt: askedMs, run, runAt: runAtMs, seenAt: seenAtMs, notes } = asOf;
  const seen = seenAtMs < runAtMs ? [`it was last read by a run at ${timeText(seenAtMs)}`] : [];
  return [
    `${timeText(askedMs)}, as recorded by run ${run} at ${timeText(runAtMs)}; the platform was not asked, and the present may differ`,
    ...seen,
    ...notes,
  ];
}

// An explanation as text for people.

/** After the name of a rule, before a subject. */
const WORDS = {
  match: 'matches',
  no_match: 'does not match',
  unknown: 'is unknown for',
  error: 'failed for',
} as const;

/** Ends with a newline. The caller adds what `decide` would do. */
export function explanationText(explanation: Explanation): string {
  const { rule, title, subject, verdict, reason, at: atMs } = explanation;
  const lines = [
    `${rule} (${title}) ${WORDS[verdict]} ${subject.kind} ${subject.id}: ${verdict}`,
    ...whoLines(subject),
  ];
  if (reason) lines.push(`because ${reason}`);
  lines.push('', 'condition', ...treeLines(explanation.tree, 1, atMs), '', 'facts');
  lines.push(...explanation.facts.map((fact) => factLine(fact, atMs)));
  lines.push('', ...explanationFlipWords(explanation));
  return `${lines.join('\n')}\n`;
}

/** `Ada's MacBook, serial C02MQHAHEA, owner ada@example.com`. */
function whoLines({ id, name, serial, owners = [] }: Explanation['subject']): string[] {
  const known = [
    ...(name === '' || name === id ? [] : [shownName(name)]),
    ...(serial === undefined || serial === id ? [] : [`serial ${serial}`]),
    ...(owners.length === 0 ? [] : [`owner${owners.length === 1 ? '' : 's'} ${owners.join(', ')}`]),
  ];
  return known.length === 0 ? [] : [`  ${known.join(', ')}`];
}

/** A time as its age and date, seconds as a span. */
function valueText(value: Fact, unit: ShownUnit | undefined, atMs: number): string {
  if (unit === 'seconds' && typeof value === 'number') return spanText(value * 1_000);
  const epochMs = unit === 'time' ? momentOf(value) : undefined;
  return epochMs === undefined ? showLiteral(value) : ageText(epochMs, atMs);
}

/** Of a time: an integer beyond 2^53 comes from another process as a string of digits. */
function momentOf(value: Fact | undefined): number | undefined {
  const exact = value === undefined ? undefined : numberOf(value);
  return exact === undefined ? undefined : epochMsOf(exact);
}

/** What one part of a condition is for this subject; and why it is not known, where none of its own parts shows that. */
export function partWords(part: ExplainedPart, atMs: number): { answer: string; why: string | undefined } {
  const { answer, value, unit, reason, parts } = part;
  return {
    answer: answer ?? (value === undefined ? 'unknown' : valueText(value, unit, atMs)),
    why: reason && parts.length === 0 ? reason : undefined,
  };
}

export function treeLines(part: ExplainedPart, level: number, atMs: number): string[] {
  const { answer, why } = partWords(part, atMs);
  return [
    `${'  '.repeat(level)}${answer.padEnd(8)} ${part.text}${why === undefined ? '' : `  (${why})`}`,
    ...part.parts.flatMap((inner) => treeLines(inner, level + 1, atMs)),
  ];
}

function factLine(fact: ExplainedFact, atMs: number): string {
  const { value, notes } = explainedFactWords(fact, atMs);
  return `  ${fact.fact} = ${value}  [${notes.join(', ')}]`;
}

/** The value of a fact; where it is from, and how old it and its timestamps are. */
export function explainedFactWords(fact: ExplainedFact, atMs: number): { value: string; notes: string[] } {
  const value =
    fact.value === undefined ? `unknown: ${fact.reason ?? 'not read'}` : valueText(fact.value, fact.unit, atMs);
  const vouched = fact.vouchedBy.map(({ fact: time, ageMs, ageMaxMs }) => {
    // 7 days and an hour are shortened to `7d`, which does not show that they exceed a limit of 7 days.
    const limit = `${ageMs !== undefined && ageMs > ageMaxMs ? 'too old: ' : ''}at most ${formatDuration(ageMaxMs)}`;
    return `${time} ${ageMs === undefined ? 'never set' : ago(ageMs)} (${limit})`;
  });
  const age = fact.ageMs === undefined ? [] : [`read ${ago(fact.ageMs)}`];
  return { value, notes: [fact.source, ...age, ...vouched, ...(fact.past ? [pastWords(fact.past)] : [])] };
}

/** `was "High" until 2026-11-20 08:05:00Z`; else since when the value is known without a gap. */
function pastWords({ was, changedAt: changedMs, knownSince: sinceMs }: ExplainedPast): string {
  if (was !== undefined) {
    const until = changedMs === undefined ? 'while it had a value' : `until ${momentText(changedMs)}`;
    return `was ${fieldWords(was, undefined)} ${until}`;
  }
  return sinceMs === undefined ? 'nothing is known of its past' : `seen without a gap since ${momentText(sinceMs)}`;
}

/** What would change the verdict; that nothing was found, otherwise. */
export function explanationFlipWords({ flips, verdict, facts, at: atMs }: Explanation): string[] {
  if (flips.length === 0) return [`no change of at most two facts was found that would change ${verdict}`];
  const units = new Map(facts.map(({ fact, unit }) => [fact, unit]));
  const counted = new Set(facts.filter(({ source }) => source === 'events').map(({ fact }) => fact));
  return flips.map((flip) => {
    const changes = flip.changes.map(({ fact, from, to, range }) => {
      const words = (value: Fact | undefined) => fieldWords(value, units.get(fact));
      const isCount = counted.has(fact) && typeof from !== 'number';
      const age = range?.of === 'time' ? agoWords(from, atMs) : undefined;
      return `${fact} were ${range ? rangeWords(range) : words(to)} (now ${age ?? (isCount ? countWords(from) : words(from))})`;
    });
    return `it would ${flip.verdict === 'match' ? 'match' : 'not match'} if ${changes.join(' and ')}`;
  });
}

/** A freshness timestamp is not among the facts that the condition reads; its digits show what it is. */
function fieldWords(value: Fact | undefined, unit: ShownUnit | undefined): string {
  if (value === undefined) return 'absent';
  if (unit === 'seconds' && typeof value === 'number') return spanText(value * 1_000);
  if (value === ANOTHER_TEXT) return 'any other value';
  const epochMs = unit === 'time' || typeof numberOf(value) === 'bigint' ? momentOf(value) : undefined;
  if (epochMs === undefined) return showLiteral(value);
  return momentText(Math.floor(epochMs));
}

/** `115 days ago`; undefined for what is no time of the past. */
function agoWords(value: Fact | undefined, atMs: number): string | undefined {
  const timeMs = momentOf(value);
  return timeMs === undefined || timeMs > atMs ? undefined : `${spanText(atMs - timeMs)} ago`;
}

/** A count is a number, a bound in words such as `at least 0`, or not known; no record has it as a field. */
function countWords(value: Fact | undefined): string {
  return value === undefined ? 'unknown' : String(value);
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** In the largest unit that fits once. */
function ago(ms: number): string {
  const unit = UNITS.find(([, size]) => Math.abs(ms) >= size);
  if (!unit) return 'just now';
  return `${Math.floor(Math.abs(ms) / unit[1])}${unit[0]} ${ms < 0 ? 'ahead' : 'ago'}`;
}

function momentText(epochMs: number): string {
  const iso = isoTime(epochMs);
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}Z`;
}

// What would be decided now about one subject, what the last run decided, and as of when all of it is known, in words.

const CHECKS = {
  conflict: 'conflicts with other rules',
  other_first: 'what goes first on the same target',
  limits: 'limits',
  owners: 'owners',
  last_device: "a person's last device",
  devices_of_a_day: "a person's devices of a day",
  ceiling: 'ceilings',
  cleared: 'undoings by other rules',
} as const;

/** The checks that were not asked, as they take a whole run. */
export function notAskedWords(decisions: readonly Pick<DecidedNow, 'notAsked'>[]): string[] {
  const unasked = new Set<string>(decisions.flatMap(({ notAsked }) => notAsked));
  return Object.entries(CHECKS).flatMap(([check, words]) => (unasked.has(check) ? words : []));
}

/** What is not live is not done: by the rule's own mode, or by the daemon's. */
export function nowWords({ decision, reason, mode, notAsked }: DecidedNow): string {
  if (decision === 'hold') return 'would WAIT';
  if (decision === 'skip') return LIFTED_BY_TIME.has(reason) ? 'would wait for its time' : 'would be skipped';
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
  return 'nothing: the rule does not match, and nothing it did is in force';
}

export function thenWords({ decision, reason, mode, cappedBy, outcome }: StoredDecision): string {
  if (decision === 'hold') return 'WAITED';
  if (decision === 'skip') return LIFTED_BY_TIME.has(reason) ? 'waited for its time' : 'was skipped';
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
