// test: one pass over records: tallies, facts, standing verdicts, joins; what one record has taught is not applied to another; what lists of version 2 lack.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Fact, Facts } from '../../src/domain/facts.ts';
import { lostFactsText } from '../../src/domain/lists.ts';
import { howToGet, type Judgement } from '../../src/domain/verdict.ts';
import { rulesThatLose } from '../../src/rules/compile/expressions.ts';
import { explain } from '../../src/rules/explain.ts';
import { sampleRecord } from '../../src/rules/facts/fact-list.ts';
import { compileRules } from '../../src/rules/judge/evaluator.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { rulesOf } from '../../src/rules/load/read-rule.ts';
import { contextOf, NOW_MS, ruleOf, verdictOf } from './sample-traits.ts';

const compromised = { '==': [{ var: 'MdmData.CompromisedStatus' }, 'TRUE'] };
const nanoseconds = (ms: number): bigint => BigInt(ms) * 1_000_000n;
const device = (id: string, more: Facts = {}): Facts => ({ DeviceID: id, SerialNumber: `S-${id}`, ...more });

function judged(rules: ReturnType<typeof ruleOf>[], records: Facts[], context = contextOf()): Judgement {
  const judge = compileRules(rules).judge('device', context);
  for (const record of records) judge.accept(record);
  return judge.finish();
}

