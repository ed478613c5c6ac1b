// test: `count`: of a list, of the elements that meet a condition, and between bounds where some of them are unknown.
import fc from 'fast-check';
import jsonLogic, { type RulesLogic } from 'json-logic-js';
import { describe, expect, it } from 'vitest';
import type { Facts } from '../../src/domain/facts.ts';
import type { JudgeContext, VerdictName } from '../../src/domain/verdict.ts';
import { explanationText } from '../../src/faces/report/why-words.ts';
import { explain } from '../../src/rules/explain.ts';
import { runRuleTests } from '../../src/rules/rule-tests/run-tests.ts';
import { contextOf, NOW_MS, problemsOf, ruleOf, verdictOf } from './sample-traits.ts';

const isMac = { '==': [{ var: 'Platform' }, 'macOS'] };
const macs = { count: [{ var: '$devices' }, isMac] };
const USER: Facts = { Email: 'u@example.com', SerialNumbers: ['S'] };

const withDevices = (devices: Facts[]): JudgeContext =>
  contextOf({ joins: { users: new Map(), devices: new Map([['S', devices]]) } });
/** null: it is not known. */
const platforms = (...names: (string | null)[]): Facts[] =>
  names.map((name) => ({ SerialNumber: 'S', ...(name === null ? {} : { Platform: name }) }));
const ofUser = (when: unknown, devices: Facts[]): VerdictName =>
  verdictOf(ruleOf(when, {}, 'user'), USER, withDevices(devices));

describe('the count of a list', () => {
  it('is its length', () => {
    const three = { '>=': [{ count: { var: '$devices' } }, 3] };
    expect(ofUser(three, platforms('macOS', null, 'Windows'))).toBe('match');
    expect(ofUser(three, platforms('macOS', 'Windows'))).toBe('no_match');
    expect(verdictOf(ruleOf({ '==': [{ count: { var: 'Roles' } }, 0] }), { Roles: [] })).toBe('match');
  });

  it('is of the elements that meet the condition', () => {
    expect(ofUser({ '==': [macs, 2] }, platforms('macOS', 'Windows', 'macOS'))).toBe('match');
    expect(ofUser({ '==': [macs, 3] }, platforms('macOS', 'Windows', 'macOS'))).toBe('no_match');
  });

  it('can be asked of each element of another list', () => {
    const when = { some: [{ var: '$devices' }, { '>': [{ count: { var: 'Roles' } }, 1] }] };
    expect(ofUser(when, [{ Roles: ['a'] }, { Roles: ['a', 'b'] }])).toBe('match');
    expect(ofUser(when, [{ Roles: ['a'] }, { Roles: [] }])).toBe('no_match');
  });

  it('is unknown where the list is not known', () => {
    const rule = ruleOf({ '>=': [{ count: { var: 'Roles' } }, 1] });
    expect(verdictOf(rule, {})).toBe('unknown');
    expect(verdictOf(rule, { Roles: 'admin' })).toBe('unknown');
    expect(verdictOf(ruleOf({ '<': [macs, 1] }, {}, 'user'), USER)).toBe('unknown');
  });

  it('lies between bounds where the condition is unknown for some elements', () => {
    const devices = platforms('macOS', 'macOS', null, 'Windows'); // 2 or 3
    expect(ofUser({ '>=': [macs, 2] }, devices)).toBe('match');
    expect(ofUser({ '>=': [macs, 3] }, devices)).toBe('unknown');
    expect(ofUser({ '>=': [macs, 4] }, devices)).toBe('no_match');
    expect(ofUser({ '<': [macs, 4] }, devices)).toBe('match');
    expect(ofUser({ '==': [macs, 3] }, devices)).toBe('unknown');
    expect(ofUser({ '>': [{ '+': [macs, 1] }, 2] }, devices)).toBe('match');
    expect(ofUser({ in: [macs, [0, 1]] }, devices)).toBe('no_match');
    expect(ofUser({ in: [macs, [3, { count: { var: 'SerialNumbers' } }]] }, devices)).toBe('unknown');
    expect(ofUser({ '==': [{ cat: [macs] }, '2'] }, devices)).toBe('unknown');
  });

  it('ends in an error on a list that is too long to be asked', () => {
    const roles = Array.from({ length: 60_000 }, () => 'a');
    const when = { '>': [{ count: [{ var: 'Roles' }, { '==': [{ var: '' }, 'a'] }] }, 1] };
    expect(verdictOf(ruleOf(when), { Roles: roles })).toBe('error');
    expect(verdictOf(ruleOf({ '>': [{ count: { var: 'Roles' } }, 1] }), { Roles: roles })).toBe('match');
  });

  it('is what json-logic-js counts by `filter` and `reduce`', () => {
    const role = fc.constantFrom('a', 'b', 'c');
    const given = fc.record({ roles: fc.array(role, { maxLength: 6 }), wanted: role, bound: fc.nat(6) });
    fc.assert(
      fc.property(given, fc.constantFrom('>=', '<', '==', '!=', '>', '<='), ({ roles, wanted, bound }, by) => {
        const where = { '==': [{ var: '' }, wanted] };
        const oracle = {
          reduce: [{ filter: [{ var: 'Roles' }, where] }, { '+': [{ var: 'accumulator' }, 1] }, 0],
        };
        const when = { [by]: [{ count: [{ var: 'Roles' }, where] }, bound] };
        if (problemsOf(when).length > 0) return; // `>= 0` is always true
        const expected = jsonLogic.apply({ [by]: [oracle, bound] } as RulesLogic, { Roles: roles });
        expect(verdictOf(ruleOf(when), { Roles: roles })).toBe(expected ? 'match' : 'no_match');
      }),
    );
  });

  it('is true or false only where every completion of the record agrees', () => {
    const platform = fc.constantFrom('macOS', 'Windows', null);
    const by = fc.constantFrom('>=', '<', '==', '!=', '>', '<=', 'in');
    fc.assert(
      fc.property(fc.array(platform, { maxLength: 5 }), by, fc.integer({ min: 1, max: 5 }), (names, how, bound) => {
        const when = { [how]: [macs, how === 'in' ? [bound, bound + 2] : bound] };
        const answers = new Set(completions(names).map((known) => ofUser(when, platforms(...known))));
        const wanted = answers.size === 1 ? [...answers][0] : 'unknown';
        expect(ofUser(when, platforms(...names))).toBe(wanted);
      }),
    );
  });
});

