// evaluate: whether a value in a record has the type of its schema. If not, the fact is unknown.
import { type Fact, type Facts, isBeyondTypes } from '../../domain/facts.ts';
import type { ValueType } from '../record-types/field-types.ts';

/** Whether a value is of a type. Elements of lists are checked where they are used. */
export function isOfType(value: Fact, type: ValueType): boolean {
  switch (type.kind) {
    case 'text':
      return typeof value === 'string';
    case 'flag':
      return value === 'TRUE' || value === 'FALSE';
    case 'boolean':
    case 'condition':
      return typeof value === 'boolean';
    case 'number':
    case 'seconds':
      return typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value));
    case 'score':
      return typeof value === 'number' && value >= 0 && value <= 100;
    case 'time':
      return typeof value === 'bigint' ? value >= 0n : Number.isInteger(value) && (value as number) >= 0;
    case 'list':
      return Array.isArray(value);
    case 'record':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    default:
      return value !== null && !isBeyondTypes(value);
  }
}

/** Whether `missing` finds no value. A time of 0 was never set. */
export function isAbsent(value: Fact | undefined, isTime: boolean): boolean {
  if (value === undefined || value === null || value === '') return true;
  return isTime && (typeof value === 'number' || typeof value === 'bigint') && Number(value) === 0;
}

/** An own property of a record or an element of a list. Never looks at a prototype: a record is hostile input. */
export function ownPart(value: Fact | undefined, key: string): Fact | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) return /^\d{1,7}$/.test(key) ? value[Number(key)] : undefined;
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

/**
 * Whether a key that the object does not own, and that not every object inherits, reads as undefined. Such a key can be read
 * without checking for an own property. `__proto__` is the cheapest way to get the prototype. In an object that owns a key of
 * that name, as JSON can have it, it gives that key's value, which is never `Object.prototype`.
 */
export function isPlain(value: Fact | undefined): value is Facts {
  // biome-ignore lint/suspicious/noProto: getPrototypeOf is a call, several times for each record; this is a look at its shape
  return typeof value === 'object' && value !== null && (value as Prototyped).__proto__ === Object.prototype;
}

interface Prototyped {
  __proto__?: unknown;
}

/** The value at a path, or undefined. */
export function ownAt(value: Fact | undefined, path: readonly string[]): Fact | undefined {
  let part = value;
  for (const key of path) part = ownPart(part, key);
  return part;
}
