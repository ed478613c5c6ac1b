// test: any JSON value as a rule, any JSON value as data: a named problem or a verdict, never an exception or a hang.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Facts } from '../../src/domain/facts.ts';
import { explain } from '../../src/rules/explain.ts';
import { compileRules } from '../../src/rules/judge/evaluator.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../src/rules/load/read-rule.ts';
import { LANGUAGE } from '../../src/rules/operators/operators.ts';
import { contextOf, problemsOf, ruleOf, TRAITS } from './sample-traits.ts';
import { Grammar } from './typed-grammar.ts';

const PATHS = [
  '',
  'OS',
  'Roles',
  'MdmData.Timestamp',
  'TrustData.Factors',
  '$now',
  '$owners',
  '__proto__',
  'constructor',
  'Roles.0',
  'Roles.length',
];
const operator = fc.constantFrom(...LANGUAGE.keys(), '__proto__', 'constructor', 'toString');
const { logic } = fc.letrec((tie) => ({
  logic: fc.oneof(
    { maxDepth: 6 },
    fc.constantFrom<unknown>(null, true, 0, -1, 1.5, '', 'TRUE', '90d', [], {}),
    fc.constantFrom(...PATHS).map((path) => ({ var: path })),
    fc
      .tuple(operator, fc.array(tie('logic'), { maxLength: 4 }))
      .map(([name, args]) => JSON.parse(JSON.stringify({ x: args }).replace('"x"', JSON.stringify(name)))),
    fc.dictionary(fc.constantFrom('type', 'within', 'severity', 'where', 'of', '=='), tie('logic'), { maxKeys: 3 }),
  ),
}));

describe('hostile input', () => {
  it('a rule of any form is loaded, or refused with a line', () => {
    fc.assert(
      fc.property(logic, (when) => {
        const text = JSON.stringify({ id: 'a-rule', subject: 'device', when, then: 'notify' });
        const parsed = parseRule(text, 'a-rule.json', { traits: TRAITS });
        if ('rule' in parsed) return;
        for (const { message, line, column } of parsed.problems) {
          expect(message).not.toMatch(/\n|undefined|\[object/);
          expect(line * column).toBeGreaterThan(0);
        }
        expect(parsed.problems.length).toBeGreaterThan(0);
      }),
      { numRuns: 3_000 },
    );
  });

  it('a rule file of any JSON, or of any text, ends in problems rather than an exception', () => {
    fc.assert(
      fc.property(fc.json(), (text) => void parseRule(text, 'x.json', { traits: TRAITS })),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 200 }),
        (text) => void parseRule(text, 'x.yaml', { traits: TRAITS }),
      ),
      { numRuns: 1_000 },
    );
    const yaml = fc.array(
      fc.constantFrom(
        '- ',
        '? ',
        ': ',
        '{',
        '}',
        '[',
        ']',
        'id',
        ' ',
        '\n',
        '&a ',
        '*a',
        '"',
        "'",
        '|',
        '!!map ',
        '%',
        '<<',
        '#',
      ),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(yaml, (parts) => void parseRule(parts.join(''), 'x.yaml', { traits: TRAITS })),
      { numRuns: 3_000 },
    );
  });

  it('a record of any form gets a verdict, and the run goes on', () => {
    const grammar = new Grammar(5);
    const rules: LoadedRule[] = [];
    while (rules.length < 60) {
      const when = grammar.condition(4);
      if (problemsOf(when).length === 0) rules.push(ruleOf(when, { id: `rule-${rules.length}` }));
    }
    const evaluator = compileRules(rules);
    const names = [
      'MdmData',
      'TrustData',
      'Factors',
      'Roles',
      'Emails',
      'Platform',
      'Model',
      'LoginCount',
      'LastLogin',
      '__proto__',
      'Timestamp',
      'Level',
      'Name',
    ];
    const record = fc.dictionary(
      fc.constantFrom(...names),
      fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.dictionary(fc.constantFrom(...names), fc.jsonValue())),
    );
    fc.assert(
      fc.property(record, (data) => {
        const judge = evaluator.judge('device', contextOf());
        judge.accept(data as Facts);
        for (const tally of judge.finish().tallies)
          expect(tally.match + tally.no_match + tally.unknown + tally.error).toBe(1);
        explain(rules[0] as LoadedRule, data as Facts, { ...contextOf(), events: [] });
      }),
      { numRuns: 1_000 },
    );
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});
