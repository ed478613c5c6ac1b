// test: the traps that the design names. Each would act on people under plain json-logic-js, and is unknown or refused here.
import jsonLogic, { type RulesLogic } from 'json-logic-js';
import { describe, expect, it } from 'vitest';
import type { Facts } from '../../src/domain/facts.ts';
import { contextOf, problemsOf, ruleOf, verdictOf } from './sample-traits.ts';

const json = (when: unknown, record: Facts): boolean =>
  jsonLogic.truthy(jsonLogic.apply(when as RulesLogic, record)) as boolean;

describe('a fact that is not there', () => {
  const cases: [string, unknown, Facts][] = [
    [
      'a missing score counts as below 50',
      { '<': [{ var: 'TrustData.EntityTrustscore' }, 50] },
      { TrustData: { EntityTrustscore: null } },
    ],
    ['a missing flag counts as not "TRUE"', { '!=': [{ var: 'MdmData.CompliantStatus' }, 'TRUE'] }, {}],
    [
      'an empty flag counts as not "TRUE"',
      { '!=': [{ var: 'MdmData.CompliantStatus' }, 'TRUE'] },
      { MdmData: { CompliantStatus: '' } },
    ],
    ['no role of a missing list counts as none', { none: [{ var: 'Roles' }, { '==': [{ var: '' }, 'employee'] }] }, {}],
    ['not in a missing list counts as outside', { '!': [{ in: ['employee', { var: 'Roles' }] }] }, {}],
    ['not a missing text counts as another', { '!': [{ '==': [{ var: 'Ownership' }, 'Employee Owned'] }] }, {}],
    [
      'a null score counts as 0',
      { '<=': [{ var: 'TrustData.AccessTrustscore' }, 0] },
      { TrustData: { AccessTrustscore: null } },
    ],
    [
      'a score of the wrong type is compared',
      { '<': [{ var: 'TrustData.AccessTrustscore' }, 50] },
      { TrustData: { AccessTrustscore: '' } },
    ],
    ['a text list where a number should be counts as few', { '<': [{ var: 'LoginCount' }, 5] }, { LoginCount: [] }],
  ];
  it.each(cases)('is unknown, where json-logic-js acts since %s', (_, when, record) => {
    expect(json(when, record), 'json-logic-js would act').toBe(true);
    expect(verdictOf(ruleOf(when), record)).toBe('unknown');
  });

  it('is unknown where some elements lack the field and all others pass', () => {
    const when = { none: [{ var: 'TrustData.Factors' }, { '==': [{ var: 'Value' }, 'OK'] }] };
    const record: Facts = { TrustData: { Factors: [{ Name: 'disk' }] } };
    expect(json(when, record)).toBe(true);
    expect(verdictOf(ruleOf(when), record)).toBe('unknown');
  });

  it('is no unknown where a rule asks for absence', () => {
    expect(verdictOf(ruleOf({ missing: ['OS'] }), {})).toBe('match');
    expect(verdictOf(ruleOf({ missing: ['OS'] }), { OS: 'macOS 14' })).toBe('no_match');
    expect(verdictOf(ruleOf({ missing_some: [1, ['OS', 'Model']] }), { OS: 'macOS 14' })).toBe('no_match');
    expect(verdictOf(ruleOf({ missing: ['LastLogin'] }), { LastLogin: 1_700_000_000_000_000_000n })).toBe('no_match');
    expect(verdictOf(ruleOf({ '==': [{ var: ['Ownership', 'UNKNOWN'] }, 'UNKNOWN'] }), {})).toBe('match');
    expect(verdictOf(ruleOf({ '==': [{ var: ['Ownership', 'UNKNOWN'] }, 'UNKNOWN'] }), { Ownership: null })).toBe(
      'match',
    );
  });
});

