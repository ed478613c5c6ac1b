// test: the data of a rule's own tests: a misspelt field tests nothing, and is refused with the nearest name.
import { describe, expect, it } from 'vitest';
import { problemsOf } from './sample-traits.ts';

const when = { '==': [{ var: 'MdmData.CompromisedStatus' }, 'TRUE'] };
const withTest = (test: object, more: object = {}) =>
  problemsOf(when, { ...more, tests: [{ name: 'a', expect: 'no_match', ...test }] });

describe('a test that gives what is not there', () => {
  it.each<[string, object, RegExp]>([
    ['a misspelt field', { given: { Ownersip: 'Other' } }, /there is no field `Ownersip`; did you mean `Ownership`\?/],
    ['one within a part', { given: { MdmData: { CompromizedStatus: 'TRUE' } } }, /did you mean `CompromisedStatus`\?/],
    ['one within a list', { given: { TrustData: { Factors: [{ Nmae: 'x' }] } } }, /did you mean `Name`\?/],
    ['one of an owner', { owners: [{ Emial: 'a@acme.example' }] }, /did you mean `Email`\?/],
    ['one of an event', { events: [{ severty: 'ERROR', ago: '1m' }] }, /did you mean `severity`\?/],
    ['devices of a device', { devices: [{ Banned: 'TRUE' }] }, /`devices` are given to rules over a user/],
    ['the spec of a device', { given: { $spec: {} } }, /`\$spec` is a service's/],
  ])('is refused for %s', (_, test, words) => {
    expect(withTest(test)).toEqual([expect.stringMatching(words)]);
  });

  it('is refused for a name that another test has', () => {
    const tests = [1, 2].map(() => ({ name: 'a', expect: 'no_match' }));
    expect(problemsOf(when, { tests })).toEqual([expect.stringMatching(/two tests are named `a`/)]);
  });

  it('is allowed values of a wrong type, and fields that are declared', () => {
    expect(withTest({ given: { LoginCount: 'many', LastLogin: { ago: '3d' }, MdmData: null, OS: { x: 1 } } })).toEqual(
      [],
    );
    expect(withTest({ given: { Region: 'north' } }, { declares: { Region: 'text' } })).toEqual([]);
  });
});
