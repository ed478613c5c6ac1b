// support: random requests made from an OpenAPI document: values as its schemas want them, and values that they must refuse. In: a document,
// a seed, names that exist. Out: requests, the same for the same seed.
import type { DescribedOperation, JsonSchema } from './openapi-document.ts';

export interface MadeRequest {
  operation: DescribedOperation;
  method: string;
  /** With its query. */
  path: string;
  headers: Record<string, string>;
  body: string | undefined;
}

/** 0 to 1. */
export type Random = () => number;

/** Mulberry32: enough to choose from. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const TEXTS = [
  'a',
  'ana@example.com',
  'Emma',
  '30d',
  '12h',
  '2027-01-31',
  '陳大文',
  'لابتوب',
  '🦊',
  '<script>alert(1)</script>',
  "' OR 1=1 --",
  '#{7*7}',
  '\u202egnp',
  '%00',
  'constructor',
  '__proto__',
  '-1',
  '1e999',
  'null',
  'a\u0000b',
  'x'.repeat(999),
];
const BAD_TEXTS = ['', 'x'.repeat(1_001), 'x'.repeat(5_000), ' ', '\n'];
const BAD_VALUES: unknown[] = [null, 0, -1, 1.5, 1e308, 2 ** 60, true, '', [], {}, [[]], { a: null }, '\u{1f98a}'];
/** Of a query: broken escapes, bytes that are not UTF-8, half a surrogate pair. */
const BAD_ESCAPES = ['%zz', '%ff', '%ed%a0%80', '%', '%00'];
const BAD_BODIES = [
  '',
  '{',
  '[]',
  'null',
  '"text"',
  '1e999',
  '{"a":1,"a":2}',
  '{"reason":"\\ud800"}',
  '{"__proto__":{}}',
  '['.repeat(2_000),
  '{"a":'.repeat(2_000),
  ' '.repeat(70_000),
  '\ufeff{}',
  'a=1&b=2',
];
/** A longer address is refused before it is read. */
const PATH_MAX = 6_000;

/**
 * @param known texts that name something: a part of the values is taken from them.
 * @param good how many of the values are as the schemas want them, 0 to 1.
 */
export function requestMaker(
  operations: readonly DescribedOperation[],
  { random, known, good = 0.85 }: { random: Random; known: readonly string[]; good?: number },
): () => MadeRequest {
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  const isBad = () => random() > good;

  function textOf(schema: JsonSchema): string {
    if (isBad()) return pick(BAD_TEXTS);
    return random() < 0.5 && known.length > 0 ? pick(known) : pick(TEXTS).slice(0, (schema.maxLength as number) ?? 999);
  }

  function numberOf({ minimum = 0, maximum = 1_000 }: JsonSchema): number {
    if (isBad()) return pick([Number(minimum) - 1, Number(maximum) + 1, 1.5, -1, 1e15]);
    const [from, to] = [Math.max(Number(minimum), -1_000), Math.min(Number(maximum), 1_000)];
    return from + Math.floor(random() * (to - from + 1));
  }

  function madeOf(schema: JsonSchema, depth = 0): unknown {
    if (isBad() && random() < 0.5) return pick(BAD_VALUES);
    const variants = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined;
    if (variants) return madeOf(pick(variants), depth);
    if (schema.enum) return isBad() ? pick(TEXTS) : pick(schema.enum as unknown[]);
    const type = Array.isArray(schema.type) ? pick(schema.type) : schema.type;
    switch (type) {
      case 'string':
        return textOf(schema);
      case 'integer':
      case 'number':
        return numberOf(schema);
      case 'boolean':
        return random() < 0.5;
      case 'null':
        return null;
      case 'array':
        return Array.from({ length: Math.floor(random() * 4) }, () => madeOf(schema.items ?? {}, depth + 1));
      default:
        return depth > 5 ? {} : objectOf(schema, depth);
    }
  }

  function objectOf({ properties = {}, required = [] }: JsonSchema, depth: number): object {
    const made: Record<string, unknown> = {};
    for (const [name, inner] of Object.entries(properties)) {
      const isWanted = (required as string[]).includes(name) ? !isBad() : random() < 0.5;
      if (isWanted) made[name] = madeOf(inner, depth + 1);
    }
    if (isBad() && random() < 0.3) made[pick(TEXTS)] = pick(BAD_VALUES);
    return made;
  }

  const written = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : String(value));

  function queryOf({ parameters }: DescribedOperation): string {
    const parts = parameters.flatMap(({ name, in: place, required, schema }) => {
      if (place !== 'query' || (required ? isBad() : random() < 0.6)) return [];
      if (isBad() && random() < 0.2) return [`${name}=${pick(BAD_ESCAPES)}`];
      const part = `${name}=${encodeURIComponent(written(madeOf(schema)))}`;
      return isBad() && random() < 0.2 ? [part, part] : [part];
    });
    if (isBad() && random() < 0.3) parts.push(`${encodeURIComponent(pick(TEXTS))}=1`);
    return parts.length === 0 ? '' : `?${parts.join('&')}`;
  }

  function pathOf({ path, parameters }: DescribedOperation): string {
    return path.replace(/\{(\w+)\}/g, (_, name) => {
      const schema = parameters.find((one) => one.in === 'path' && one.name === name)?.schema ?? {};
      const value = written(madeOf(schema)).slice(0, 500);
      // An empty segment, or one of dots alone, is another path.
      return encodeURIComponent(value.trim() === '' || /^\.+$/.test(value) ? 'x' : value.toWellFormed());
    });
  }

  function headersOf({ parameters }: DescribedOperation): Record<string, string> {
    const given = parameters.filter((one) => one.in === 'header' && random() < 0.1);
    const texts = given.map(({ name, schema }) => [name, encodeURIComponent(written(madeOf(schema))).slice(0, 1_000)]);
    return Object.fromEntries(texts);
  }

  return () => {
    const operation = pick(operations);
    const whole = `${pathOf(operation)}${queryOf(operation)}`;
    const path = whole.length > PATH_MAX ? pathOf(operation).slice(0, PATH_MAX) : whole;
    const isWritten = operation.body !== undefined && !(isBad() && random() < 0.3);
    const body = isWritten ? JSON.stringify(madeOf(operation.body as JsonSchema)) : pick(BAD_BODIES);
    return {
      operation,
      method: operation.method,
      path,
      headers: headersOf(operation),
      body: operation.method === 'GET' ? undefined : body,
    };
  };
}