describe('what cannot be meant is refused when the rule is loaded', () => {
  it.each<[string, unknown, string]>([
    ['"FALSE" counts as true', { '!!': [{ var: 'Banned' }] }, 'write {"==": [{"var": "Banned"}, "TRUE"]}'],
    ['a flag is compared with true', { '==': [{ var: 'MdmData.CompromisedStatus' }, true] }, 'write "TRUE"'],
    ['a flag is compared with "true"', { '==': [{ var: 'MdmData.CompromisedStatus' }, 'true'] }, 'write "TRUE"'],
    ['a prototype is walked', { '==': [{ var: 'constructor.name' }, 'Object'] }, 'no field `constructor.name`'],
    ['__proto__ is read', { '==': [{ var: '__proto__.polluted' }, 'x'] }, 'no field `__proto__.polluted`'],
    ['"admin" is found in "sysadmin"', { in: ['admin', { var: 'TrustData.Level' }, 'x'] }, 'takes 2 operands'],
    [
      'a value is looked for in a text instead of a list',
      { in: [{ var: 'TrustData.Level' }, 'AlwaysDeny,Low'] },
      'as a list',
    ],
    ['"9" is greater than "10"', { '>': [{ var: 'AppVersion' }, '10.0'] }, 'version_gt'],
    ['a score is a share of 1', { '<': [{ var: 'TrustData.EntityTrustscore' }, 0.5] }, 'did you mean 50?'],
    [
      'a score is a small share of 1',
      { '<=': [0.07, { var: 'TrustData.AccessTrustscore' }, 90] },
      'not from 0 to 1; did you mean 7?',
    ],
    ['a score is next to nothing', { '<': [{ var: 'TrustData.EntityTrustscore' }, 0.001] }, 'not from 0 to 1'],
    ['a score is among shares of 1', { in: [{ var: 'TrustData.EntityTrustscore' }, [0.25, 1]] }, 'did you mean 25?'],
    [
      'a score is a share of 1 by default',
      { '<': [{ var: ['TrustData.EntityTrustscore', 0.5] }, 9] },
      'did you mean 50?',
    ],
    ['a score can be 500', { '<': [{ var: 'TrustData.EntityTrustscore' }, 500] }, 'from 0 to 100'],
    [
      'milliseconds are taken for nanoseconds',
      { '<': [{ var: 'LastLogin' }, 1_700_000_000_000] },
      'write 1700000000000000000',
    ],
    ['milliseconds are taken for seconds', { '>': [{ age: { var: 'LastLogin' } }, 7_776_000_000] }, 'write "90d"'],
    ['an age is compared with text', { '>': [{ age: { var: 'LastLogin' } }, '90 days'] }, 'did you mean "90d"'],
    ['times are subtracted in two units', { '>': [{ '-': [{ var: '$now' }, { var: 'LastLogin' }] }, 5] }, '{"age": …}'],
    ['null is compared with', { '==': [{ var: 'OS' }, null] }, '{"missing": ["path"]}'],
    ['a number is compared with its text', { '==': [{ var: 'LoginCount' }, '3'] }, 'write 3 without quotation marks'],
    ['a level is misspelt', { '==': [{ var: 'TrustData.Level' }, 'low'] }, 'did you mean "Low"'],
    [
      'a path is misspelt',
      { '==': [{ var: 'MdmData.CompromizedStatus' }, 'TRUE'] },
      'did you mean `MdmData.CompromisedStatus`',
    ],
    ['a text is a condition', { and: [{ var: 'OS' }] }, 'expected a boolean or a list'],
    [
      'the outer record is read inside some',
      { some: [{ var: 'TrustData.Factors' }, { '==': [{ var: 'Platform' }, 'iOS'] }] },
      'only the element can be read',
    ],
  ])('or else %s', (_, when, words) => {
    expect(problemsOf(when).join('\n')).toContain(words);
  });

  it('a group is found by its whole name', () => {
    expect(problemsOf({ in: ['admin', { var: 'Groups' }] }, {}, 'user').join('\n')).toContain('{"in_group": "name"}');
    const rule = ruleOf({ in_group: 'admin' }, {}, 'user');
    expect(verdictOf(rule, { Email: 'a@b.c', Groups: 'sysadmin, staff' })).toBe('no_match');
    expect(verdictOf(rule, { Email: 'a@b.c', Groups: 'staff, admin' })).toBe('match');
  });

  it('a rule cannot read the field that its own action writes', () => {
    const lines = problemsOf({ '==': [{ var: 'Banned' }, 'FALSE'] }, { then: 'ban_device' });
    expect(lines.join('\n')).toContain('`when` reads `Banned`, which `ban_device` itself writes');
  });
});

describe('a part that reads the element of a loop', () => {
  it('is asked again for each element, even if it appears in the rule twice', () => {
    // The start of `reduce` is outside of its own loop, and inside `some`.
    const sum = { '+': [{ var: 'current' }, { var: 'accumulator' }] };
    const isBusy = { '>': [{ reduce: [[1, 2], sum, { var: 'LoginCount' }] }, 50] };
    const isBusyOwner = (email: string): object => ({
      some: [{ var: '$owners' }, { and: [isBusy, { '==': [{ var: 'Email' }, email] }] }],
    });
    const users = new Map<string, Facts>([
      ['a@b.c', { Email: 'a@b.c', LoginCount: 0 }],
      ['b@b.c', { Email: 'b@b.c', LoginCount: 100 }],
    ]);
    const context = contextOf({ joins: { users, devices: new Map() } });
    const rule = ruleOf({ or: [isBusyOwner('b@b.c'), isBusyOwner('z@b.c')] });
    expect(verdictOf(rule, { DeviceID: 'd1', Emails: ['a@b.c', 'b@b.c'] }, context)).toBe('match');
  });
});

describe('hostile records', () => {
  it('a property that is inherited is never read', () => {
    const record = Object.create({ Ownership: 'Other' }) as Facts;
    expect(verdictOf(ruleOf({ '==': [{ var: 'Ownership' }, 'Other'] }), record)).toBe('unknown');
    const declared = ruleOf({ '==': [{ var: 'constructor' }, 'x'] }, { declares: { constructor: 'text' } });
    expect(verdictOf(declared, {})).toBe('unknown');
    expect(verdictOf(declared, JSON.parse('{"constructor":"x"}') as Facts)).toBe('match');
  });

  it('two 19-digit times that differ in the last digit are different', () => {
    const when = { '==': [{ var: 'LastLogin' }, { var: 'CreatedAt' }] };
    const record: Facts = { LastLogin: 1_700_000_000_000_000_001n, CreatedAt: 1_700_000_000_000_000_002n };
    expect(verdictOf(ruleOf(when), record)).toBe('no_match');
    expect(verdictOf(ruleOf(when), { ...record, CreatedAt: 1_700_000_000_000_000_001n })).toBe('match');
  });

  it('a loop over a huge list ends in an error', () => {
    const when = { some: [{ var: 'Roles' }, { '==': [{ var: '' }, 'x'] }] };
    expect(verdictOf(ruleOf(when), { Roles: new Array<string>(200_000).fill('y') })).toBe('error');
  });

  it('a text that doubles in every step ends in an error', () => {
    const when = {
      '==': [{ reduce: [{ var: 'Roles' }, { cat: [{ var: 'accumulator' }, { var: 'accumulator' }] }, 'xx'] }, 'y'],
    };
    expect(verdictOf(ruleOf(when), { Roles: new Array<string>(60).fill('y') })).toBe('error');
  });
});
