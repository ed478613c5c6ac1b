// rules: the rule language: one line for each family of operators. A new family is one file and one line here.

import type { Family, Form, Language } from '../check/scope.ts';
import { COMPARISONS } from './comparisons.ts';
import { EVENTS } from './events.ts';
import { COUNT, ELEMENTS, LISTS, MEMBERSHIP, REDUCE } from './lists.ts';
import { CHOICE, LOG, LOGIC, MISSING } from './logic.ts';
import { GROUPS, LOOK_BACK, VAR } from './look-back.ts';
import { ARITHMETIC, LEVELS, PATTERNS, TEXT_TESTS, TEXTS, VERSIONS } from './numbers.ts';
import { SIGNALS } from './signals.ts';
import { AGE, WALL_CLOCK } from './times.ts';

export const FAMILIES = [
  VAR,
  MISSING,
  COMPARISONS,
  LOGIC,
  CHOICE,
  MEMBERSHIP,
  TEXTS,
  LISTS,
  LOG,
  ARITHMETIC,
  ELEMENTS,
  REDUCE,
  COUNT,
  AGE,
  WALL_CLOCK,
  PATTERNS,
  TEXT_TESTS,
  VERSIONS,
  LEVELS,
  GROUPS,
  EVENTS,
  SIGNALS,
  LOOK_BACK,
];

/** All operators that a rule can use. */
export const LANGUAGE = languageOf(FAMILIES);

/** The language of these families. Throws when a name is in two of them. */
export function languageOf(families: readonly Family[]): Language {
  const language = new Map<string, Form>();
  for (const [name, form] of families.flatMap((family) => Object.entries(family))) {
    if (language.has(name)) throw new Error(`two operators are named ${name}`);
    language.set(name, form);
  }
  return language;
}
