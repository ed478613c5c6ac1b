// rules: zod's issues about a rule file → problems in plain words: what was expected, what was found, and the nearest known name.
// In: issues and the file's value. Out: problems with their places.
import type { z } from 'zod';
import { didYouMean } from '../../base/nearest-name.ts';
import { type Fact, isFacts, showLiteral } from '../../domain/facts.ts';
import { durationFault } from '../check/scope.ts';
import { ownAt } from '../language/expression.ts';
import type { Place, Problems } from '../language/problem.ts';
import { KEYS } from './rule-text.ts';

const DURATION_KEYS = new Set(['for', 'clear_for', 'cooldown', 'each', 'ago', 'from', 'to', 'before']);

/** Reports all issues of a file; `value` is what the file contains. */
export function reportFormat(issues: readonly z.core.$ZodIssue[], value: Fact, problems: Problems): void {
  for (const issue of issues) reportIssue(issue, value, problems);
}

function reportIssue(issue: z.core.$ZodIssue, value: Fact, problems: Problems): void {
  const place = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
  const found = ownAt(value, place.map(String));
  const name = place.length > 0 ? `\`${nameOf(place)}\`: ` : '';
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) {
      const known = KEYS[lastName(place)] ?? [];
      problems.add(
        'format',
        [...place, key],
        `${name}there is no \`${key}\` in a rule${place.length > 0 ? ' here' : ''}${didYouMean(key, known)}`,
      );
    }
    return;
  }
  if (found === undefined && isMissing(issue)) {
    problems.add('format', place.slice(0, -1), `\`${nameOf(place)}\` is missing${expectation(issue)}`);
    return;
  }
  if (isDurationPlace(place)) {
    problems.add('unit', place, `${name}${durationFault(found)}`);
    return;
  }
  if (place.at(-2) === 'steps') {
    problems.add('format', place, `${name}expected a share such as "10%", found \`${showLiteral(found ?? null)}\``);
    return;
  }
  problems.add('format', place, `${name}${sentence(issue, found)}`);
}

const isMissing = (issue: z.core.$ZodIssue): boolean =>
  ['invalid_type', 'invalid_value', 'invalid_union'].includes(issue.code);

function isDurationPlace(place: Place): boolean {
  const last = place.at(-1);
  if (last === 'to' && place.at(-2) === 'notice') return false;
  return (typeof last === 'string' && DURATION_KEYS.has(last)) || place.at(-2) === 'fresh' || place.at(-2) === 'remind';
}

function sentence(issue: z.core.$ZodIssue, found: Fact | undefined): string {
  const shown = found === undefined ? 'nothing' : `\`${showLiteral(found)}\``;
  switch (issue.code) {
    case 'invalid_value': {
      const values = issue.values.map(String);
      const hint = typeof found === 'string' ? didYouMean(found, values) : '';
      return `expected ${values.length > 1 ? 'one of ' : ''}${values.join(', ')}, found ${shown}${hint}`;
    }
    case 'invalid_type':
      return `expected ${TYPE_WORDS[issue.expected] ?? issue.expected}, found ${shown}`;
    case 'invalid_format':
      return issue.format === 'datetime'
        ? `expected a time with its zone, such as "2026-11-28T22:00:00+01:00", found ${shown}`
        : `expected lower-case words joined by hyphens (kebab-case), found ${shown}`;
    case 'too_small':
      return `expected at least ${issue.minimum}${isFacts(found) || Array.isArray(found) ? ' entry' : ''}, found ${shown}`;
    case 'too_big':
      return `expected at most ${issue.maximum}, found ${shown}`;
    case 'invalid_union':
      return `expected ${UNION_WORDS[lastName(issue.path.map((part) => String(part)))] ?? 'another form'}, found ${shown}`;
    default:
      return issue.message;
  }
}

const TYPE_WORDS: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  record: 'an object',
  object: 'an object',
  array: 'a list',
};
const UNION_WORDS: Record<string, string> = {
  then: 'the name of an action, or {action: NAME, with: {…}}, or a list of these',
  when_allowed: 'a window such as "Mon 09:00-Fri 17:00 Europe/Berlin", or a list of these',
  expect: 'a verdict (match, no_match, unknown, error), or {verdict: …, reasons: […]}',
};

function expectation(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_value') return `; expected one of ${issue.values.map(String).join(', ')}`;
  return '';
}

const lastName = (place: Place): string =>
  String(place.filter((part) => typeof part === 'string' && !/^\d+$/.test(part)).at(-1) ?? '');
const nameOf = (place: Place): string =>
  place.map((part, i) => (typeof part === 'number' ? `[${part}]` : i > 0 ? `.${part}` : part)).join('');