describe('a pass', () => {
  it('tells of each missing fact why, also of subjects that it does not list', () => {
    const absent = Array.from({ length: 150 }, (_, at) => device(`a${at}`));
    const old = device('old', { OS: 'x', MdmData: { Timestamp: nanoseconds(NOW_MS - 86_400_000) } });
    const rule = ruleOf({ '==': [{ var: 'OS' }, 'x'] }, { fresh: { 'MdmData.Timestamp': '1h' } });
    const [tally] = judged(
      [rule],
      [...absent.map((one) => ({ ...one, MdmData: { Timestamp: nanoseconds(NOW_MS) } })), old],
    ).tallies;
    expect([tally?.missing, tally?.examples.length, tally?.whys]).toEqual([{ OS: 151 }, 100, { OS: ['stale'] }]);
  });
  it('keeps every verdict with its facts, or with the fact that was missing', () => {
    const records = [
      device('a', { MdmData: { CompromisedStatus: 'TRUE' } }),
      device('b', { MdmData: { CompromisedStatus: 'FALSE' } }),
      device('c', { MdmData: { CompromisedStatus: 1 } }),
      device('d'),
      device('e', { MdmData: { CompromisedStatus: null } }),
    ];
    const { tallies, matches, values, judged: count } = judged([ruleOf(compromised)], records);
    expect(count).toBe(5);
    expect(tallies[0]).toMatchObject({
      rule: 'a-rule',
      match: 1,
      no_match: 1,
      unknown: 3,
      error: 0,
      missing: { 'MdmData.CompromisedStatus': 3 },
    });
    expect(tallies[0]?.examples.map(({ subject, reason }) => [subject, reason])).toEqual([
      ['c', '`MdmData.CompromisedStatus` is not of the type it should be'],
      ['d', '`MdmData.CompromisedStatus` is missing'],
      ['e', '`MdmData.CompromisedStatus` is null'],
    ]);
    expect(matches).toMatchObject([
      { rule: 'a-rule', summary: { id: 'a', serial: 'S-a' }, facts: { 'MdmData.CompromisedStatus': 'TRUE' } },
    ]);
    expect(values).toEqual({ 'MdmData.CompromisedStatus': { TRUE: 1, FALSE: 1, '∅': 3 } });
  });

  it('reports the verdict of a subject whose episode is open', () => {
    const rule = ruleOf(compromised);
    const context = contextOf({ isOpen: (_, id) => id !== 'x', hasOpen: (id) => id !== 'y' });
    const records = [device('a', { MdmData: { CompromisedStatus: 'FALSE' } }), device('b'), device('x'), device('y')];
    const { open } = judged([rule], records, context);
    expect(open.map(({ summary, verdict, missing }) => [summary.id, verdict, missing])).toEqual([
      ['a', 'no_match', []],
      ['b', 'unknown', ['MdmData.CompromisedStatus']],
    ]);
  });

  it('shows the lists of each record to every rule that it matches, without secrets', () => {
    const hasRole = (role: string) => ({ in: [role, { var: 'Roles' }] });
    const rules = [ruleOf(hasRole('staff')), ruleOf({ '!': [hasRole('guest')] }, { id: 'other' })];
    const secret = 'password=hunter2hunter2';
    const { matches } = judged(rules, [
      device('a', { Roles: ['staff', 'ana@acme.example'] }),
      device('b', { Roles: ['staff', secret] }),
      device('c', { Roles: ['staff'] }),
    ]);
    const roles = (id: string) =>
      matches.filter(({ summary }) => summary.id === id).map(({ rule, facts }) => [rule, facts.Roles]);
    const both = (shown: unknown) => [
      ['a-rule', shown],
      ['other', shown],
    ];
    expect(roles('a')).toEqual(both(['staff', 'ana@acme.example']));
    expect(roles('b')).toEqual(both(['staff', expect.not.stringContaining('hunter2')]));
    expect(roles('c')).toEqual(both(['staff']));
  });

  it('names the subjects that it could not judge, as their records do', () => {
    const known = { DeviceFriendlyName: 'Ana laptop', Emails: ['ana@acme.example'] };
    const { tallies } = judged([ruleOf(compromised)], [device('a', known), device('b')]);
    expect(tallies[0]?.examples).toMatchObject([
      { subject: 'a', name: 'Ana laptop', serial: 'S-a', owners: ['ana@acme.example'], verdict: 'unknown' },
      { subject: 'b', serial: 'S-b', verdict: 'unknown' },
    ]);
  });

  it('keeps at most 100 examples, and at most 64 values', () => {
    const rules = [ruleOf({ '==': [{ var: 'Model' }, 'M0'] }), ruleOf(compromised, { id: 'other' })];
    const { tallies, values } = judged(
      rules,
      Array.from({ length: 300 }, (_, i) => device(`d${i}`, { Model: `M${i}` })),
    );
    expect(tallies[1]).toMatchObject({ unknown: 300 });
    expect(tallies[1]?.examples).toHaveLength(100);
    expect(Object.keys(values.Model ?? {})).toHaveLength(65);
    expect(values.Model).toMatchObject({ M0: 1, '…other': 236 });
  });

  it('keeps forty rules apart', () => {
    const rules = Array.from({ length: 40 }, (_, i) =>
      ruleOf(
        { and: [{ '==': [{ var: 'LoginCount' }, i] }, { '==': [{ var: 'Model' }, `M${i % 3}`] }] },
        { id: `rule-${i}` },
      ),
    );
    const records = Array.from({ length: 40 }, (_, i) => device(`d${i}`, { LoginCount: i, Model: 'M1' }));
    const { matches } = judged(rules, records);
    expect(matches.map(({ rule, summary }) => `${rule} ${summary.id}`)).toEqual(
      Array.from({ length: 40 }, (_, i) => i)
        .filter((i) => i % 3 === 1)
        .map((i) => `rule-${i} d${i}`),
    );
  });
});

