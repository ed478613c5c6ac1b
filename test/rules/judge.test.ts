// test: one pass over records: tallies, facts, standing verdicts, value counts, joins, freshness, bits of many rules.
import { describe, expect, it } from 'vitest';
import type { Facts } from '../../src/domain/facts.ts';
import type { Judgement } from '../../src/domain/verdict.ts';
import { compileRules } from '../../src/rules/judge/evaluator.ts';
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
