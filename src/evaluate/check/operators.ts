// evaluate: the table of operators: how many operands each takes, an example, and the function that checks it.

import { checkAge, checkEventCount, checkInGroup, checkMatches, checkTextTest, checkVersion } from './added.ts';
import {
  checkArithmetic,
  checkCat,
  checkExtreme,
  checkIf,
  checkIn,
  checkLog,
  checkLogic,
  checkMerge,
  checkNot,
  checkSubstr,
} from './basics.ts';
import { checkComparison } from './comparison.ts';
import { checkEach, checkReduce } from './each.ts';
import { checkMissing, checkMissingSome, checkVar } from './facts.ts';
import type { Operator } from './scope.ts';

const MANY = 1_000;
const row = (min: number, max: number, usage: string, check: Operator['check']): Operator => ({
  min,
  max,
  usage,
  check,
});
const twoValues = 'write it as [value, value]';
const list = 'write it as [list, condition on an element]';
const version = 'write it as [version, version]';
const events = 'write it as {"severity": "ERROR", "within": "10m"}';

/** All operators of the rule language by name. */
export const OPERATORS: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ['var', row(0, 2, 'write it as "path" or ["path", default]', checkVar)],
  ['missing', row(1, MANY, 'write it as ["path", …]', checkMissing)],
  ['missing_some', row(2, 2, 'write it as [1, ["path", …]]', checkMissingSome)],
  ['==', row(2, 2, twoValues, checkComparison)],
  ['===', row(2, 2, twoValues, checkComparison)],
  ['!=', row(2, 2, twoValues, checkComparison)],
  ['!==', row(2, 2, twoValues, checkComparison)],
  ['<', row(2, 3, 'write it as [value, value] or [low, value, high]', checkComparison)],
  ['<=', row(2, 3, 'write it as [value, value] or [low, value, high]', checkComparison)],
  ['>', row(2, 2, twoValues, checkComparison)],
  ['>=', row(2, 2, twoValues, checkComparison)],
  ['and', row(1, MANY, 'write it as [condition, …]', checkLogic)],
  ['or', row(1, MANY, 'write it as [condition, …]', checkLogic)],
  ['!', row(1, 1, 'write it as [condition]', checkNot)],
  ['!!', row(1, 1, 'write it as [condition]', checkNot)],
  ['if', row(2, MANY, 'write it as [condition, then, else]', checkIf)],
  ['?:', row(2, MANY, 'write it as [condition, then, else]', checkIf)],
  ['in', row(2, 2, 'write it as [value, list]', checkIn)],
  ['cat', row(1, MANY, 'write it as [value, …]', checkCat)],
  ['substr', row(2, 3, 'write it as [text, start, length]', checkSubstr)],
  ['merge', row(1, MANY, 'write it as [list, …]', checkMerge)],
  ['log', row(1, 1, 'write it as [value]', checkLog)],
  ['+', row(1, MANY, 'write it as [number, …]', checkArithmetic)],
  ['*', row(1, MANY, 'write it as [number, …]', checkArithmetic)],
  ['-', row(1, 2, 'write it as [number, number]', checkArithmetic)],
  ['/', row(2, 2, 'write it as [number, number]', checkArithmetic)],
  ['%', row(2, 2, 'write it as [number, number]', checkArithmetic)],
  ['min', row(1, MANY, 'write it as [number, …]', checkExtreme)],
  ['max', row(1, MANY, 'write it as [number, …]', checkExtreme)],
  ['some', row(2, 2, list, checkEach)],
  ['all', row(2, 2, list, checkEach)],
  ['none', row(2, 2, list, checkEach)],
  ['filter', row(2, 2, list, checkEach)],
  ['map', row(2, 2, 'write it as [list, value of an element]', checkEach)],
  ['reduce', row(3, 3, 'write it as [list, value from "current" and "accumulator", start]', checkReduce)],
  ['age', row(1, 1, 'write it as {"var": "path of a timestamp"}', checkAge)],
  ['matches', row(2, 2, 'write it as [text, pattern]', checkMatches)],
  ['starts_with', row(2, 2, 'write it as [text, start]', checkTextTest)],
  ['ends_with', row(2, 2, 'write it as [text, end]', checkTextTest)],
  ['version_lt', row(2, 2, version, checkVersion)],
  ['version_lte', row(2, 2, version, checkVersion)],
  ['version_gt', row(2, 2, version, checkVersion)],
  ['version_gte', row(2, 2, version, checkVersion)],
  ['in_group', row(1, 2, 'write it as "name" or [list, name]', checkInGroup)],
  ['event_count', row(1, 1, events, checkEventCount)],
  ['event_distinct', row(1, 1, 'write it as {"of": "path in the event", "within": "10m"}', checkEventCount)],
  ['since_last_event', row(1, 1, events, checkEventCount)],
]);