describe('freshness', () => {
  const rule = ruleOf(compromised, { fresh: { 'MdmData.Timestamp': '7d' } });
  const at = (ms: number | bigint): Facts =>
    device('a', { MdmData: { CompromisedStatus: 'TRUE', Timestamp: typeof ms === 'bigint' ? ms : nanoseconds(ms) } });
  const day = 86_400_000;
  it.each<[string, Facts, string]>([
    ['7 days old', at(NOW_MS - 7 * day), 'match'],
    ['older', at(NOW_MS - 7 * day - 1), 'unknown'],
    ['never set', at(0n), 'unknown'],
    ['absent', device('a', { MdmData: { CompromisedStatus: 'TRUE' } }), 'unknown'],
    ['a little ahead', at(NOW_MS + 60_000), 'match'],
    ['of the far future', at(NOW_MS + 400 * day), 'unknown'],
    ['in milliseconds', device('a', { MdmData: { CompromisedStatus: 'TRUE', Timestamp: NOW_MS } }), 'match'],
  ])('a report %s', (_, record, verdict) => {
    expect(verdictOf(rule, record)).toBe(verdict);
  });

  it('of one rule does not make the facts of another unknown', () => {
    const stale = at(NOW_MS - 30 * day);
    const { tallies } = judged([rule, ruleOf(compromised, { id: 'other' })], [stale, at(NOW_MS)]);
    expect(tallies.map(({ match, unknown }) => [match, unknown])).toEqual([
      [1, 1],
      [2, 0],
    ]);
  });

  it('of a timestamp beside which nothing is read covers the whole record', () => {
    const guarded = ruleOf({ '==': [{ var: 'Ownership' }, 'Other'] }, { fresh: { 'MdmData.Timestamp': '7d' } });
    expect(verdictOf(guarded, { ...at(NOW_MS), Ownership: 'Other' })).toBe('match');
    expect(verdictOf(guarded, { ...at(0n), Ownership: 'Other' })).toBe('unknown');
  });
});

describe('time', () => {
  it('an age is the same in every unit', () => {
    const rule = ruleOf({ '>=': [{ age: { var: 'LastLogin' } }, '90d'] });
    const then = NOW_MS - 90 * 86_400_000;
    for (const value of [then / 1_000, then, then * 1_000, nanoseconds(then)])
      expect(verdictOf(rule, device('a', { LastLogin: value })), String(value)).toBe('match');
    expect(verdictOf(rule, device('a', { LastLogin: nanoseconds(then + 1_000) }))).toBe('no_match');
    expect(verdictOf(rule, device('a', { LastLogin: 0 }))).toBe('unknown');
  });

  it('$now is compared in the unit of the other side', () => {
    const rule = ruleOf({ '>': [{ var: 'LastLogin' }, { var: '$now' }] });
    expect(verdictOf(rule, device('a', { LastLogin: nanoseconds(NOW_MS) + 1n }))).toBe('match');
    expect(verdictOf(rule, device('a', { LastLogin: nanoseconds(NOW_MS) }))).toBe('no_match');
  });
});

describe('joined records', () => {
  const rule = ruleOf({ some: [{ var: '$owners' }, { in_group: 'Contractors' }] });
  const owner = (groups: string): Facts => ({ Email: 'a@b.c', Groups: groups });
  const record = device('a', { Emails: ['A@b.c'] });
  it('an owner who is not in the snapshot makes `$owners` unknown', () => {
    expect(verdictOf(rule, record)).toBe('unknown');
    expect(verdictOf(rule, device('a'))).toBe('unknown');
    const context = contextOf({
      joins: { users: new Map([['a@b.c', owner('Staff, Contractors')]]), devices: new Map() },
    });
    expect(verdictOf(rule, record, context)).toBe('match');
    expect(verdictOf(rule, device('a', { Emails: [] }), context)).toBe('no_match');
    expect(verdictOf(rule, record, { ...context, unavailable: new Set(['users']) })).toBe('unknown');
  });

  it('the spec inside a service is read, escaped or not', () => {
    const open = ruleOf({ '==': [{ var: '$spec.spec.backend.target.tls_insecure' }, true] }, {}, 'service');
    const spec = JSON.stringify({ spec: { backend: { target: { tls_insecure: true } } } });
    expect(verdictOf(open, { ServiceID: 's', ServiceSpec: spec })).toBe('match');
    expect(verdictOf(open, { ServiceID: 's', ServiceSpec: spec.replaceAll('"', '&#34;') })).toBe('match');
    expect(verdictOf(open, { ServiceID: 's', ServiceSpec: '{broken' })).toBe('unknown');
  });
});

