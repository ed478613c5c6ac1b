// management contract: how a server reads a request by the contract's schemas.
// In: query text or a parsed body. Out: checked values, or one sentence that names the parameter or field. It must
// never throw on a request, and never repeat a whole body in its message.
import { z } from 'zod';
import { deepest, pathText, wordsOf } from '../../base/text.ts';

export type Reading<T> = { ok: true; value: T } | { ok: false; name: string; message: string };

/**
 * Reads query parameters: names in any case, unknown ones ignored, a known one given twice refused. Where the schema is strict, an
 * unknown name is refused with those that exist, and names count without their underscores.
 * Out: values under the specification's names; or a message such as "`Skip` must be a whole number, 0 or more".
 */
export function readQuery<T extends z.ZodObject>(schema: T, params: Iterable<[string, string]>): Reading<z.output<T>> {
  const refusesUnknown = isStrict(schema);
  const nameOf = (text: string): string => (refusesUnknown ? text.replaceAll('_', '') : text).toLowerCase();
  const names = new Map(Object.keys(schema.shape).map((name) => [nameOf(name), name]));
  const given: Record<string, string> = {};
  for (const [key, value] of params) {
    const name = names.get(nameOf(key));
    if (!name && refusesUnknown) return unknownName(key, [...names.values()]);
    if (!name) continue;
    if (Object.hasOwn(given, name) && given[name] !== value) {
      return { ok: false, name, message: `\`${name}\` is given twice with different values` };
    }
    given[name] = value;
  }
  return read(schema, given, 'the query');
}

/** Whether it refuses unknown parameters. */
export function isStrict(schema: z.ZodObject): boolean {
  return schema.def.catchall instanceof z.ZodNever;
}

function unknownName(key: string, known: string[]): { ok: false; name: string; message: string } {
  const name = key.slice(0, 100).toWellFormed();
  return { ok: false, name, message: `\`${name}\` is no parameter of this list: it has ${known.join(', ')}` };
}

/**
 * Reads a parsed body (undefined when there is none); the message names the field, such as `metadata.name`. Text with
 * half a character in it is refused: no answer could return it unchanged.
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
