// store: statements and values as PostgreSQL takes them, and rows as programs take them. In: SQL with `?`. Out: the same with `$1`, prepared
// once by connection. A row has no `org`: a program knows of one organization alone.
import type { QueryArrayConfig, QueryArrayResult } from 'pg';
import type { Row, Value } from '../queries.ts';
import { fromStored, toStored } from './text.ts';

export type Found = QueryArrayResult<Value[]>;
export type Statement = QueryArrayConfig<unknown[]>;

interface Prepared {
  name: string | undefined;
  text: string;
}

/** A statement with a number in its text is another one each time: what came after so many is not kept on the server. */
const NAMED_MAX = 1_000;
const prepared = new Map<string, Prepared>();
let named = 0;

export function statementOf(sql: string, values: readonly Value[]): Statement {
  const { name, text } = preparedOf(sql);
  return { ...(name !== undefined && { name }), text, values: values.map(storedValue), rowMode: 'array', types: TYPES };
}

/** All columns: a neighbouring version may add one while this one works, and PostgreSQL then refuses what was prepared before. */
const STAR = /(?:\bSELECT|\bRETURNING|,)\s+(?:DISTINCT\s+)?(?:\w+\.)?\*/i;

function preparedOf(sql: string): Prepared {
  const known = prepared.get(sql);
  if (known) return known;
  const isNamed = named < NAMED_MAX && !/^(?:DECLARE|FETCH|CLOSE)/.test(sql) && !STAR.test(sql);
  if (isNamed) named += 1;
  const made = { name: isNamed ? `trustward_${named}` : undefined, text: numbered(sql) };
  if (isNamed) prepared.set(sql, made);
  return made;
}

/** `?` outside of quotes and comments. */
export function numbered(sql: string): string {
  let count = 0;
  return sql.replace(/'(?:[^']|'')*'|"[^"]*"|--[^\n]*|\?/g, (part) => {
    if (part !== '?') return part;
    count += 1;
    return `$${count}`;
  });
}

function storedValue(value: Value): unknown {
  if (typeof value === 'string') return toStored(value);
  if (typeof value === 'bigint') return value.toString();
  return value;
}

const BOOL = 16;
const BYTEA = 17;
const INTEGERS = new Set([20, 21, 23, 1700]);

/** Integers are numbers (none of ours is beyond 2^53), and what is true is 1, as in SQLite. */
const TYPES = {
  getTypeParser: (oid: number) => {
    if (oid === BOOL) return (text: string) => (text === 't' ? 1 : 0);
    if (INTEGERS.has(oid)) return Number;
    if (oid === BYTEA) return (text: string) => Buffer.from(text.slice(2), 'hex');
    return fromStored;
  },
} as unknown as QueryArrayConfig['types'];

export function rowsOf<T>({ fields, rows }: Found): T[] {
  const names = fields.map(({ name }) => name);
  const org = names.indexOf('org');
  return rows.map((values) => {
    const row: Row = {};
    for (const [at, name] of names.entries()) if (at !== org) row[name] = values[at] as Value;
    return row as T;
  });
}