describe('texts and versions', () => {
  it.each<[string, unknown, Facts, string]>([
    ['a pattern', { matches: [{ var: 'Model' }, '^Mac(Book)? '] }, { Model: 'MacBook Pro' }, 'match'],
    ['a start', { starts_with: [{ var: 'Model' }, 'Mac'] }, { Model: 'iMac' }, 'no_match'],
    ['an end', { ends_with: [{ var: 'Model' }, 'Mac'] }, { Model: 'iMac' }, 'match'],
    ['an older version', { version_lt: [{ var: 'AppVersion' }, '3.10'] }, { AppVersion: '3.9.1' }, 'match'],
    ['a version with a name', { version_gte: [{ var: 'OS' }, '14'] }, { OS: 'macOS 14.5' }, 'match'],
    [
      'a preview of a version',
      { version_lt: [{ var: 'AppVersion' }, '3.0.0'] },
      { AppVersion: '3.0.0-beta.1' },
      'match',
    ],
    ['no version', { version_lt: [{ var: 'AppVersion' }, '3.0.0'] }, { AppVersion: '' }, 'unknown'],
  ])('%s is compared as such', (_, when, record, verdict) => {
    expect(verdictOf(ruleOf(when), record)).toBe(verdict);
  });
  it('a pattern is matched in linear time', () => {
    expect(verdictOf(ruleOf({ matches: [{ var: 'Model' }, '^(a+)+$'] }), { Model: `${'a'.repeat(5_000)}!` })).toBe(
      'no_match',
    );
  });
});

