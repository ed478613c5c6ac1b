// rules: the rule language: one line for each family of operators.

import { COMPARISONS } from './comparisons.ts';
import { EVENTS } from './events.ts';
import { languageOf } from './family.ts';
import { COUNT, ELEMENTS, LISTS, MEMBERSHIP, REDUCE } from './lists.ts';
import { CHOICE, LOG, LOGIC, MISSING } from './logic.ts';
import { GROUPS, LOOK_BACK, VAR } from './look-back.ts';
import { AGE, ARITHMETIC, VERSIONS } from './numbers.ts';
import { PATTERNS, TEXT_TESTS, TEXTS } from './texts.ts';

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
  PATTERNS,
  TEXT_TESTS,
  VERSIONS,
  GROUPS,
  EVENTS,
  LOOK_BACK,
];

/** All operators that a rule can use. */
export const LANGUAGE = languageOf(FAMILIES);
