// test: the traps that the design names, differences from json-logic-js on purpose, and any JSON value as a rule or as data.

import fc from 'fast-check';
import jsonLogic, { type RulesLogic } from 'json-logic-js';
import { describe, expect, it, vi } from 'vitest';
import type { Facts } from '../../src/domain/facts.ts';
import { OTHER_NAMES } from '../../src/rules/check/other-names.ts';
import { explain } from '../../src/rules/explain.ts';
import { compileRules } from '../../src/rules/judge/evaluator.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../src/rules/load/read-rule.ts';
import { LANGUAGE } from '../../src/rules/operators/operators.ts';
import { contextOf, NOW_MS, problemsOf, ruleOf, TRAITS, verdictOf } from './sample-traits.ts';
import { Grammar } from './typed-grammar.ts';

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
    expect(verdictOf(ruleOf({ exists: ['MdmData', 'Source'] }), { MdmData: { Source: null } })).toBe('match');
    expect(verdictOf(ruleOf({ exists: 'OS' }), {})).toBe('no_match');
    expect(verdictOf(ruleOf({ '==': [{ var: ['Ownership', 'UNKNOWN'] }, 'UNKNOWN'] }), {})).toBe('match');
    expect(verdictOf(ruleOf({ '==': [{ var: ['Ownership', 'UNKNOWN'] }, 'UNKNOWN'] }), { Ownership: null })).toBe(
      'match',
    );
  });
});

describe('`??`', () => {
  const isHigh = ruleOf({
    '>': [{ '??': [{ val: ['TrustData', 'AccessTrustscore'] }, { var: 'LoginCount' }, 3] }, 5],
  });

  it.each<[string, Facts, string]>([
    ['its first field where that has a value', { TrustData: { AccessTrustscore: 9 }, LoginCount: 1 }, 'match'],
    ['the next field where the first is null', { TrustData: { AccessTrustscore: null }, LoginCount: 7 }, 'match'],
    ['the last operand where nothing is there', {}, 'no_match'],
    [
      'unknown where the first is of another type',
      { TrustData: { AccessTrustscore: 'high' }, LoginCount: 7 },
      'unknown',
    ],
  ])('is %s', (_, record, verdict) => {
    expect(verdictOf(isHigh, record)).toBe(verdict);
  });

  it('is unknown where its field is stale, and reads the elements of a list', () => {
    const fresh = { fresh: { 'MdmData.Timestamp': '1d' } };
    const stale = { MdmData: { Source: 'x', Timestamp: 1_700_000_000_000_000_000n } };
    const isThere = { '==': [{ '??': [{ val: ['MdmData', 'Source'] }, 'none'] }, 'none'] };
    expect(verdictOf(ruleOf(isThere), {})).toBe('match');
    expect(verdictOf(ruleOf(isThere, fresh), stale)).toBe('unknown');
    const some = {
      some: [{ val: ['TrustData', 'Factors'] }, { '==': [{ '??': [{ val: 'Value' }, 'none'] }, 'none'] }],
    };
    expect(verdictOf(ruleOf(some), { TrustData: { Factors: [{ Name: 'disk', Value: 'OK' }, { Name: 'os' }] } })).toBe(
      'match',
    );
  });
});

describe('what cannot be meant is refused when the rule is loaded', () => {
  it.each<[string, unknown, string]>([
    ['"FALSE" counts as true', { '!!': [{ var: 'Banned' }] }, 'write {"==": [{"var": "Banned"}, "TRUE"]}'],
    ['a path is one text of `val`', { '==': [{ val: 'MdmData.Source' }, 'x'] }, 'write {"val": ["MdmData","Source"]}'],
    ['`val` climbs out of a loop', { '==': [{ val: [[1], 'Model'] }, 'x'] }, 'it takes no levels'],
    ['`exists` asks for no field', { exists: 'Modell' }, 'did you mean `Model`?'],
    [
      'what is never absent has a stand-in',
      { '==': [{ '??': [{ cat: [{ var: 'OS' }] }, 'x'] }, 'x'] },
      'is never absent',
    ],
    ['a stand-in is of another type', { '==': [{ '??': [{ var: 'Model' }, 5] }, 5] }, 'are of one type'],
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

  it('an operator that there is not gets a hint by what it means, else by its spelling, else none', () => {
    const hints: [string, string][] = [
      ['older_than', '; write, for example, {">": [{"age": {"var": "LastLogin"}}, "90d"]}'],
      ['olderThan', '; write, for example, {">": [{"age": {"var": "LastLogin"}}, "90d"]}'],
      ['oldr_than', '; write, for example, {">": [{"age": {"var": "LastLogin"}}, "90d"]}'],
      ['contains', '; write, for example, {"in": ["employee", {"var": "Roles"}]}'],
      ['starts_wiht', '; did you mean `starts_with`?'],
      ['constructor', ''],
      ['frobnicate', ''],
    ];
    for (const [written, hint] of hints)
      expect(problemsOf({ [written]: [1, 2] })[0]?.split('unknown operator ')[1]).toBe(`\`${written}\`${hint}`);
  });

  it('what a hint shows is a condition that loads, and no name in it is the name of an operator or given twice', () => {
    const names = Object.values(OTHER_NAMES).flatMap((each) => each.split(' '));
    expect(names.filter((name, index) => LANGUAGE.has(name) || names.indexOf(name) !== index)).toEqual([]);
    for (const example of Object.keys(OTHER_NAMES)) ruleOf(JSON.parse(example));
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

describe('where the rule language differs from json-logic-js on purpose. docs/rules.md lists the same with the reasons; traps.test.ts has what is unknown or refused because a fact is missing', () => {
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
});

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
