// domain: the faults that a zod schema found in an input from outside, in words for people. In: its issues and the
// input. Out: a place (`metadata.name`) and a sentence's end. It never repeats a whole input, and never mentions zod.
import type { z } from 'zod';

export type Issue = z.core.$ZodIssue;

/** The first issue; for a union, that of the branch that got furthest into the value. */
export function deepest(issues: readonly Issue[], prefix: PropertyKey[] = []): Issue {
  const first = issues[0] as Issue;
  let best: Issue = { ...first, path: [...prefix, ...first.path] };
  if (first.code !== 'invalid_union') return best;
  const outer = best.path;
  for (const branch of first.errors) {
    if (branch.length === 0) continue;
    const inner = deepest(branch, outer);
    if (inner.path.length > best.path.length) best = inner;
  }
  return best;
}

export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    const safe = String(key).slice(0, 100);
    if (typeof key === 'number') return `${text}[${safe}]`;
    return text === '' ? safe : `${text}.${safe}`;
  }, '');
}

/** Unknown members that are named. */
const KEYS_MAX = 20;

/** Follows the name of the faulty value: "must be a string". */
export function wordsOf(issue: Issue, input: unknown): string {
  if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input')) {
    return valueAt(input, issue.path) === undefined ? 'is required' : `must be ${article(issue.expected)}`;
  }
  if (issue.code === 'invalid_value')
    return `must be one of ${issue.values.map((each) => `\`${String(each)}\``).join(', ')}`;
  if (issue.code === 'unrecognized_keys') {
    const shown = issue.keys.slice(0, KEYS_MAX).map((key) => `\`${key.slice(0, 100)}\``);
    const more = issue.keys.length - shown.length;
    const names = more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ');
    return issue.keys.length === 1 ? `has an unknown member: ${names}` : `has unknown members: ${names}`;
  }
  if (issue.code === 'too_small' && issue.message.startsWith('Too small')) {
    return issue.minimum === 1 && !isNumber(issue)
      ? 'must not be empty'
      : `must be at least ${issue.minimum}${unit(issue)}`;
  }
  if (issue.code === 'too_big' && issue.message.startsWith('Too big')) {
    return `must be at most ${issue.maximum}${unit(issue)}`;
  }
  if (issue.code === 'invalid_union' && issue.message === 'Invalid input') return 'is not of the expected form';
  return issue.message;
}

const isNumber = ({ origin }: { origin: string }): boolean => ['number', 'int', 'bigint'].includes(origin);

function unit(issue: { origin: string }): string {
  if (isNumber(issue)) return '';
  return issue.origin === 'string' ? ' characters long' : ' in number';
}

function article(type: string): string {
  const noun = type === 'record' ? 'object' : type;
  return /^[aeio]/.test(noun) ? `an ${noun}` : `a ${noun}`;
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[key] : undefined,
    input,
  );
}
