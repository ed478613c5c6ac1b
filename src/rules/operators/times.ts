// rules: what is asked of a time: `age`, how long ago it was; `hour` and `weekday`, what the clock on the wall of a time zone showed then.
// An hour that comes twice when clocks are set back is that hour both times, and one that is skipped never comes.

import { DAY_MS, epochMsOf, HOUR_MS, isTimeZone, MINUTE_MS, WEEKDAYS, wallMsAt } from '../../base/time.ts';
import { type Fact, showLiteral } from '../../domain/facts.ts';
import { call, check, type Family, type Form, type Operands, refuse, type Scope, settle } from '../check/scope.ts';
import { type Compiling, type Expression, FUTURE_MAX_MS, type Operator, Unknown } from '../language/expression.ts';
import { type Exact, nameOf } from '../language/loaded-rule.ts';
import { NUMBER, SECONDS, typeName, type ValueType } from '../record-types/field-types.ts';

/** The operand, when it is a time. */
function checkTime(name: string, arg: Fact, place: Operands['place'], scope: Scope): Expression {
  const time = settle(check(arg, place, scope), { kind: 'time', unit: 'any' });
  if (time.type.kind === 'time' || time.type.kind === 'refused') return time;
  const isText = time.type.kind === 'text' && time.op === 'literal';
  const hint = isText ? `; write {"var": "${time.value}"}` : '';
  const message = `\`${name}\` takes a timestamp, but ${nameOf(time)} is ${typeName(time.type)}${hint}`;
  return refuse(scope, 'type', time.place, message);
}

/** How a time is read, and what stands for one that was never set. */
function readerOf(time: Expression, compiling: Compiling) {
  const label = nameOf(time);
  const why = `${label} was never set, or is no point in time`;
  return { value: compiling.value(time), never: compiling.reasons.unknown(label.replaceAll('`', ''), why) };
}

// `age`: how many seconds ago a time was; negative for one that is ahead.

const ageOf: Operator = {
  name: 'age',
  isForeign: true,
  isDoubtful: true,
  readsTime: true,
  value([time], compiling) {
    const { value, never } = readerOf(time as Expression, compiling);
    return (frame) => {
      const found = value(frame);
      if (found instanceof Unknown) return found;
      const ms = epochMsOf(found as Exact);
      if (ms === undefined || ms > frame.nowMs + FUTURE_MAX_MS) return never;
      return (frame.nowMs - ms) / 1_000;
    };
  },
};

export const AGE: Family = {
  age: {
    min: 1,
    max: 1,
    usage: 'write it as {"var": "path of a timestamp"}',
    check({ args, place, placeOf }, scope) {
      if (scope.subject === 'event') {
        const message = '`age` cannot be asked inside `where`: an event is judged once, when it arrives; use `within`';
        return refuse(scope, 'operator', place, message);
      }
      return call(ageOf, [checkTime('age', args[0] ?? null, placeOf(0), scope)], SECONDS, place);
    },
  },
};

// `hour` and `weekday` of a time, by the clock of a zone.

/** Since 1973, clocks were only changed at whole quarters of an hour, so that a quarter has one offset. */
const QUARTER_MS = 15 * MINUTE_MS;
const QUARTERS_KEPT = 5_000;

/** As `wallMsAt`, which takes longer than all else of a rule, with what was asked before remembered. */
function wallOf(timeZone: string): (atMs: number) => number {
  const offsets = new Map<number, number>();
  return (atMs) => {
    const fromMs = Math.floor(atMs / QUARTER_MS) * QUARTER_MS;
    let offset = offsets.get(fromMs);
    if (offset === undefined) {
      offset = wallMsAt(timeZone, fromMs) - fromMs;
      if (offsets.size >= QUARTERS_KEPT) offsets.clear();
      offsets.set(fromMs, offset);
    }
    return atMs + offset;
  };
}

interface OfWall {
  of(wallMs: number): Fact;
  type: ValueType;
  range?: Operator['range'];
  /** How far apart times are that show each of its values, and of how many. */
  apartMs: number;
  count: number;
}

function wallOperator(name: string, { of, range, apartMs, count }: OfWall, timeZone: string): Operator {
  return {
    name,
    isForeign: true,
    isDoubtful: true,
    ...(range && { range }),
    agesToTry: Array.from({ length: count }, (_, index) => (index * apartMs) / 1_000),
    key: ([time]) => `(${name} ${time} ${timeZone})`,
    text: ([time], bracketed) => `${name}(${bracketed(time as Expression)}, ${timeZone})`,
    value([time], compiling) {
      const { value, never } = readerOf(time as Expression, compiling);
      const wall = wallOf(timeZone);
      return (frame) => {
        const found = value(frame);
        if (found instanceof Unknown) return found;
        const ms = epochMsOf(found as Exact);
        return ms === undefined ? never : of(wall(Math.floor(ms)));
      };
    },
  };
}

function ofWall(name: string, wall: OfWall): Form {
  return {
    min: 2,
    max: 2,
    usage: 'write it as [{"var": "$now"}, "Europe/Berlin"]: a timestamp and a time zone',
    /** Another zone is no small change. */
    innerEdits: () => [],
    check({ args, place, placeOf }, scope) {
      const time = checkTime(name, args[0] ?? null, placeOf(0), scope);
      const [, zone] = args;
      // A fixed offset would be an hour off for half of the year, and is hardly ever meant.
      if (typeof zone !== 'string' || !isTimeZone(zone) || /^[+-]/.test(zone)) {
        const message = `there is no time zone \`${showLiteral(zone ?? null)}\`: expected one such as "Europe/Berlin" or "UTC", written out`;
        return refuse(scope, 'value', placeOf(1), message);
      }
      return call(wallOperator(name, wall, zone), [time], wall.type, place);
    },
  };
}

export const WALL_CLOCK: Family = {
  hour: ofWall('hour', {
    of: (wallMs) => new Date(wallMs).getUTCHours(),
    type: NUMBER,
    range: [0, 23],
    apartMs: HOUR_MS,
    count: 24,
  }),
  weekday: ofWall('weekday', {
    of: (wallMs) => WEEKDAYS[new Date(wallMs).getUTCDay()] as string,
    type: { kind: 'text', values: WEEKDAYS },
    apartMs: DAY_MS,
    count: 7,
  }),
};
