// history: a record, put together again from its facts by dotted path. In: a record, changes of one run. Out: the record after them. Paths
// come from outside: `__proto__` is a key like any other.
import { type Fact, type Facts, isFacts } from '../../domain/facts.ts';

/** Sets the value at a path; undefined takes it away, and with it each object that is left empty. */
export function setAt(record: Facts, path: string, value: Fact | undefined): void {
  if (!path.includes('.')) {
    setOwn(record, path, value);
    return;
  }
  const keys = path.split('.');
  const last = keys.pop() as string;
  const holders: Facts[] = [record];
  let holder = record;
  for (const key of keys) {
    let inner = Object.hasOwn(holder, key) ? holder[key] : undefined;
    if (!isFacts(inner)) {
      if (value === undefined) return;
      inner = {};
      setOwn(holder, key, inner);
    }
    holder = inner;
    holders.push(holder);
  }
  setOwn(holder, last, value);
  if (value !== undefined) return;
  for (let at = keys.length - 1; at >= 0; at -= 1) {
    if (Object.keys(holders[at + 1] as Facts).length > 0) return;
    setOwn(holders[at] as Facts, keys[at] as string, undefined);
  }
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
