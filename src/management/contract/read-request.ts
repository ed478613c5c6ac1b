// management contract: how a server reads a request by the contract's schemas.
// In: query text or a parsed body. Out: checked values, or one sentence that names the parameter or field. It must
// never throw on a request, and never repeat a whole body in its message.
import type { z } from 'zod';

export type Reading<T> = { ok: true; value: T } | { ok: false; name: string; message: string };

/**
 * Reads query parameters: names in any case, unknown ones ignored, a known one given twice refused.
 * Out: values under the specification's names; or a message such as "`Skip` must be a whole number, 0 or more".
 */
export function readQuery<T extends z.ZodObject>(schema: T, params: Iterable<[string, string]>): Reading<z.output<T>> {
  const names = new Map(Object.keys(schema.shape).map((name) => [name.toLowerCase(), name]));
  const given: Record<string, string> = {};
  for (const [key, value] of params) {
    const name = names.get(key.toLowerCase());
    if (!name) continue;
    if (Object.hasOwn(given, name) && given[name] !== value) {
      return { ok: false, name, message: `\`${name}\` is given twice with different values` };
    }
    given[name] = value;
  }
  return read(schema, given, 'the query');
}

/**
 * Reads a parsed body (undefined when there is none); the message names the field, such as `metadata.name`. Text with half
 * a character in it is refused: no answer could give it back as it came.
 */
export function readBody<T extends z.ZodType>(schema: T, body: unknown): Reading<z.output<T>> {
  const reading = read(schema, body, 'the body');
  if (!reading.ok) return reading;
  const path = illFormed(body);
  if (!path) return reading;
  const name = pathText(path);
  return { ok: false, name, message: `\`${name.toWellFormed()}\` holds half a character (a lone surrogate)` };
}

/** Where the first text that is not well-formed is, an object's keys included. */
function illFormed(value: unknown): PropertyKey[] | undefined {
  const open: { value: unknown; path: PropertyKey[] }[] = [{ value, path: [] }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { path } = next;
    if (typeof next.value === 'string' && !next.value.isWellFormed()) return path;
    if (typeof next.value !== 'object' || next.value === null) continue;
    const members = Array.isArray(next.value) ? next.value.entries() : Object.entries(next.value);
    for (const [key, member] of members) {
      if (typeof key === 'string' && !key.isWellFormed()) return [...path, key];
      open.push({ value: member, path: [...path, key] });
    }
  }
  return undefined;
}

function read<T extends z.ZodType>(schema: T, input: unknown, whole: string): Reading<z.output<T>> {
  const result = schema.safeParse(input);
  if (result.success) return { ok: true, value: result.data };
  const issue = deepest(result.error.issues);
  const name = pathText(issue.path);
  const what = wordsOf(issue, input);
  return { ok: false, name, message: name === '' ? `${whole} ${what}` : `\`${name}\` ${what}` };
}

type Issue = z.core.$ZodIssue;

/** The first issue; of a union's branches, the one that got furthest into the value. */
function deepest(issues: readonly Issue[], prefix: PropertyKey[] = []): Issue {
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

function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    const safe = String(key).slice(0, 100);
    if (typeof key === 'number') return `${text}[${safe}]`;
    return text === '' ? safe : `${text}.${safe}`;
  }, '');
}

function wordsOf(issue: Issue, input: unknown): string {
  if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input')) {
    return valueAt(input, issue.path) === undefined ? 'is required' : `must be ${article(issue.expected)}`;
  }
  if (issue.code === 'invalid_value')
    return `must be one of ${issue.values.map((each) => `\`${String(each)}\``).join(', ')}`;
  if (issue.code === 'too_small' && issue.message.startsWith('Too small')) return 'must not be empty';
  if (issue.code === 'invalid_union' && issue.message === 'Invalid input') return 'is not of the expected form';
  return issue.message;
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
