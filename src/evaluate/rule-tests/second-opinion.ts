// evaluate: the answer of json-logic-js to a rule test whose data is complete. The two must agree.
// In: a judged test. Out: json-logic-js's answer, or nothing where it cannot be asked (a fact is unknown, an added operator
// stands inside an element). Added operators and times of different units are replaced by their values.
import jsonLogic, { type RulesLogic } from 'json-logic-js';
import { type Fact, isFacts } from '../../domain/facts.ts';
import { slotValue } from '../judge/evidence.ts';
import type { Judged } from '../judge/judge-once.ts';
import type { Expression } from '../language/expression.ts';
import { virtualOf } from '../language/frame.ts';
import type { Place } from '../language/problem.ts';
import { Span, Unknown } from '../language/three-valued.ts';
import { partsOf } from '../language/walk.ts';

interface Replacement {
  place: Place;
  value: Fact;
}

/** The answer of json-logic-js, or undefined. */
export function secondOpinion(judged: Judged): boolean | undefined {
  const { rule, frame, verdict } = judged;
  if (verdict === 'unknown' || verdict === 'error') return undefined;
  const isWhole = rule.slots.every((slot) => {
    const value = slotValue(slot, frame);
    return value !== undefined && !(value instanceof Unknown) && !(value instanceof Span);
  });
  if (!isWhole) return undefined;
  const { condition, raw } = rule.rule;
  const replacements: Replacement[] = [];
  if (!collect(condition, false, judged, replacements)) return undefined;
  let when = raw.when as Fact;
  for (const { place, value } of replacements) when = replaced(when, place.slice(1), value);
  const text = JSON.stringify(when, (_, part) => (typeof part === 'bigint' ? Number(part) : part));
  if (text.includes('"log"')) return undefined; // json-logic-js would print
  const data: { [key: string]: unknown } = { ...frame.record, $now: frame.nowMs };
  for (const name of ['$owners', '$devices', '$spec']) {
    if (text.includes(`"${name}`)) data[name] = virtualOf(frame, name);
  }
  return jsonLogic.truthy(jsonLogic.apply(when as RulesLogic, data)) as boolean;
}

/** Notes what json-logic-js cannot evaluate itself, with its value; false when that depends on an element. */
function collect(expression: Expression, inElement: boolean, judged: Judged, found: Replacement[]): boolean {
  if (isForeign(expression)) {
    if (inElement) return false;
    const { compiler } = judged.program;
    const value = compiler.value(expression)(judged.frame);
    if (value instanceof Unknown || value instanceof Span) return false;
    // An expression's place names its operator, which stands inside the operation.
    found.push({ place: expression.place.slice(0, -1), value });
    return true;
  }
  if (expression.op === 'literal' && expression.text !== undefined) {
    found.push({ place: expression.place, value: expression.value });
    return true;
  }
  const body = expression.op === 'call' ? expression.operator.body?.arg : undefined;
  return partsOf(expression).every((part, index) => collect(part, inElement || index === body, judged, found));
}

function isForeign(expression: Expression): boolean {
  if (expression.op === 'fact') return expression.fact.kind !== 'path';
  return expression.op === 'call' && expression.operator.isForeign === true;
}

function replaced(value: Fact, place: Place, by: Fact): Fact {
  const [step, ...rest] = place;
  if (step === undefined) return by;
  if (Array.isArray(value)) return value.with(Number(step), replaced(value[Number(step)] as Fact, rest, by));
  if (isFacts(value)) return { ...value, [step]: replaced(value[step] as Fact, rest, by) };
  return by;
}
