// evaluate: `age`: how many seconds ago a time was; negative for one that is ahead. In: a timestamp of any unit.
// A time that was never set, or that lies more than a day ahead, has no age: unknown.
import { epochMsOf } from '../../domain/timestamp.ts';
import { check } from '../check/expression.ts';
import { call, refuse } from '../check/scope.ts';
import { settle } from '../check/types.ts';
import type { Expression, Operator } from '../language/expression.ts';
import { FUTURE_MAX_MS } from '../language/frame.ts';
import type { Exact } from '../language/numbers.ts';
import { Unknown } from '../language/three-valued.ts';
import { nameOf } from '../language/wording.ts';
import { SECONDS, typeName } from '../record-types/field-types.ts';
import type { Family } from './family.ts';

const ageOf: Operator = {
  name: 'age',
  isForeign: true,
  isDoubtful: true,
  readsTime: true,
  value([time], compiling) {
    const value = compiling.value(time as Expression);
    const label = nameOf(time as Expression);
    const why = `${label} was never set, or is no point in time`;
    const never = compiling.reasons.unknown(label.replaceAll('`', ''), why);
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
      const time = settle(check(args[0] ?? null, placeOf(0), scope), { kind: 'time', unit: 'any' });
      if (time.type.kind === 'time' || time.type.kind === 'refused') return call(ageOf, [time], SECONDS, place);
      const isText = time.type.kind === 'text' && time.op === 'literal';
      const hint = isText ? `; write {"age": {"var": "${time.value}"}}` : '';
      const message = `\`age\` takes a timestamp, but ${nameOf(time)} is ${typeName(time.type)}${hint}`;
      return refuse(scope, 'type', time.place, message);
    },
  },
};