describe('what one record has taught must not be applied to another', () => {
  const LONG_AGO = 1_750_000_000_000_000_000;
  /** The next number that a double can hold there: between the two are 255 big integers. */
  const NEXT = LONG_AGO + 256;
  const fact = (path: string) => ({ var: path });
  const RULES = [
    { '<': [fact('LastLogin'), LONG_AGO] },
    { '>=': [fact('LastLogin'), NEXT] },
    { '==': [fact('LastLogin'), LONG_AGO] },
    { '!=': [fact('MdmData.Timestamp'), 0] },
    { '<=': [fact('LoginCount'), 5] },
    { '>': [fact('LoginCount'), 9.5] },
    { and: [{ '<': [fact('TrustData.EntityTrustscore'), 50] }, { '!=': [fact('Platform'), 'Linux'] }] },
    { '==': [fact('TrustData.EntityTrustscore'), 99.5] },
    { '==': [fact('RegisteredStatus'), 'TRUE'] },
    { in: ['contractor', fact('Roles')] },
    { some: [fact('TrustData.Factors'), { '==': [fact('Value'), 'FAIL'] }] },
  ].map((when, index) => ruleOf(when, { id: `rule-${index}` }));

  function judged(records: readonly Facts[]): Judgement {
    const judge = compileRules(RULES).judge('device', contextOf());
    for (const record of records) judge.accept(record);
    return judge.finish();
  }

  /** Verdicts by rule, added up. */
  const counted = ({ tallies }: Judgement) =>
    tallies.map(({ match, no_match, unknown, error }) => [match, no_match, unknown, error]);

  const odd: fc.Arbitrary<Fact> = fc.constantFrom<Fact[]>(
    null,
    '',
    'x',
    true,
    [],
    {},
    -1,
    -0,
    0.5,
    0n,
    -1n,
    1e300,
    '0',
  );
  const number = fc.oneof(fc.integer({ min: -2, max: 12 }), fc.constantFrom(9.5, 5n, 9n, 0, 0n));
  const time = fc.constantFrom<Fact[]>(
    LONG_AGO,
    NEXT,
    0,
    1,
    BigInt(LONG_AGO) + 1n,
    BigInt(NEXT),
    1.5,
    -3,
    LONG_AGO - 256,
  );
  const often = (usual: fc.Arbitrary<Fact>) => fc.oneof({ weight: 5, arbitrary: usual }, { weight: 1, arbitrary: odd });
  const part = (fields: { [name: string]: fc.Arbitrary<Fact> }) =>
    fc.record(fields, { requiredKeys: [] }) as fc.Arbitrary<Facts>;
  const plain = part({
    DeviceID: fc.constant('a'),
    LastLogin: often(time),
    LoginCount: often(number),
    Platform: often(fc.constantFrom('Linux', 'macOS')),
    RegisteredStatus: often(fc.constantFrom('TRUE', 'FALSE')),
    Roles: often(fc.array(fc.constantFrom<Fact[]>('contractor', 'employee', 3), { maxLength: 2 })),
    MdmData: often(part({ Timestamp: often(time) })),
    TrustData: often(
      part({
        EntityTrustscore: often(fc.oneof(fc.integer({ min: 0, max: 101 }), fc.constant(99.5))),
        Factors: often(fc.array(often(part({ Value: often(fc.constantFrom('OK', 'FAIL')) })), { maxLength: 2 })),
      }),
    ),
  });
  /** A record, and what it owns. */
  const device = fc
    .tuple(plain, fc.constantFrom('as it is', 'no prototype', 'inherited', 'a key __proto__'))
    .map(([owned, how]): [Facts, Facts] => {
      if (how === 'no prototype') return [Object.assign(Object.create(null), owned), owned];
      if (how === 'inherited') return [Object.create(owned), {}];
      const key = { value: { Platform: 'macOS' }, enumerable: true };
      return [how === 'a key __proto__' ? Object.defineProperty({ ...owned }, '__proto__', key) : owned, owned];
    });

  describe('a pass over many records', () => {
    it('judges each by its own properties, whatever came before it', () => {
      fc.assert(
        fc.property(fc.array(device, { minLength: 2, maxLength: 40 }), (records) => {
          const alone = records.map(([, owned]) => counted(judged([owned])));
          const sum = alone.reduce((all, one) => all.map((row, rule) => row.map((n, i) => n + (one[rule]?.[i] ?? 0))));
          expect(counted(judged(records.map(([record]) => record)))).toEqual(sum);
        }),
        { numRuns: 300 },
      );
    });

    it('counts each value as often as it comes', () => {
      fc.assert(
        fc.property(fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 150, maxLength: 300 }), (scores) => {
          const { values } = judged(scores.map((EntityTrustscore) => ({ TrustData: { EntityTrustscore } })));
          const kept = [...new Set(scores)].slice(0, 64);
          const expected: Record<string, number> = {};
          for (const score of scores) {
            const name = kept.includes(score) ? String(score) : '…other';
            expected[name] = (expected[name] ?? 0) + 1;
          }
          expect({ ...values['TrustData.EntityTrustscore'] }).toEqual(expected);
        }),
      );
    });

    it('counts the values of every fact as a naive count does, whatever is in the records', () => {
      fc.assert(
        fc.property(fc.array(device, { minLength: 1, maxLength: 60 }), (records) => {
          const { values } = judged(records.map(([record]) => record));
          for (const path of Object.keys(TYPES)) expect({ ...values[path] }).toEqual(naive(path, records));
        }),
        { numRuns: 300 },
      );
    });

    it('counts texts that differ in little, and more of them than it keeps, as a naive count does', () => {
      const text = fc.integer({ min: 0, max: 120 }).map((n) => `${'ab'[n % 2]}${n % 3 === 0 ? 'x' : n}c`);
      fc.assert(
        fc.property(fc.array(fc.oneof(text, fc.constant('')), { minLength: 100, maxLength: 400 }), (texts) => {
          const records = texts.map((Platform): [Facts, Facts] => [{ Platform }, { Platform }]);
          expect({ ...judged(records.map(([record]) => record)).values.Platform }).toEqual(naive('Platform', records));
        }),
      );
    });
  });

  const isWhole = (value: Fact | undefined): boolean => typeof value === 'bigint' || Number.isInteger(value);
  const isNumber = (value: Fact | undefined): value is number => typeof value === 'number' && Number.isFinite(value);
  /** Whether a value has the type of the fact. */
  const TYPES: { [path: string]: (value: Fact | undefined) => boolean } = {
    LastLogin: (value) => isWhole(value) && (value as number) >= 0,
    'MdmData.Timestamp': (value) => isWhole(value) && (value as number) >= 0,
    LoginCount: (value) => typeof value === 'bigint' || isNumber(value),
    'TrustData.EntityTrustscore': (value) => isNumber(value) && value >= 0 && value <= 100,
    Platform: (value) => typeof value === 'string',
    RegisteredStatus: (value) => value === 'TRUE' || value === 'FALSE',
    Roles: Array.isArray,
    'TrustData.Factors': Array.isArray,
  };

  /** By the properties that the records own. */
  function naive(path: string, records: readonly [Facts, Facts][]): Record<string, number> {
    const counts: Record<string, number> = {};
    const kept = new Set<Fact>();
    for (const [, owned] of records) {
      let value: Fact | undefined = owned;
      for (const key of path.split('.'))
        value =
          typeof value === 'object' && !Array.isArray(value) && value && Object.hasOwn(value, key)
            ? value[key]
            : undefined;
      const name = nameOfValue(path, value, kept);
      counts[name] = (counts[name] ?? 0) + 1;
    }
    return counts;
  }

  function nameOfValue(path: string, value: Fact | undefined, kept: Set<Fact>): string {
    if (!TYPES[path]?.(value)) return '∅';
    if (!['Platform', 'RegisteredStatus', 'TrustData.EntityTrustscore'].includes(path)) {
      return (Array.isArray(value) ? value.length === 0 : Number(value) === 0) ? 'zero' : 'set';
    }
    if (kept.size < 64) kept.add(value as Fact);
    return kept.has(value as Fact) ? String(value) : '…other';
  }
});

