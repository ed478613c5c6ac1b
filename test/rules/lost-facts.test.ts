// test: rules under lists of version 2: what these lack is unknown, whatever the record at hand has, for every way to ask for it.
import { describe, expect, it } from 'vitest';
import type { Fact, Facts } from '../../src/domain/facts.ts';
import { lostFactsText } from '../../src/domain/lists.ts';
import { howToGet } from '../../src/domain/verdict.ts';
import { rulesThatLose } from '../../src/rules/compile/expressions.ts';
import { explain } from '../../src/rules/explain.ts';
import { sampleRecord } from '../../src/rules/facts/fact-list.ts';
import { compileRules } from '../../src/rules/judge/evaluator.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { rulesOf } from '../../src/rules/load/read-rule.ts';
import { contextOf, NOW_MS, ruleOf } from './sample-traits.ts';

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
    ['an owner', { some: [{ var: '$owners' }, { '==': [{ var: 'Name' }, 'Ada'] }] }, { Emails: ['ada@acme.example'] }],
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
      { fact: 'MdmData.CompromisedStatus', value: undefined, reason: '`MdmData.CompromisedStatus` is not in v2 lists' },
    ]);
    expect(explained.flips).toEqual([]);
  });

  it('a person reads which rule loses which facts', () => {
    expect(lostFactsText('x', 'device', ['MdmData.CompromisedStatus'])).toBe(
      'rule `x` reads `MdmData.CompromisedStatus`, which v2 lists do not have: it is unknown for every device',
    );
  });
});
