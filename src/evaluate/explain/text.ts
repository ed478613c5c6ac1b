// evaluate: an explanation as text for people. In: an explanation. Out: lines: the verdict, the tree, the facts, what would flip it.

import { formatDuration } from '../../domain/duration.ts';
import type { Fact } from '../../domain/facts.ts';
import { showLiteral } from '../language/wording.ts';
import type { ExplainedFact, Explanation } from './explain.ts';
import type { ExplainedPart } from './parts.ts';

const WORDS = {
  match: 'matches',
  no_match: 'does not match',
  unknown: 'is unknown for',
  error: 'failed for',
} as const;

/** Ends with a newline. The caller adds what `decide` would do. */
export function explanationText(explanation: Explanation): string {
  const { rule, title, subject, verdict, reason } = explanation;
  const lines = [`${rule} (${title}) ${WORDS[verdict]} ${subject.kind} ${subject.id}: ${verdict}`];
  if (reason) lines.push(`because ${reason}`);
  lines.push('', 'condition', ...treeLines(explanation.tree, 1), '', 'facts', ...explanation.facts.map(factLine));
  lines.push('', ...flipLines(explanation));
  return `${lines.join('\n')}\n`;
}

function treeLines(part: ExplainedPart, level: number): string[] {
  const answer = part.answer ?? (part.value === undefined ? 'unknown' : showLiteral(part.value));
  const why = part.reason && part.parts.length === 0 ? `  (${part.reason})` : '';
  return [
    `${'  '.repeat(level)}${answer.padEnd(8)} ${part.text}${why}`,
    ...part.parts.flatMap((inner) => treeLines(inner, level + 1)),
  ];
}

function factLine(fact: ExplainedFact): string {
  const value = fact.value === undefined ? `unknown: ${fact.reason ?? 'not read'}` : showLiteral(fact.value);
  const age = fact.ageMs === undefined ? '' : `, read ${ago(fact.ageMs)}`;
  const vouched = fact.vouchedBy.map(({ fact: time, ageMs, ageMaxMs }) => {
    // 7 days and an hour are shortened to `7d`, which does not show that they exceed a limit of 7 days.
    const limit = `${ageMs !== undefined && ageMs > ageMaxMs ? 'too old: ' : ''}at most ${formatDuration(ageMaxMs)}`;
    return `, ${time} ${ageMs === undefined ? 'never set' : ago(ageMs)} (${limit})`;
  });
  return `  ${fact.fact} = ${value}  [${fact.source}${age}${vouched.join('')}]`;
}

function flipLines({ flips, verdict, facts }: Explanation): string[] {
  if (flips.length === 0) return [`no change of at most two facts was found that would change ${verdict}`];
  const counted = new Set(facts.filter(({ source }) => source === 'events').map(({ fact }) => fact));
  return flips.map((flip) => {
    const changes = flip.changes.map(({ fact, from, to }) => {
      const now = counted.has(fact) ? countWords(from) : fieldWords(from);
      return `${fact} were ${fieldWords(to)} (now ${now})`;
    });
    return `would be ${flip.verdict} if ${changes.join(' and ')}`;
  });
}

function fieldWords(value: Fact | undefined): string {
  return value === undefined ? 'absent' : showLiteral(value);
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
