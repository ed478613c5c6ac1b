// test: properties of the three-valued logic over random rules and random incomplete records.
import { describe, expect, it } from 'vitest';
import type { Fact, Facts } from '../../src/domain/facts.ts';
import { compileRules } from '../../src/rules/judge/evaluator.ts';
import { prepareRule } from '../../src/rules/judge/judge-once.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { contextOf, eventOf, NOW_MS, problemsOf, ruleOf, verdictOf } from './sample-traits.ts';
import { Grammar, seeded } from './typed-grammar.ts';

/** Takes fields away, or gives them wrong types, at random. */
function damaged(record: Facts, random: () => number): Facts {
  const result: Facts = {};
  for (const [key, value] of Object.entries(record)) {
    const luck = random();
    if (luck < 0.15) continue;
    if (luck < 0.2) result[key] = null;
    else if (luck < 0.25) result[key] = (['', 0, true, [], {}] as Fact[])[Math.floor(random() * 5)] as Fact;
    else
      result[key] =
        typeof value === 'object' && value !== null && !Array.isArray(value) ? damaged(value, random) : value;
  }
  return result;
}

function conditions(seed: number, count: number): { grammar: Grammar; whens: unknown[] } {
  const grammar = new Grammar(seed);
  const whens: unknown[] = [];
  while (whens.length < count) {
    const when = grammar.condition(3);
    if (problemsOf(when).length === 0) whens.push(when);
  }
  return { grammar, whens };
}

/** The verdict of each rule on a record, all judged together. */
function verdicts(rules: LoadedRule[], record: Facts): string[] {
  const judge = compileRules(rules).judge('device', contextOf());
  judge.accept(record);
  return judge
    .finish()
    .tallies.map(
      (tally) => (['match', 'no_match', 'unknown', 'error'] as const).find((name) => tally[name] === 1) ?? '?',
    );
}

describe('what one fact alone decides', () => {
  const conditions = [
    { '>=': [{ age: { var: 'LastLogin' } }, '90d'] },
    { matches: [{ var: 'Model' }, 'b$'] },
    { version_lt: [{ var: 'AppVersion' }, '3.0'] },
    { '<': [{ '/': [10, { var: 'LoginCount' }] }, 5] },
    { '!=': [{ '%': [10, { var: 'LoginCount' }] }, 3] },
    { '>': [{ '+': [{ var: 'Model' }] }, 3] },
    { in: [{ var: 'LoginCount' }, [0, 1]] },
    { '<=': [1, { var: 'LoginCount' }, 9] },
    { '==': [{ cat: [{ var: 'Model' }, 'x'] }, 'bx'] },
    { '<': [{ var: 'LastLogin' }, { var: '$now' }] },
    { or: [{ '==': [{ var: 'Model' }, 'b'] }, { starts_with: [{ var: 'Model' }, 'a'] }] },
    { '==': [{ var: ['Model', 'b'] }, 'b'] },
  ];
  const values: Fact[] = [
    0,
    1,
    9,
    -1,
    2.5,
    10n ** 18n,
    1.7e18,
    'a',
    'b',
    '',
    '2.9',
    'a'.repeat(60_000),
    null,
    true,
    [],
    {},
  ];

  it('is what the condition itself answers', () => {
    const rules = conditions.map((when, index) => ruleOf(when, { id: `rule-${index}` }));
    const context = contextOf();
    for (const value of values) {
      const record: Facts = { DeviceID: 'd', LastLogin: value, Model: value, AppVersion: value, LoginCount: value };
      const together = verdicts(rules, record);
      rules.forEach((rule, index) => {
        // Without what single facts decide: the whole condition.
        const { rule: whole, frame } = prepareRule(rule)(record, [], context);
        const truth = whole.condition(frame);
        const expected = truth === 1 ? 'match' : truth === 0 ? 'no_match' : truth < 0 ? 'error' : 'unknown';
        expect(together[index], `${JSON.stringify(rule.when)} of ${String(value).slice(0, 20)}`).toBe(expected);
      });
    }
  });
});

