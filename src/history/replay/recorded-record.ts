// history: a record, put together again from its facts by dotted path. In: a record, changes of one run. Out: the record after them. Paths
// come from outside: `__proto__` is a key like any other.
import { type Fact, type Facts, isFacts } from '../../domain/facts.ts';

/** The keys of a path, one for each object on the way. */
export function keysOf(path: string): string[] {
  return path.split('.');
}

export function valueAt(record: Facts, keys: readonly string[]): Fact | undefined {
  let value: Fact | undefined = record;
  for (let at = 0; at < keys.length; at += 1) {
    const key = keys[at] as string;
    if (!isFacts(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

/** Sets the value at a path; undefined takes it away, and with it each object that is left empty. */
export function setAt(record: Facts, keys: readonly string[], value: Fact | undefined): void {
  const last = keys.length - 1;
  let holder = record;
  for (let at = 0; at < last; at += 1) {
    const key = keys[at] as string;
    let inner = Object.hasOwn(holder, key) ? holder[key] : undefined;
    if (!isFacts(inner)) {
      if (value === undefined) return;
      inner = {};
      setOwn(holder, key, inner);
    }
    holder = inner;
  }
  setOwn(holder, keys[last] as string, value);
  if (value === undefined && last > 0 && Object.keys(holder).length === 0) setAt(record, keys.slice(0, -1), undefined);
}

function setOwn(record: Facts, key: string, value: Fact | undefined): void {
  if (value === undefined) delete record[key];
  else if (key === '__proto__')
    Object.defineProperty(record, key, { value, enumerable: true, configurable: true, writable: true });
  else record[key] = value;
}

/** Objects are copied; lists are values, which nobody changes. */
export function copyOf(record: Facts): Facts {
  const copy: Facts = {};
  for (const [key, value] of Object.entries(record)) setOwn(copy, key, isFacts(value) ? copyOf(value) : value);
  return copy;
}
