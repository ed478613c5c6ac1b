// test: asks a random rule about random complete records, and json-logic-js the same. In: a seed and how many pairs.
// Out: how many were compared; it throws with the rule and the record at the first disagreement.
import jsonLogic, { type RulesLogic } from 'json-logic-js';
import { compileRules } from '../../src/rules/judge/evaluator.ts';
import { contextOf, problemsOf, ruleOf } from './sample-traits.ts';
import { Grammar } from './typed-grammar.ts';

const RECORDS_PER_RULE = 20;

export function compareWithJsonLogic(
  seed: number,
  pairs: number,
): { compared: number; matches: number; refused: number } {
  const grammar = new Grammar(seed);
  let [compared, matches, refused] = [0, 0, 0];
  while (compared < pairs) {
    const when = grammar.condition(4);
    if (problemsOf(when).length > 0) {
      // What reads no fact, or compares literals only, is refused by design.
      refused++;
      continue;
    }
    const evaluator = compileRules([ruleOf(when)]);
    for (let i = 0; i < RECORDS_PER_RULE; i++) {
      const record = grammar.device();
      const judge = evaluator.judge('device', contextOf());
      judge.accept(record);
      const tally = judge.finish().tallies[0];
      const expected = jsonLogic.truthy(jsonLogic.apply(withoutCount(when) as RulesLogic, record));
      if (tally?.match !== (expected ? 1 : 0) || tally.no_match !== (expected ? 0 : 1)) {
        const shown = JSON.stringify({ when, record, tally, expected }, (_, value) =>
          typeof value === 'bigint' ? `${value}n` : value,
        );
        throw new Error(`disagreement at seed ${seed}, pair ${compared}: ${shown}`);
      }
      compared++;
      if (expected) matches++;
    }
  }
  return { compared, matches, refused };
}

/** `count` in the words of json-logic-js: what `filter` leaves, added up by `reduce`. */
function withoutCount(when: unknown): unknown {
  if (Array.isArray(when)) return when.map(withoutCount);
  if (typeof when !== 'object' || when === null) return when;
  const { count, ...others } = when as Record<string, unknown>;
  if (count === undefined)
    return Object.fromEntries(Object.entries(others).map(([name, inner]) => [name, withoutCount(inner)]));
  const [list, where] = withoutCount(count) as [unknown, unknown];
  const elements = where === undefined ? list : { filter: [list, where] };
  return { reduce: [elements, { '+': [{ var: 'accumulator' }, 1] }, 0] };
}
