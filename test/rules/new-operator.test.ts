// test: an operator is one family file and one line in the registry. A made-up family, added to the shipped ones, is checked,
// compiled, explained, flipped, mutated and written as text by code that has never heard of it.
import { describe, expect, it } from 'vitest';
import { explanationText } from '../../src/faces/report/why-words.ts';
import { call, check, type Family, type Form, isNumeric, refuse, settle } from '../../src/rules/check/scope.ts';
import { explain } from '../../src/rules/explain.ts';
import { compileRules } from '../../src/rules/judge/evaluator.ts';
import { type Expression, FALSE, type Operator, TRUE, Unknown } from '../../src/rules/language/expression.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { problemLine } from '../../src/rules/language/problem.ts';
import { parseRule } from '../../src/rules/load/read-rule.ts';
import { FAMILIES, languageOf } from '../../src/rules/operators/operators.ts';
import { BOOLEAN, NUMBER } from '../../src/rules/record-types/field-types.ts';
import { runRuleTests } from '../../src/rules/rule-tests/run-tests.ts';
import { contextOf, TRAITS, verdictOf } from './sample-traits.ts';

/** `{"divisible_by": [number, divisor]}` and its opposite. */
function division(name: string, wanted: boolean, words: string, swap: string): Form {
  const operator: Operator = {
    name,
    isForeign: true,
    text: ([number, divisor], bracketed) =>
      `${bracketed(number as Expression)} ${words} ${bracketed(divisor as Expression)}`,
    constant: ([, divisor]) =>
      divisor?.op === 'literal' && divisor.value === 1
        ? { truth: wanted ? 'true' : 'false', because: 'every whole number is divisible by 1' }
        : undefined,
    condition([number, divisor], compiling) {
      const [first, second] = [compiling.value(number as Expression), compiling.value(divisor as Expression)];
      return (frame) => {
        const [a, b] = [first(frame), second(frame)];
        if (a instanceof Unknown) return a.truth;
        if (b instanceof Unknown) return b.truth;
        return (Number(a) % Number(b) === 0) === wanted ? TRUE : FALSE;
      };
    },
  };
  return {
    min: 2,
    max: 2,
    usage: 'write it as [number, divisor]',
    swaps: [swap],
    check({ args, place, placeOf }, scope) {
      const parts = args.map((arg, index) => settle(check(arg, placeOf(index), scope), NUMBER));
      const wrong = parts.find(({ type }) => !isNumeric(type) && type.kind !== 'refused');
      return wrong
        ? refuse(scope, 'type', wrong.place, `\`${name}\` takes numbers`)
        : call(operator, parts, BOOLEAN, place);
    },
  };
}

const DIVISION: Family = {
  divisible_by: division('divisible_by', true, 'is divisible by', 'not_divisible_by'),
  not_divisible_by: division('not_divisible_by', false, 'is not divisible by', 'divisible_by'),
};
const language = languageOf([...FAMILIES, DIVISION]);

const score = { var: 'TrustData.EntityTrustscore' };
const given = (EntityTrustscore: number | null): object => ({ TrustData: { EntityTrustscore } });
const tests = [
  { name: 'fifty', given: given(50), expect: 'match' },
  { name: 'fifty-one', given: given(51), expect: 'no_match' },
  { name: 'thirty-five', given: given(35), expect: 'match' },
  { name: 'no score', given: given(null), expect: 'unknown' },
];

function read(when: unknown, more: object = {}): LoadedRule | string[] {
  const text = JSON.stringify({ id: 'a-rule', subject: 'device', when, then: 'notify', ...more });
  const parsed = parseRule(text, 'a-rule.json', { traits: TRAITS, language });
  return 'rule' in parsed ? parsed.rule : parsed.problems.map(problemLine);
}

function ruleOf(when: unknown, more: object = {}): LoadedRule {
  const rule = read(when, more);
  if (Array.isArray(rule)) throw new Error(rule.join('\n'));
  return rule;
}

describe('an operator that is added as one family', () => {
  const rule = ruleOf({ divisible_by: [score, 5] }, { tests });

  it('is judged in three values, alone and beside the shipped operators', () => {
    const record = (value: unknown) => ({ DeviceID: 'd1', TrustData: { EntityTrustscore: value } }) as never;
    expect(verdictOf(rule, record(50))).toBe('match');
    expect(verdictOf(rule, record(51))).toBe('no_match');
    expect(verdictOf(rule, record(undefined))).toBe('unknown');
    const both = ruleOf({ and: [{ '<': [score, 40] }, { not_divisible_by: [score, 5] }] });
    expect([35, 36, 41].map((value) => verdictOf(both, record(value)))).toEqual(['no_match', 'match', 'no_match']);
    expect(compileRules([rule, both]).needs.sources).toEqual(new Set(['devices']));
  });

  it('is refused with its own messages where its operands are wrong', () => {
    expect(read({ divisible_by: [score] })).toEqual([
      'a-rule.json:1:43: `divisible_by` takes 2 operands, found 1; write it as [number, divisor]',
    ]);
    expect(read({ divisible_by: [{ var: 'SerialNumber' }, 5] })[0 as never]).toContain('`divisible_by` takes numbers');
    expect(read({ divisible_bye: [score, 5] })[0 as never]).toContain('did you mean `divisible_by`?');
  });

  it('is refused where it is constant: by its own rule, or because it reads no fact', () => {
    expect(read({ divisible_by: [score, 1] })[0 as never]).toContain(
      'this is always true: every whole number is divisible by 1',
    );
    const idle = { and: [{ '<': [score, 40] }, { divisible_by: [10, 5] }] };
    expect(read(idle)[0 as never]).toContain('this is always the same: it reads no fact');
  });

  it('is explained in its own words, with the change of a fact that would flip it', () => {
    const record = { DeviceID: 'd1', TrustData: { EntityTrustscore: 51 } };
    const text = explanationText(explain(rule, record, { ...contextOf(), events: [] }));
    expect(text).toContain('false    TrustData.EntityTrustscore is divisible by 5');
    expect(text).toContain('would be match if TrustData.EntityTrustscore were 5 (now 51)');
  });

  it('is mutated by its swaps and literals, and its tests are run without asking json-logic-js', () => {
    const report = runRuleTests([rule], { mutate: true, language });
    expect(report.rules[0]).toMatchObject({ ok: true, coveredPercent: 100, mutants: { tried: 3, survivors: [] } });
    expect(report.rules[0]?.coverage[0]?.text).toBe('TrustData.EntityTrustscore is divisible by 5');
    const one = { name: 'sixty', given: given(60), expect: 'match' };
    const few = runRuleTests([ruleOf({ divisible_by: [score, 5] }, { tests: [one] })], { mutate: true, language });
    expect(few.rules[0]?.mutants?.survivors).toEqual(['5 → 6', '5 → 4']);
  });

  it('is not part of the language that is shipped', () => {
    const text = JSON.stringify({ id: 'a-rule', subject: 'device', when: rule.when, then: 'notify' });
    const parsed = parseRule(text, 'a-rule.json', { traits: TRAITS });
    expect('problems' in parsed && parsed.problems[0]?.message).toContain('unknown operator `divisible_by`');
  });

  it('cannot take the name of another', () => {
    expect(() => languageOf([...FAMILIES, DIVISION, DIVISION])).toThrow('two operators are named divisible_by');
  });
});