function completions(names: readonly (string | null)[]): (string | null)[][] {
  const at = names.indexOf(null);
  return at < 0 ? [[...names]] : ['macOS', 'Windows'].flatMap((name) => completions(names.with(at, name)));
}

describe('a rule with a count', () => {
  it.each<[string, unknown, string]>([
    ['of a text', { '>': [{ count: { var: 'Platform' } }, 1] }, '`count` takes a list, but `Platform` is a text'],
    ['with a condition that is none', { '>': [{ count: [{ var: 'Roles' }, 'admin'] }, 1] }, 'expected a boolean'],
    [
      'that reads the record inside',
      { '>': [{ count: [{ var: 'Roles' }, isMac] }, 1] },
      'only the element can be read',
    ],
    ['that is compared with a text', { '==': [{ count: { var: 'Roles' } }, '3'] }, 'write 3 without quotation marks'],
    ['where a condition is expected', { count: { var: 'Roles' } }, 'compare it with `==`, `<` or `>`'],
    ['that is always reached', { '>=': [{ count: { var: 'Roles' } }, 0] }, 'a count is never below 0'],
    ['of too many operands', { '>': [{ count: [{ var: 'Roles' }, isMac, 1] }, 1] }, 'takes 1 to 2 operands'],
  ])('%s is refused when it is loaded', (_, when, words) => {
    expect(problemsOf(when).join('\n')).toContain(words);
  });

  it('is explained with the count, its bounds and each element', () => {
    const rule = ruleOf({ '>=': [macs, 2] }, {}, 'user');
    const text = explanationText(explain(rule, USER, { ...withDevices(platforms('macOS', null)), events: [] }));
    expect(text).toContain('because `…Platform` is missing in an element');
    expect(text).toContain('unknown  count($devices, element.Platform == "macOS") >= 2');
    expect(text).toContain('"1 to 2" count($devices, element.Platform == "macOS")');
    expect(text).toContain('true     element 1: element.Platform == "macOS"');
  });

  it('names the fact that it lacks, in a test too', () => {
    const tests = [
      { name: 'two', devices: [{}, {}], expect: 'match' },
      { name: 'one', devices: [{}, { Platform: 'Windows' }], expect: 'no_match' },
      {
        name: 'one, and one that is not known',
        devices: [{}, { Platform: null }],
        expect: { verdict: 'unknown', reasons: ['…Platform'] },
      },
    ];
    const report = runRuleTests([ruleOf({ '>=': [macs, 2] }, { tests }, 'user')], { nowMs: NOW_MS });
    expect(report).toMatchObject({ ok: true, passed: 3 });
    expect(report.rules[0]).toMatchObject({ coveredPercent: 100 });
  });

  it('has mutants of its list, its condition and its bound', () => {
    const tests = [{ name: 'two', devices: [{}, {}], expect: 'match' }];
    const report = runRuleTests([ruleOf({ '>=': [macs, 2] }, { tests }, 'user')], { nowMs: NOW_MS, mutate: true });
    const survivors = report.rules[0]?.mutants?.survivors ?? [];
    expect(report.rules[0]?.mutants?.tried).toBe(7);
    expect(survivors).toContain('condition of count left out');
    expect(survivors).toContain('2 → 1');
    expect(survivors).not.toContain('"macOS" → "macOS~"');
  });
});
