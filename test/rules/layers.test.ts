// test: the order of the rooms of rules/: an operator is one family file and one line in the registry, and nothing makes code of strings.

import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { explanationText } from '../../src/faces/report/why-words.ts';
import { call, check, type Family, type Form, isNumeric, refuse, settle } from '../../src/rules/check/scope.ts';
import { explain } from '../../src/rules/explain.ts';
import { compileRules } from '../../src/rules/judge/evaluator.ts';
import { type Expression, FALSE, type Operator, TRUE, Unknown } from '../../src/rules/language/expression.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { problemLine } from '../../src/rules/language/problem.ts';
import { parseRule } from '../../src/rules/load/read-rule.ts';
import { FAMILIES, LANGUAGE, languageOf } from '../../src/rules/operators/operators.ts';
import { BOOLEAN, NUMBER } from '../../src/rules/record-types/field-types.ts';
import { runRuleTests } from '../../src/rules/rule-tests/run-tests.ts';
import { built, ROOT } from '../support/built.ts';
import { contextOf, TRAITS, verdictOf } from './sample-traits.ts';

describe('the order of the rooms of rules/, and that what is special about an operator stands in its family alone', () => {
  const ROOT = new URL('../../src/rules', import.meta.url).pathname;

  /** Each imports from itself and from those before it. */
  const ORDER = [
    'record-types',
    'language',
    'check',
    'compile',
    'operators',
    'load',
    'facts',
    'windows',
    'look-back',
    'judge',
    'explain',
    'rule-tests',
    'active',
  ];

  const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => ({ name, text: readFileSync(join(ROOT, name), 'utf8') }));
  const folderOf = (name: string): string => (name.split('/')[0] as string).replace('.ts', '');

  describe('the rooms of rules', () => {
    it('are all in the order', () => {
      expect([...new Set(files.map(({ name }) => folderOf(name)))].sort()).toEqual([...ORDER].sort());
    });

    it('import only from those before them', () => {
      const imports = files.flatMap(({ name, text }) =>
        [...text.matchAll(/from '(\.[^']+)'/g)].map(([, path]) => {
          const target = relative(ROOT, join(ROOT, dirname(name), path as string));
          return { name, target };
        }),
      );
      const inside = imports.filter(({ target }) => !target.startsWith('..'));
      expect(inside.length).toBeGreaterThan(100);
      const against = inside.filter(
        ({ name, target }) => ORDER.indexOf(folderOf(target)) > ORDER.indexOf(folderOf(name)),
      );
      expect(against.map(({ name, target }) => `${name} → ${target}`)).toEqual([]);
    });
  });

  describe('an operator', () => {
    /** Words that also mean something else in code. Counts of events and signals are facts, which other files read by what they count. */
    const ambiguous = [
      'all',
      'none',
      'map',
      'min',
      'max',
      'matches',
      'in',
      '==',
      '!=',
      '<',
      '<=',
      '>',
      '>=',
      '+',
      '-',
      '*',
      '/',
      '%',
    ];
    const names = [...LANGUAGE.keys()].filter(
      (name) => !ambiguous.includes(name) && !/^(event|signal)_|_(event|signal)$/.test(name),
    );

    it('is named only by the file of its family', () => {
      expect(names.length).toBeGreaterThan(25);
      const named = files
        .filter(({ name }) => folderOf(name) !== 'operators')
        .flatMap(({ name, text }) =>
          names.filter((each) => text.includes(`'${each}'`)).map((each) => `${name}: ${each}`),
        );
      expect(named).toEqual([]);
    });
  });
});

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
    expect(text).toContain('it would match if TrustData.EntityTrustscore were 5 (now 51)');
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

describe('rules are loaded, judged, tested and explained in a process that may not make code from strings', () => {
  const SCRIPT = `
import { explain } from '${built('src/rules/explain.ts')}';
import { compileRules } from '${built('src/rules/judge/evaluator.ts')}';
import { loadRules } from '${built('src/rules/load/read-rule.ts')}';
import { runRuleTests } from '${built('src/rules/rule-tests/run-tests.ts')}';
import { contextOf, TRAITS } from '${built('test/rules/sample-traits.ts')}';
const { rules, problems } = await loadRules('rules', { traits: TRAITS });
const judge = compileRules(rules).judge('device', contextOf());
judge.accept({ DeviceID: 'd' });
const report = runRuleTests(rules);
const { verdict } = explain(rules[0], { DeviceID: 'd' }, { ...contextOf(), events: [] });
let mayMakeCode = true;
try { new Function('return 1')(); } catch { mayMakeCode = false; }
process.stdout.write(JSON.stringify({ problems: problems.length, judged: judge.finish().judged, ok: report.ok, verdict, mayMakeCode }));
`;

  it('no code is made from strings', async () => {
    const flags = ['--disallow-code-generation-from-strings', '--input-type=module', '--eval', SCRIPT];
    const { stdout } = await promisify(execFile)(process.execPath, flags, { cwd: ROOT });
    expect(JSON.parse(stdout)).toEqual({ problems: 0, judged: 1, ok: true, verdict: 'unknown', mayMakeCode: false });
  });
});
