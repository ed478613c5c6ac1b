// evaluate: units of literals: durations where seconds are meant, timestamps in the unit of their field.
// In: a literal and what it is compared with. Out: whether its unit fits; the message shows how to write it.

import { parseDuration } from '../../domain/duration.ts';
import type { Fact } from '../../domain/facts.ts';
import { showLiteral } from '../../domain/literal-text.ts';
import type { Expression, ExpressionOf } from '../language/expression.ts';
import type { Place } from '../language/problem.ts';
import { nameOf } from '../language/wording.ts';
import { SECONDS, type TimeUnit, UNIT_NAMES } from '../record-types/field-types.ts';
import { refuse, type Scope } from './scope.ts';

const NS_PER: Record<Exclude<TimeUnit, 'any'>, bigint> = { ns: 1n, ms: 1_000_000n, s: 1_000_000_000n };
/** Ten years. A number above this is taken for milliseconds written by mistake. */
const SECONDS_MAX = 315_360_000;

/** A duration text such as "90d" as a number of seconds. Reports a text that is no duration. */
export function checkDuration(literal: ExpressionOf<'literal'>, scope: Scope): Expression | undefined {
  const ms = parseDuration(literal.value as string);
  if (ms === undefined) {
    refuse(scope, 'unit', literal.place, durationFault(literal.value));
    return undefined;
  }
  return { ...literal, value: ms / 1_000, type: SECONDS, text: literal.value as string };
}

/** What is wrong with a duration, and how it is written. */
export function durationFault(value: Fact | undefined): string {
  const shown = value === undefined ? 'nothing' : `\`${showLiteral(value)}\``;
  const parts = typeof value === 'string' ? /^\s*(\d+(?:\.\d+)?)\s*([a-zµ]+)\s*$/i.exec(value) : undefined;
  const unit = parts ? UNIT_WORDS.find(([pattern]) => pattern.test(parts[2] as string))?.[1] : undefined;
  const hint = unit
    ? `; did you mean "${parts?.[1]}${unit}"?`
    : '; write a number and one of ms, s, m, h, d, w, such as "10m" or "90d"';
  return `expected a duration, found ${shown}${hint}`;
}

const UNIT_WORDS: [RegExp, string][] = [
  [/^(ms|msecs?|millis(econds?)?|milliseconds?)$/i, 'ms'],
  [/^(s|secs?|seconds?)$/i, 's'],
  [/^(m|mins?|minutes?)$/i, 'm'],
  [/^(h|hrs?|hours?)$/i, 'h'],
  [/^(d|days?)$/i, 'd'],
  [/^(w|wks?|weeks?)$/i, 'w'],
];

export function checkSecondsLiteral(literal: ExpressionOf<'literal'>, scope: Scope): boolean {
  const value = literal.value;
  if ((typeof value !== 'number' && typeof value !== 'bigint') || Number(value) <= SECONDS_MAX) return true;
  const ms = Number(value);
  const days = ms / 86_400_000;
  const likely = ms >= 1e11 ? 'a point in time' : 'milliseconds';
  const hint =
    ms < 1e11
      ? `write "${Number.isInteger(days) ? `${days}d` : `${Math.round(ms / 1000)}s`}"`
      : 'write how long ago it was, such as "90d"';
  scope.problem('unit', literal.place, `an age is counted in seconds, and \`${value}\` looks like ${likely}; ${hint}`);
  return false;
}

/** The unit of an epoch time, by its magnitude; undefined for 0 and for other numbers. */
export function epochUnitOf(value: number | bigint): Exclude<TimeUnit, 'any'> | undefined {
  const size = Number(value);
  if (size >= 1e17 && size < 1e20) return 'ns';
  if (size >= 1e11 && size < 1e14) return 'ms';
  if (size >= 1e8 && size < 1e11) return 's';
  return undefined;
}

/** A literal compared with a timestamp: 0 (never), or a time in the timestamp's own unit. */
export function checkTimeLiteral(time: Expression, literal: ExpressionOf<'literal'>, scope: Scope): boolean {
  const value = literal.value;
  const unit = time.type.kind === 'time' ? time.type.unit : 'any';
  if (typeof value !== 'number' && typeof value !== 'bigint') {
    const hint = '; for how long ago it was, compare {"age": …} with a duration such as "90d"';
    scope.problem(
      'type',
      literal.place,
      `${nameOf(time)} is a timestamp and cannot be compared with \`${showLiteral(value)}\`${hint}`,
    );
    return false;
  }
  if (Number(value) === 0) return true;
  const found = epochUnitOf(value);
  if (found && (unit === 'any' || found === unit)) return true;
  scope.problem('unit', literal.place, timeFault(time, value, unit, found, literal.place));
  return false;
}

function timeFault(
  time: Expression,
  value: number | bigint,
  unit: TimeUnit,
  found: TimeUnit | undefined,
  _: Place,
): string {
  const wanted = unit === 'any' ? 'a timestamp' : `a timestamp in ${UNIT_NAMES[unit]}`;
  if (found && found !== 'any' && unit !== 'any') {
    const right = (BigInt(Math.trunc(Number(value))) * NS_PER[found]) / NS_PER[unit];
    return `${nameOf(time)} is ${wanted}, and \`${value}\` looks like ${UNIT_NAMES[found]}; write ${right}`;
  }
  return `${nameOf(time)} is ${wanted}, and \`${value}\` is none; for how long ago it was, compare {"age": …} with a duration such as "90d"`;
}
