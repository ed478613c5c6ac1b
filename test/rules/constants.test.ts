// test: conditions that are the same for every subject: each would ban everybody or nobody, and is refused at load.
import { describe, expect, it } from 'vitest';
import { compareWithJsonLogic } from './agreement.ts';
import { problemsOf } from './sample-traits.ts';

const COMPROMISED = { '==': [{ var: 'MdmData.CompromisedStatus' }, 'TRUE'] };
const score = { var: 'TrustData.EntityTrustscore' };
const count = { event_count: { severity: 'ERROR', within: '10m' } };

describe('a condition that is the same whatever the data', () => {
  it.each<[string, unknown]>([
    ['a field is itself', { '==': [{ var: 'Platform' }, { var: 'Platform' }] }],
    ['a field is not itself', { and: [COMPROMISED, { '!=': [{ var: 'Platform' }, { var: 'Platform' }] }] }],
    ['a count is 0 or more', { '>=': [count, 0] }],
    ['a count is below 0', { or: [COMPROMISED, { '<': [count, 0] }] }],
    ['0 is at most a count', { '<=': [0, count] }],
    ['a trust score is 0 or more', { '>=': [score, 0] }],
    ['a trust score is 100 or less', { '<=': [score, 100] }],
    ['a trust score is above 100', { '>': [score, 100] }],
    ['a trust score lies between its ends', { '<=': [0, score, 100] }],
    ['one side of an `or` is true', { or: [COMPROMISED, true] }],
    ['one side of an `and` is false', { and: [COMPROMISED, false] }],
    ['two numbers are compared', { or: [COMPROMISED, { '==': [1, 1] }] }],
    ['both answers of an `if` are the same', { if: [COMPROMISED, true, true] }],
    ['the question of an `if` is answered', { if: [true, COMPROMISED, { '!': COMPROMISED }] }],
    ['a flag is one of both', { in: [{ var: 'MdmData.CompromisedStatus' }, ['TRUE', 'FALSE']] }],
    ['a flag is compared with a level', { '!=': [{ var: 'MdmData.CompromisedStatus' }, { var: 'TrustData.Level' }] }],
    ['the empty pattern matches', { matches: [{ var: 'DeviceFriendlyName' }, ''] }],
    ['a pattern matches anything', { matches: [{ var: 'DeviceFriendlyName' }, '(?s).*'] }],
    ['an event is what it is', { '>=': [{ event_count: { within: '1h', where: { '!': false } } }, 5] }],
  ])('is refused where %s', (_, when) => {
    const problems = problemsOf(when);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/this is always (true|false|the same): /);
  });

  it.each<[string, unknown]>([
    ['a score at one end of its range', { or: [{ '==': [score, 100] }, { '<=': [score, 0] }, { '<': [score, 100] }] }],
    ['a count of none', { '<=': [count, 0] }],
    ['a time in the future', { '<': [{ age: { var: 'LastLogin' } }, 0] }],
    ['a pattern of no characters at all', { matches: [{ var: 'DeviceFriendlyName' }, '^$'] }],
    ['two fields that may agree', { '!=': [{ var: 'Platform' }, { var: 'Model' }] }],
    ['answers that are written out', { if: [COMPROMISED, true, false] }],
    ['a condition compared with its wanted truth', { '==': [COMPROMISED, false] }],
  ])('is allowed: %s', (_, when) => {
    expect(problemsOf(when)).toEqual([]);
  });

  it('is refused for a value that the field cannot have, unless the field is declared to have others', () => {
    const when = { '!=': [{ var: 'Ownership' }, 'Leased'] };
    expect(problemsOf(when)).toEqual([expect.stringContaining('known: Corporate Dedicated,')]);
    expect(problemsOf(when, { declares: { Ownership: 'text' } })).toEqual([]);
  });

  it('is found only where json-logic-js gives one answer, too', () => {
    const { compared, refused } = compareWithJsonLogic(77, 4_000);
    expect(refused).toBeLessThan(compared / 20);
  });
});
