// test: where the rule language differs from json-logic-js on purpose. docs/rules.md lists the same with the reasons;
// traps.test.ts has what is unknown or refused because a fact is missing.
import jsonLogic, { type RulesLogic } from 'json-logic-js';
import { describe, expect, it, vi } from 'vitest';
import type { Facts } from '../../src/domain/facts.ts';
import { contextOf, NOW_MS, problemsOf, ruleOf, verdictOf } from './sample-traits.ts';

const json = (when: unknown, record: object): boolean =>
  jsonLogic.truthy(jsonLogic.apply(when as RulesLogic, record)) as boolean;

describe('with both answers known', () => {
  it.each<[string, unknown, Facts, boolean, string]>([
    [
      'a default is not taken for null',
      { '==': [{ var: ['Ownership', 'UNKNOWN'] }, 'UNKNOWN'] },
      { Ownership: null },
      false,
      'match',
    ],
    [
      'a division by zero is greater than all',
      { '>': [{ '/': [1, { var: 'LoginCount' }] }, 5] },
      { LoginCount: 0 },
      true,
      'unknown',
    ],
    [
      'a remainder of zero is not five',
      { '!=': [{ '%': [1, { var: 'LoginCount' }] }, 5] },
      { LoginCount: 0 },
      true,
      'unknown',
    ],
    [
      'a sum of big integers loses digits',
      { '==': [{ '+': [{ var: 'LoginCount' }, 1] }, { '+': [{ var: 'LoginCount' }, 2] }] },
      { LoginCount: 9_007_199_254_740_993_000n },
      true,
      'no_match',
    ],
    [
      'a text that is no number is not below 5',
      { '>=': [{ '+': [{ var: 'Model' }] }, 5] },
      { Model: 'x' },
      false,
      'unknown',
    ],
    [
      'an element that is unknown is left out',
      { '!': [{ filter: [{ var: 'TrustData.Factors' }, { '==': [{ var: 'Value' }, 'FAIL'] }] }] },
      { TrustData: { Factors: [{ Name: 'a' }] } },
      true,
      'unknown',
    ],
    ['a time of 0 is one, though it was never set', { missing: ['LastLogin'] }, { LastLogin: 0 }, false, 'match'],
    [
      'a time of 0 suffices',
      { missing_some: [1, ['MdmData.Timestamp']] },
      { MdmData: { Timestamp: 0n } },
      false,
      'match',
    ],
  ])('%s', (_, when, record, theirs, ours) => {
    expect(json(when, record)).toBe(theirs);
    expect(verdictOf(ruleOf(when), record)).toBe(ours);
  });

  it('times in two units are compared as times', () => {
    const when = { '<': [{ var: 'LastLogin' }, { var: '$now' }] };
    const record = { LastLogin: BigInt(NOW_MS - 1_000) * 1_000_000n };
    expect(json(when, { ...record, $now: NOW_MS })).toBe(false);
    expect(verdictOf(ruleOf(when), record)).toBe('match');
  });

  it('$now can be read inside an element', () => {
    const when = { all: [{ var: 'Roles' }, { '<': [0, { var: '$now' }] }] };
    expect(json(when, { Roles: ['a'], $now: NOW_MS })).toBe(false);
    expect(verdictOf(ruleOf(when), { Roles: ['a'] })).toBe('match');
  });

  it('log prints nothing', () => {
    const print = vi.spyOn(console, 'log').mockImplementation(() => undefined);
    expect(verdictOf(ruleOf({ '==': [{ log: { var: 'OS' } }, 'x'] }), { OS: 'x' })).toBe('match');
    expect(print).not.toHaveBeenCalled();
    print.mockRestore();
  });

  it('a count with a gap is unknown where json-logic-js would see a number', () => {
    const when = { '<': [{ event_count: { within: '10m' } }, 1] };
    expect(verdictOf(ruleOf(when), { DeviceID: 'd' }, contextOf({ coverage: [] }))).toBe('unknown');
  });
});

describe('refused when the rule is loaded', () => {
  it.each<[string, unknown, string]>([
    ['a path is computed', { '==': [{ var: { cat: ['O', 'S'] } }, 'x'] }, 'must be written out'],
    ['the whole record is a fact', { '!!': [{ var: '' }] }, 'the whole record is no fact'],
    ['an if has no else', { if: [{ missing: ['OS'] }, true] }, 'needs an else'],
    ['a list has two types', { in: [{ var: 'OS' }, ['a', 1]] }, 'values of one type'],
    ['an object has two operators', { '==': [1, 1], '!=': [1, 2] }, 'one operator in an object'],
    ['a number is a condition', { or: [{ var: 'LoginCount' }, false] }, 'expected a boolean or a list'],
    ['lists are compared', { '==': [{ var: 'Roles' }, ['a']] }, 'ask with `in`'],
    ['everything is compared with itself', { '==': [1, 1] }, 'reads no fact'],
  ])('%s', (_, when, words) => {
    expect(problemsOf(when).join('\n')).toContain(words);
  });
});
