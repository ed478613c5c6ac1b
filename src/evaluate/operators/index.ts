// evaluate: the rule language: one line for each family of operators.
import { AGE } from './age.ts';
import { ARITHMETIC } from './arithmetic.ts';
import { CHOICE } from './choice.ts';
import { COMPARISONS } from './comparisons/index.ts';
import { COUNT } from './count.ts';
import { ELEMENTS } from './elements.ts';
import { EVENTS } from './events/index.ts';
import { languageOf } from './family.ts';
import { GROUPS } from './groups.ts';
import { LISTS } from './lists.ts';
import { LOG } from './log.ts';
import { LOGIC } from './logic.ts';
import { LOOK_BACK } from './look-back.ts';
import { MEMBERSHIP } from './membership.ts';
import { MISSING } from './missing.ts';
import { PATTERNS } from './patterns.ts';
import { REDUCE } from './reduce.ts';
import { TEXT_TESTS } from './text-tests.ts';
import { TEXTS } from './texts.ts';
import { VAR } from './var.ts';
import { VERSIONS } from './versions.ts';

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
