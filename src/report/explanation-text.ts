// report: an explanation as text for people. In: an explanation. Out: lines: the verdict, the tree, the facts, what would flip it;
// and the words for each part of it. Names in them are hostile: each writer escapes them.
import { ageText, spanText } from '../domain/age-text.ts';
import { shownName } from '../domain/clip.ts';
import { formatDuration } from '../domain/duration.ts';
import type { ExplainedFact, ExplainedPart, ExplainedPast, Explanation, ShownUnit } from '../domain/explanation.ts';
import type { Fact } from '../domain/facts.ts';
import { showLiteral } from '../domain/literal-text.ts';
import { isoTime } from '../domain/time-text.ts';
import { epochMsOf } from '../domain/timestamp.ts';

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
  const isNumber = typeof value === 'number' || typeof value === 'bigint';
  const epochMs = unit === 'time' && isNumber ? epochMsOf(value) : undefined;
  return epochMs === undefined ? showLiteral(value) : ageText(epochMs, atMs);
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
export function explanationFlipWords({ flips, verdict, facts }: Explanation): string[] {
  if (flips.length === 0) return [`no change of at most two facts was found that would change ${verdict}`];
  const units = new Map(facts.map(({ fact, unit }) => [fact, unit]));
  const counted = new Set(facts.filter(({ source }) => source === 'events').map(({ fact }) => fact));
  return flips.map((flip) => {
    const changes = flip.changes.map(({ fact, from, to }) => {
      const words = (value: Fact | undefined) => fieldWords(value, units.get(fact));
      const now = counted.has(fact) && typeof from !== 'number' ? countWords(from) : words(from);
      return `${fact} were ${words(to)} (now ${now})`;
    });
    return `would be ${flip.verdict} if ${changes.join(' and ')}`;
  });
}

/** A freshness timestamp is not among the facts that the condition reads; its digits show what it is. */
function fieldWords(value: Fact | undefined, unit: ShownUnit | undefined): string {
  if (value === undefined) return 'absent';
  if (unit === 'seconds' && typeof value === 'number') return spanText(value * 1_000);
  const isTime = unit === 'time' || typeof value === 'bigint';
  const epochMs = isTime && (typeof value === 'number' || typeof value === 'bigint') ? epochMsOf(value) : undefined;
  if (epochMs === undefined) return showLiteral(value);
  return momentText(Math.floor(epochMs));
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
