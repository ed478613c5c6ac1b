// domain: a few facts of a record by which lists of devices, users and services are filtered and sorted. In: a record. Out: its facts as digits of one
// number, which one index serves for every filter and order; what a digit is called.
import { type Facts, own } from './facts.ts';
import { PLATFORMS, TRUST_LEVELS } from './platform-values.ts';
import { SUBJECT_KINDS, type SubjectKind } from './subjects.ts';

const FLAG_WORDS = ['false', 'true'] as const;

interface ListedField {
  kinds: readonly SubjectKind[];
  /** Where a record has it. */
  path: readonly [string, string?];
  /** As filters and answers call its values, in their order. */
  values: readonly string[];
  /** A text that is none of them is the last of them, and not unknown. */
  hasOther?: true;
}

/** INVARIANT: stored rows have digits by this order, and by the order of values: both are only added to, at their ends. */
export const LISTED_FIELDS = {
  banned: { kinds: ['device'], path: ['Banned'], values: FLAG_WORDS },
  compromised: { kinds: ['device'], path: ['MdmData', 'CompromisedStatus'], values: FLAG_WORDS },
  level: { kinds: ['device', 'user'], path: ['TrustData', 'Level'], values: TRUST_LEVELS },
  platform: { kinds: ['device'], path: ['Platform'], values: [...PLATFORMS, 'other'], hasOther: true },
  enabled: { kinds: ['service'], path: ['Enabled'], values: FLAG_WORDS },
} as const satisfies Record<string, ListedField>;

export type ListedName = keyof typeof LISTED_FIELDS;
export const LISTED_NAMES = Object.keys(LISTED_FIELDS) as ListedName[];

/** What a filter calls a fact that the reading did not show, or that is of no known value. */
export const UNKNOWN = 'unknown';

/** Of each kind, in the order of `LISTED_FIELDS`. */
export const LISTED_OF = Object.fromEntries(
  SUBJECT_KINDS.map((kind) => [kind, LISTED_NAMES.filter((name) => fieldOf(name).kinds.includes(kind))]),
) as unknown as Readonly<Record<SubjectKind, readonly ListedName[]>>;

function fieldOf(name: ListedName): ListedField {
  return LISTED_FIELDS[name];
}

/** Of one fact: up to 15 values. 0 is unknown. */
const DIGIT = 16;

interface Reading {
  field: string;
  within: string | undefined;
  /** By its spellings. */
  digits: ReadonlyMap<string, number>;
  other: number;
  scale: number;
}

const READINGS = new Map(LISTED_NAMES.map((name, at) => [name, readingOf(fieldOf(name), DIGIT ** at)]));
const READINGS_OF = Object.fromEntries(
  SUBJECT_KINDS.map((kind) => [kind, LISTED_OF[kind].map((name) => READINGS.get(name))]),
) as unknown as Readonly<Record<SubjectKind, readonly Reading[]>>;

function readingOf({ path: [field, within], values, hasOther }: ListedField, scale: number): Reading {
  const spelled = values.flatMap((value, at) =>
    [value, value.toLowerCase(), value.toUpperCase()].map((one) => [one, at + 1] as const),
  );
  return { field, within, digits: new Map(spelled), other: hasOther ? values.length : 0, scale };
}

/** Of a row that an earlier version wrote. No facts of a record are this number. */
export const NO_FACTS = -1;

/** It runs for every record of a fleet. */
export function factsOf(kind: SubjectKind, record: Facts): number {
  let facts = 0;
  for (const reading of READINGS_OF[kind]) {
    const { field, within, scale } = reading;
    const found = within === undefined ? own(record, field) : own(own(record, field), within);
    if (typeof found === 'string' && found !== '') facts += scale * digitOfText(reading, found);
  }
  return facts;
}

function digitOfText({ digits, other }: Reading, text: string): number {
  return digits.get(text) ?? digits.get(text.toLowerCase()) ?? other;
}

export function digitOf(facts: number, name: ListedName): number {
  return Math.floor(facts / DIGIT ** LISTED_NAMES.indexOf(name)) % DIGIT;
}

/** As filters and answers call it; undefined: unknown. */
export function listedValue(facts: number, name: ListedName): string | undefined {
  return fieldOf(name).values[digitOf(facts, name) - 1];
}

/** `value`: as filters call it. */
export function digitOfValue(name: ListedName, value: string): number {
  return value === UNKNOWN ? 0 : digitOfText(READINGS.get(name) as Reading, value);
}
