// management client: records of version 2 as records of version 1, right where they come in: nothing behind this file knows of another shape.
// In: a parsed record of a v2 list. Out: the facts of the table in domain/lists.ts under the names of version 1, integers exact. Pure.
// INVARIANT: it never guesses: a field that is missing or of another type is absent, also one in the shape of version 1.
import { type Fact, type Facts, isFacts, own } from '../../domain/facts.ts';
import { V2_FACTS, type V2Type } from '../../domain/lists.ts';

interface Step {
  from: readonly string[];
  key: string;
  /** The field of version 1 that holds it: `TrustData`. */
  within: string | undefined;
  as: V2Type;
}

const STEPS = { devices: stepsOf('devices'), users: stepsOf('users') };

/** What is no record stays as it is: reading it reports what it is. */
export function recordOfV2(source: 'devices' | 'users', value: unknown): unknown {
  if (!isFacts(value)) return value;
  const record: Facts = {};
  for (const { from, key, within, as } of STEPS[source]) {
    let found: Fact | undefined = value;
    for (const name of from) found = own(found, name);
    const fact = converted(found, as);
    if (fact === undefined) continue;
    if (within === undefined) record[key] = fact;
    else record[within] = { ...(record[within] as Facts | undefined), [key]: fact };
  }
  return record;
}

function stepsOf(source: 'devices' | 'users'): Step[] {
  return V2_FACTS[source].map(({ v1, v2, as }) => {
    const [first = '', second] = v1.split('.');
    const path = second === undefined ? { key: first, within: undefined } : { key: second, within: first };
    return { from: v2.split('.'), ...path, as };
  });
}

function converted(value: Fact | undefined, as: V2Type): Fact | undefined {
  switch (as) {
    case 'text':
      return typeof value === 'string' ? value : undefined;
    case 'flag':
      return isBit(value) ? (value ? 'TRUE' : 'FALSE') : undefined;
    case 'boolean':
      return isBit(value) ? Boolean(value) : undefined;
    case 'time':
      return isNanoseconds(value) ? value : undefined;
    case 'texts':
      return Array.isArray(value) && value.every((each) => typeof each === 'string') ? value : undefined;
  }
}

/** Servers differ: some send booleans, others 0 and 1. */
function isBit(value: Fact | undefined): value is boolean | 0 | 1 {
  return typeof value === 'boolean' || value === 0 || value === 1;
}

/** From 1973 on, their magnitude shows that they are no seconds, milliseconds or microseconds. Such an integer is always a bigint. */
function isNanoseconds(value: Fact | undefined): value is number | bigint {
  return value === 0 || (typeof value === 'bigint' && value >= 10n ** 17n && value < 10n ** 20n);
}
