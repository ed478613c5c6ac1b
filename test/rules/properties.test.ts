// test: properties of the three-valued logic over random rules and random incomplete records.
import { describe, expect, it } from 'vitest';
import type { Fact, Facts } from '../../src/domain/facts.ts';
import { compileRules } from '../../src/rules/judge/evaluator.ts';
import { prepareRule } from '../../src/rules/judge/judge-once.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { contextOf, problemsOf, ruleOf, verdictOf } from './sample-traits.ts';
import { Grammar, seeded } from './typed-grammar.ts';

/** Takes fields away, or gives them wrong types, at random. */
function damaged(record: Facts, random: () => number): Facts {
  const result: Facts = {};
  for (const [key, value] of Object.entries(record)) {
    const luck = random();
    if (luck < 0.15) continue;
    if (luck < 0.2) result[key] = null;
    else if (luck < 0.25) result[key] = (['', 0, true, [], {}] as Fact[])[Math.floor(random() * 5)] as Fact;
    else
      result[key] =
        typeof value === 'object' && value !== null && !Array.isArray(value) ? damaged(value, random) : value;
  }
  return result;
}

function conditions(seed: number, count: number): { grammar: Grammar; whens: unknown[] } {
  const grammar = new Grammar(seed);
  const whens: unknown[] = [];
  while (whens.length < count) {
    const when = grammar.condition(3);
    if (problemsOf(when).length === 0) whens.push(when);
  }
  return { grammar, whens };
}

/** The verdict of each rule on a record, all judged together. */
function verdicts(rules: LoadedRule[], record: Facts): string[] {
  const judge = compileRules(rules).judge('device', contextOf());
  judge.accept(record);
  return judge
    .finish()
    .tallies.map(
      (tally) => (['match', 'no_match', 'unknown', 'error'] as const).find((name) => tally[name] === 1) ?? '?',
    );
}

describe('what one fact alone decides', () => {
  const conditions = [
    { '>=': [{ age: { var: 'LastLogin' } }, '90d'] },
    { matches: [{ var: 'Model' }, 'b$'] },
    { version_lt: [{ var: 'AppVersion' }, '3.0'] },
    { '<': [{ '/': [10, { var: 'LoginCount' }] }, 5] },
    { '!=': [{ '%': [10, { var: 'LoginCount' }] }, 3] },
    { '>': [{ '+': [{ var: 'Model' }] }, 3] },
    { in: [{ var: 'LoginCount' }, [0, 1]] },
    { '<=': [1, { var: 'LoginCount' }, 9] },
    { '==': [{ cat: [{ var: 'Model' }, 'x'] }, 'bx'] },
    { '<': [{ var: 'LastLogin' }, { var: '$now' }] },
    { or: [{ '==': [{ var: 'Model' }, 'b'] }, { starts_with: [{ var: 'Model' }, 'a'] }] },
    { '==': [{ var: ['Model', 'b'] }, 'b'] },
  ];
  const values: Fact[] = [
    0,
    1,
    9,
    -1,
    2.5,
    10n ** 18n,
    1.7e18,
    'a',
    'b',
    '',
    '2.9',
    'a'.repeat(60_000),
    null,
    true,
    [],
    {},
  ];

  it('is what the condition itself answers', () => {
    const rules = conditions.map((when, index) => ruleOf(when, { id: `rule-${index}` }));
    const context = contextOf();
    for (const value of values) {
      const record: Facts = { DeviceID: 'd', LastLogin: value, Model: value, AppVersion: value, LoginCount: value };
      const together = verdicts(rules, record);
      rules.forEach((rule, index) => {
        // Without what single facts decide: the whole condition.
        const { rule: whole, frame } = prepareRule(rule)(record, [], context);
        const truth = whole.condition(frame);
        const expected = truth === 1 ? 'match' : truth === 0 ? 'no_match' : truth < 0 ? 'error' : 'unknown';
        expect(together[index], `${JSON.stringify(rule.when)} of ${String(value).slice(0, 20)}`).toBe(expected);
      });
    }
  });
});

describe('with facts missing', () => {
  const { grammar, whens } = conditions(11, 300);
  const random = seeded(12);
  const records = Array.from({ length: 40 }, () => damaged(grammar.device(), random));

  it('an unknown never becomes a match by adding an `and`', () => {
    for (let i = 0; i + 1 < whens.length; i++) {
      const alone = ruleOf(whens[i]);
      const both = ruleOf({ and: [whens[i], whens[i + 1]] });
      for (const record of records.slice(0, 8)) {
        const before = verdictOf(alone, record);
        if (before !== 'match') expect(verdictOf(both, record), JSON.stringify(both.when)).not.toBe('match');
      }
    }
  });

  it('a verdict does not depend on the order of operands', () => {
    for (let i = 0; i + 2 < whens.length; i += 3) {
      const three = [whens[i], whens[i + 1], whens[i + 2]];
      for (const name of ['and', 'or']) {
        const forth = ruleOf({ [name]: three });
        const back = ruleOf({ [name]: three.toReversed() });
        for (const record of records.slice(0, 10)) expect(verdictOf(forth, record)).toBe(verdictOf(back, record));
      }
    }
  });

  it('a verdict does not depend on which other rules are judged with it', () => {
    const rules = whens.map((when, index) => ruleOf(when, { id: `rule-${index}` }));
    for (const record of records) {
      const together = verdicts(rules, record);
      for (const [index, rule] of rules.entries()) {
        expect(together[index], JSON.stringify(rule.when)).toBe(verdictOf(rule, record));
      }
    }
  });

  it('knowing more never turns a match into its opposite', () => {
    const whole = records.map(() => grammar.device());
    for (const when of whens) {
      // Defaults and `missing` are said to depend on absence, and `if` of a list of missing ones as well.
      if (/missing|"var":\[/.test(JSON.stringify(when))) continue;
      const rule = ruleOf(when);
      for (const record of whole.slice(0, 10)) {
        const { Model: _, Roles: __, ...less } = record;
        const [known, before] = [verdictOf(rule, record), verdictOf(rule, less)];
        if (before !== 'unknown') expect(before, JSON.stringify(when)).toBe(known);
      }
    }
  });

  it('the negation of an unknown is unknown', () => {
    for (const when of whens) {
      const [rule, negated] = [ruleOf(when), ruleOf({ '!': [when] })];
      for (const record of records.slice(0, 5)) {
        const opposite = { match: 'no_match', no_match: 'match', unknown: 'unknown', error: 'error' } as const;
        expect(verdictOf(negated, record)).toBe(opposite[verdictOf(rule, record)]);
      }
    }
  });
});
