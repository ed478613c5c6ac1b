// test: suites of JSON Logic's community are answered by kind of outcome, both in their first form and in the present one.
import { describe, expect, it } from 'vitest';
import { answersOf, type Outcome, tallied } from '../../bench/jsonlogic.ts';
import type { Fact } from '../../src/domain/facts.ts';

describe('a test of JSON Logic', () => {
  it.each<[Outcome, string, Fact]>([
    ['agree', 'a value', [{ '+': [{ var: 'a' }, 1] }, { a: 1 }, 2]],
    ['agree', 'a path in parts', { rule: { val: ['a', 0] }, data: { a: [7] }, result: 7 }],
    ['agree', 'a stand-in', { rule: { '??': [{ val: 'a' }, 'b'] }, data: { a: null }, result: 'b' }],
    ['agree', 'null that is there', { rule: { exists: 'a' }, data: { a: null }, result: true }],
    ['agree', 'the data itself', [{ filter: [{ var: '' }, { '>': [{ var: '' }, 1] }] }, [1, 2], [2]]],
    ['agree', 'a truth of lists', [{ and: [[], true] }, {}, []]],
    ['agree', 'an error that the check finds', { rule: { throw: 'x' }, data: null, error: { type: 'x' } }],
    ['unknown', 'a value that is not there', [{ var: 'a' }, { a: null }, null]],
    ['refused:path', 'a path that nobody has', [{ var: 'b' }, { a: 1 }, null]],
    ['refused:type', 'a number as a truth', [{ and: [1, true] }, {}, true]],
    ['refused:operator', 'an operator that is not there', [{ pow: [1, 2] }, {}, 1]],
    ['disagree', 'another value', [{ '+': [1, 1] }, {}, 3]],
    ['disagree', 'a value for an error', { rule: { '+': [1, 1] }, data: null, error: { type: 'NaN' } }],
  ])('is %s: %s', (outcome, _, test) => {
    expect(answersOf(['# a heading', test]).map((answer) => answer.outcome)).toEqual([outcome]);
  });

  it('is counted by outcome, and what is refused by reason', () => {
    const outcomes: Outcome[] = ['agree', 'refused:type', 'unknown', 'refused:path', 'refused:type'];
    expect(tallied(outcomes)).toBe('agree 1, unknown 1, refused 3 (path 1, type 2), disagree 0');
  });
});