describe('rules under lists of version 2', () => {
  /** A complete record of version 1, as single reads give it. */
  const device: Facts = sampleRecord('device', NOW_MS);
  const owner: Facts = { Email: 'ada@acme.example', Name: 'Ada', Groups: 'admins' };
  const context = {
    ...contextOf(),
    joins: { users: new Map([['ada@acme.example', owner]]), devices: new Map([['S', [device]]]) },
  };

  function judged(rule: LoadedRule, record: Facts, lists: 'v1' | 'v2') {
    const judge = compileRules([rule], lists).judge(rule.subject, context);
    judge.accept(record);
    const { tallies, values } = judge.finish();
    const [tally] = tallies;
    const verdict = (['match', 'no_match', 'unknown', 'error'] as const).find((name) => tally?.[name] === 1);
    return { verdict, reason: tally?.examples[0]?.reason, whys: tally?.whys ?? {}, values };
  }

  const mdm = { var: 'MdmData.CompromisedStatus' };
  const LOST: [name: string, rule: LoadedRule, record: Facts, path: string][] = [
    ['a fact', ruleOf({ '==': [mdm, 'FALSE'] }), device, 'MdmData.CompromisedStatus'],
    [
      'a fact with a default',
      ruleOf({ '==': [{ var: ['MdmData.CompromisedStatus', 'FALSE'] }, 'FALSE'] }),
      device,
      'MdmData.CompromisedStatus',
    ],
    ['what is missing', ruleOf({ '!!': [{ missing: ['MdmData.Timestamp'] }] }), device, 'MdmData.Timestamp'],
    ['what is missing of a part', ruleOf({ '!!': [{ missing: ['TrustData'] }] }), device, 'TrustData'],
    [
      'one of several that are missing',
      ruleOf({ '!!': [{ missing_some: [1, ['Model', 'MdmData.Source']] }] }),
      device,
      'MdmData.Source',
    ],
    [
      'a fact of an owner',
      ruleOf({ some: [{ var: '$owners' }, { in_group: [{ var: 'Groups' }, 'admins'] }] }),
      { ...device, Emails: ['ada@acme.example'] },
      '$owners[].Groups',
    ],
    [
      'what is missing of an owner',
      ruleOf({ some: [{ var: '$owners' }, { '!!': [{ missing: ['Roles'] }] }] }),
      { ...device, Emails: ['ada@acme.example'] },
      '$owners[].Roles',
    ],
    [
      'devices of a user',
      ruleOf({ some: [{ var: '$devices' }, { '==': [{ var: 'Banned' }, 'TRUE'] }] }, {}, 'user'),
      { ...owner, SerialNumbers: ['S'] },
      '$devices',
    ],
  ];

  describe('under v2 lists', () => {
    it.each(LOST)('%s that they lack is unknown, and known under version 1', (_, rule, record, path) => {
      expect(judged(rule, record, 'v1').verdict).toMatch(/^(no_)?match$/);
      const { verdict, reason, values } = judged(rule, record, 'v2');
      expect([verdict, reason]).toEqual(['unknown', `\`${path}\` is not in v2 lists`]);
      expect(Object.keys(values)).not.toContain(path);
      expect(rulesThatLose([rule])).toEqual([{ rule: rule.id, subject: rule.subject, facts: [path] }]);
    });

    it('a fact whose freshness nobody can vouch for is unknown', () => {
      const rule = ruleOf({ '==': [{ var: 'TrustData.Level' }, 'Low'] }, { fresh: { 'TrustData.UpdatedAt': '9000d' } });
      expect(judged(rule, device, 'v1').verdict).toBe('no_match');
      const { verdict, reason, whys } = judged(rule, device, 'v2');
      expect(verdict).toBe('unknown');
      expect(reason).toBe('`TrustData.Level` cannot be vouched for: `TrustData.UpdatedAt` is not in v2 lists');
      expect(howToGet({ fact: 'TrustData.Level', whys: whys['TrustData.Level'] ?? [], unavailable: [] })).toContain(
        'TRUSTWARD_API_LISTS=v1',
      );
    });

    it.each<[string, unknown, Fact]>([
      ['a flag', { '==': [{ var: 'Banned' }, 'TRUE'] }, { Banned: 'TRUE' }],
      ['a trust level', { '==': [{ var: 'TrustData.Level' }, 'Low'] }, { TrustData: { Level: 'Low' } }],
      ['an element of a list', { in: ['a', { var: 'Roles' }] }, { Roles: ['a'] }],
      [
        'an owner',
        { some: [{ var: '$owners' }, { '==': [{ var: 'Name' }, 'Ada'] }] },
        { Emails: ['ada@acme.example'] },
      ],
      ['one of two', { or: [{ '==': [mdm, 'TRUE'] }, { '==': [{ var: 'Banned' }, 'TRUE'] }] }, { Banned: 'TRUE' }],
    ])('%s that they have is judged', (_, when, more) => {
      expect(judged(ruleOf(when), { ...device, ...(more as Facts) }, 'v2').verdict).toBe('match');
    });

    it('a rule that another thread makes of the portable form gives the same verdict', () => {
      for (const [, rule, record, path] of LOST) {
        const { rules, lists } = compileRules([rule], 'v2').portable();
        const [sent] = rulesOf(structuredClone({ rules }));
        expect(judged(sent as LoadedRule, record, lists).reason).toBe(`\`${path}\` is not in v2 lists`);
      }
    });

    it('an explanation names the fact and why it is unknown', () => {
      const explained = explain(ruleOf({ '==': [mdm, 'TRUE'] }), device, { ...context, events: [], lists: 'v2' });
      expect(explained.verdict).toBe('unknown');
      expect(explained.facts).toMatchObject([
        {
          fact: 'MdmData.CompromisedStatus',
          value: undefined,
          reason: '`MdmData.CompromisedStatus` is not in v2 lists',
        },
      ]);
      expect(explained.flips).toEqual([]);
    });

    it('a person reads which rule loses which facts', () => {
      expect(lostFactsText('x', 'device', ['MdmData.CompromisedStatus'])).toBe(
        'rule `x` reads `MdmData.CompromisedStatus`, which v2 lists do not have: it is unknown for every device',
      );
    });
  });
});