describe('with facts missing', () => {
  const { grammar, whens } = conditions(11, 300);
  const random = seeded(12);
  const records = Array.from({ length: 40 }, () => damaged(grammar.device(), random));

  it('an unknown never becomes a match by adding an `and`', () => {
    for (let i = 0; i + 1 < whens.length; i++) {
      const alone = ruleOf(whens[i]);
      const both = ruleOf({ and: [whens[i], whens[i + 1]] });
      for (const record of records.slice(0, 8)) {
        const before = verdictOf(alone, record);
        if (before !== 'match') expect(verdictOf(both, record), JSON.stringify(both.when)).not.toBe('match');
      }
    }
  });

  it('a verdict does not depend on the order of operands', () => {
    for (let i = 0; i + 2 < whens.length; i += 3) {
      const three = [whens[i], whens[i + 1], whens[i + 2]];
      for (const name of ['and', 'or']) {
        const forth = ruleOf({ [name]: three });
        const back = ruleOf({ [name]: three.toReversed() });
        for (const record of records.slice(0, 10)) expect(verdictOf(forth, record)).toBe(verdictOf(back, record));
      }
    }
  });

  it('a verdict does not depend on which other rules are judged with it', () => {
    const rules = whens.map((when, index) => ruleOf(when, { id: `rule-${index}` }));
    for (const record of records) {
      const together = verdicts(rules, record);
      for (const [index, rule] of rules.entries()) {
        expect(together[index], JSON.stringify(rule.when)).toBe(verdictOf(rule, record));
      }
    }
  });

  it('knowing more never turns a match into its opposite', () => {
    const whole = records.map(() => grammar.device());
    for (const when of whens) {
      // Defaults and `missing` are said to depend on absence, and `if` of a list of missing ones as well.
      if (/missing|"var":\[/.test(JSON.stringify(when))) continue;
      const rule = ruleOf(when);
      for (const record of whole.slice(0, 10)) {
        const { Model: _, Roles: __, ...less } = record;
        const [known, before] = [verdictOf(rule, record), verdictOf(rule, less)];
        if (before !== 'unknown') expect(before, JSON.stringify(when)).toBe(known);
      }
    }
  });

  it('the negation of an unknown is unknown', () => {
    for (const when of whens) {
      const [rule, negated] = [ruleOf(when), ruleOf({ '!': [when] })];
      for (const record of records.slice(0, 5)) {
        const opposite = { match: 'no_match', no_match: 'match', unknown: 'unknown', error: 'error' } as const;
        expect(verdictOf(negated, record)).toBe(opposite[verdictOf(rule, record)]);
      }
    }
  });
});

describe('events of those who are joined', () => {
  const HOUR_MS = 3_600_000;
  const ANSWERS = { match: 1, no_match: 0, unknown: 0.5, error: Number.NaN } as const;

  /** Kleene's: the greatest, the least, what is left of 1. */
  const joinedAnswer = (loop: string, each: readonly number[]): number => {
    if (loop === 'some') return Math.max(0, ...each);
    return loop === 'none' ? 1 - Math.max(0, ...each) : each.length === 0 ? 0 : Math.min(...each);
  };

  function scene(random: () => number) {
    const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
    const users = ['Ann@x', 'bob@x', 'eve@x'].map((Email) => ({ Email, Name: pick(['a', 'b']) }));
    const devices = ['1', '2', '3'].map((id) => ({
      DeviceID: `d${id}`,
      SerialNumber: `S-${id}`,
      Model: pick(['a', 'b']),
    }));
    const events = Array.from({ length: 12 }, (_, at) =>
      eventOf(`e${at}`, NOW_MS - Math.floor(random() * 3 * HOUR_MS), {
        email: pick(['ann@x', 'bob@x', undefined]),
        deviceId: pick(['d1', undefined]),
        serialNumber: pick(['S-1', 'S-2', undefined]),
        action: pick(['Authorized', 'Unauthorized']),
        severity: pick(['INFO', 'ERROR', 'odd']),
        body: { id: `e${at}`, type: pick(['Access', 'Threat']) },
      }),
    );
    const fromMs = NOW_MS - pick([HOUR_MS / 2, 2 * HOUR_MS, 9 * HOUR_MS]);
    const context = contextOf({
      joins: {
        users: new Map(users.map((user) => [user.Email.toLowerCase(), user])),
        devices: new Map(devices.map((device) => [device.SerialNumber, [device]])),
      },
      coverage: [{ fromMs, toMs: NOW_MS }],
      unavailable: new Set(random() < 0.1 ? ['events' as const] : []),
    });
    const some = <T>(all: readonly T[]): T[] => all.filter(() => random() < 0.6);
    return { pick, events, context, owners: some(users), owned: some(devices) };
  }

  function condition(pick: <T>(all: readonly T[]) => T): unknown {
    const filter = {
      within: pick(['20m', '1h', '2h']),
      ...pick([
        {},
        { action: 'Unauthorized' },
        { severity: 'ERROR' },
        { where: { '==': [{ var: 'type' }, 'Access'] } },
      ]),
    };
    const count = pick([{ event_count: filter }, { event_distinct: { ...filter, of: 'type' } }]);
    const atom = pick([
      { [pick(['>=', '<', '==', '!='])]: [count, pick([1, 2, 3])] },
      { '>': [{ since_last_event: filter }, pick([600, '40m'])] },
      { in: [count, [1, 3]] },
    ]);
    return pick([atom, { '!': [atom] }, { and: [atom, { '>=': [{ event_count: { within: '3h' } }, 1] }] }]);
  }

  it('give what a rule over each of them gives, joined as Kleene joins; alone, with other rules, and watched', () => {
    const random = seeded(31);
    const seen = { match: 0, no_match: 0, unknown: 0 };
    for (let round = 0; round < 300; round++) {
      const { pick, events, context, owners, owned } = scene(random);
      const inner = condition(pick);
      const loop = pick(['some', 'all', 'none']);
      for (const [subject, name, kind, elements, record] of [
        ['device', '$owners', 'user', owners, { DeviceID: 'd', Emails: owners.map(({ Email }) => Email) }],
        ['user', '$devices', 'device', owned, { Email: 'e', SerialNumbers: owned.map((one) => one.SerialNumber) }],
      ] as const) {
        const rule = ruleOf({ [loop]: [{ var: name }, inner] }, {}, subject);
        const single = ruleOf(inner, {}, kind);
        const each = elements.map((element) => ANSWERS[verdictOf(single, element, context, events) as 'match']);
        const expected = joinedAnswer(loop, each);
        const found = verdictOf(rule, record, context, events);
        const shown = JSON.stringify({ when: rule.when, events, context, record });
        expect(ANSWERS[found], shown).toBe(expected);
        const watched = prepareRule(rule, () => {})(record, events, context);
        expect(watched.verdict, shown).toBe(found);
        // Beside a rule that counts the subject's own events by the same filter.
        const evaluator = compileRules([ruleOf(inner, { id: 'own' }, subject), rule, single]);
        evaluator.observe(events);
        const judge = evaluator.judge(subject, context);
        judge.accept(record);
        expect(judge.finish().tallies.find((tally) => tally.rule === rule.id)?.[found], shown).toBe(1);
        seen[found as 'match'] += 1;
      }
    }
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(50);
  });
});
