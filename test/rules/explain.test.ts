// test: explanations agree with judging, and flips, found while explaining or while judging, do flip the verdict.
import { describe, expect, it } from 'vitest';
import { DAY_MS, epochMsOf } from '../../src/base/time.ts';
import type { Fact, Facts } from '../../src/domain/facts.ts';
import type {
  AgeRange,
  JudgeContext,
  Judgement,
  OpenVerdict,
  VerdictName,
  WantedFlips,
} from '../../src/domain/verdict.ts';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import { flipWords } from '../../src/faces/report/fact-text.ts';
import { explanationText } from '../../src/faces/report/why-words.ts';
import { type ExplainContext, explain } from '../../src/rules/explain.ts';
import { compileRules } from '../../src/rules/judge/evaluator.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { loadRules } from '../../src/rules/load/read-rule.ts';
import { type Arranged, arrangeTest } from '../../src/rules/rule-tests/run-tests.ts';
import { contextOf, eventOf, NOW_MS, problemsOf, ruleOf, verdictOf } from './sample-traits.ts';
import { Grammar, seeded } from './typed-grammar.ts';

const context = (more: Partial<ExplainContext> = {}): ExplainContext => ({
  ...contextOf(),
  events: [],
  readAtMs: { devices: NOW_MS - 4_000 },
  ...more,
});
const compromised = ruleOf(
  { '==': [{ var: 'MdmData.CompromisedStatus' }, 'TRUE'] },
  { fresh: { 'MdmData.Timestamp': '7d' } },
);
const record = (status: string, ageMs: number): Facts => ({
  DeviceID: 'd1',
  MdmData: { CompromisedStatus: status, Timestamp: BigInt(NOW_MS - ageMs) * 1_000_000n },
});

describe('an explanation', () => {
  it('shows why a device was not banned', () => {
    const text = explanationText(explain(compromised, record('FALSE', 3_600_000), context()));
    expect(text).toContain('a-rule (a-rule) does not match device d1: no_match');
    expect(text).toContain('false    MdmData.CompromisedStatus == "TRUE"');
    expect(text).toContain(
      'MdmData.CompromisedStatus = "FALSE"  [devices, read 4s ago, MdmData.Timestamp 1h ago (at most 7d)]',
    );
    expect(text).toContain('it would match if MdmData.CompromisedStatus were "TRUE" (now "FALSE")');
  });

  it.each<[number, string]>([
    [0.4, 'just now'],
    [4_200, '4s ago'],
    [59 * 60_000, '59m ago'],
    [21_622_000, '6h ago'],
    [3.5 * 86_400_000, '3d ago'],
    [-90_000, '1m ahead'],
  ])('shows an age of %d ms in the largest unit that fits', (ageMs, words) => {
    const readAtMs = { devices: NOW_MS - ageMs };
    const explanation = explain(compromised, record('FALSE', 0), context({ readAtMs }));
    expect(explanation.facts[0]?.ageMs).toSatisfy(Number.isInteger);
    expect(explanationText(explanation)).toContain(`[devices, read ${words}, MdmData.Timestamp just now`);
  });

  it('shows that a report of 7 days and an hour is too old for a limit of 7 days', () => {
    const text = explanationText(explain(compromised, record('FALSE', 169 * 3_600_000), context()));
    expect(text).toContain('MdmData.Timestamp 7d ago (too old: at most 7d)');
  });

  it('shows that a fact is stale, and which two facts would have to change', () => {
    const explanation = explain(compromised, record('FALSE', 30 * 86_400_000), context());
    expect(explanation).toMatchObject({ verdict: 'unknown', missing: ['MdmData.CompromisedStatus'] });
    expect(explanation.reason).toContain('is stale');
    expect(explanation.flips.map(({ verdict, changes }) => [verdict, changes.map(({ fact }) => fact)])).toEqual([
      ['match', ['MdmData.CompromisedStatus', 'MdmData.Timestamp']],
      ['no_match', ['MdmData.Timestamp']],
    ]);
  });

  it('counts the events it is given', () => {
    const rule = ruleOf({ '>=': [{ event_count: { severity: 'ERROR', within: '10m' } }, 5] });
    const events = Array.from({ length: 4 }, (_, i) =>
      eventOf(`e${i}`, NOW_MS - i, { deviceId: 'd1', severity: 'ERROR' }),
    );
    const explanation = explain(rule, { DeviceID: 'd1' }, context({ events }));
    expect(explanation.verdict).toBe('no_match');
    expect(explanation.facts).toMatchObject([
      { fact: 'event_count(severity>=ERROR within 10m)', value: 4, source: 'events' },
    ]);
    expect(explanation.flips).toEqual([
      { verdict: 'match', changes: [{ fact: 'event_count(severity>=ERROR within 10m)', from: 4, to: 5 }] },
    ]);
  });

  it('shows the count of each owner', () => {
    const rule = ruleOf({ some: [{ var: '$owners' }, { '>=': [{ event_count: { within: '10m' } }, 2] }] });
    const events = [1, 2].map((id) => eventOf(`e${id}`, NOW_MS - id, { email: 'bob@x' }));
    const users = new Map(['ann@x', 'bob@x'].map((Email) => [Email, { Email }]));
    const joins = { users, devices: new Map() };
    const device = { DeviceID: 'd1', Emails: ['ann@x', 'bob@x'] };
    const explanation = explain(rule, device, context({ events, joins }));
    expect(explanation.verdict).toBe('match');
    const count = 'event_count(within 10m) of an owner';
    const each = explanation.tree.parts.filter(({ text }) => text.startsWith('element'));
    expect(each).toMatchObject([
      { text: `element 1 ("ann@x"): ${count} >= 2`, answer: 'false', parts: [{ text: count, value: 0 }] },
      { text: `element 2 ("bob@x"): ${count} >= 2`, answer: 'true', parts: [{ text: count, value: 2 }] },
    ]);
    const gap = explain(rule, device, context({ events: events.slice(1), joins, coverage: [] }));
    expect([gap.verdict, gap.reason]).toEqual(['unknown', expect.stringContaining(count)]);
  });

  it('finds a bound at every millisecond of the day, since a time in nanoseconds is the millisecond that it is', () => {
    const moments = Array.from({ length: 2_000 }, (_, at) => NOW_MS + at * 1_001);
    expect(moments.filter((ms) => epochMsOf(BigInt(ms) * 1_000_000n) !== ms)).toEqual([]);
    expect(epochMsOf(BigInt(NOW_MS) * 1_000_000n + 250_000n)).toBe(NOW_MS + 0.25);
  });

  it.each<[string, unknown, number, string]>([
    [
      'a bound',
      { '>=': [{ age: { var: 'LastLogin' } }, '90d'] },
      115,
      'not match if LastLogin were less than 90 days ago (now 115 days ago)',
    ],
    [
      'from below',
      { '>=': [{ age: { var: 'LastLogin' } }, '90d'] },
      80,
      'match if LastLogin were at least 90 days ago (now 80 days ago)',
    ],
    [
      'the nearer of two',
      { '<': ['7d', { age: { var: 'LastLogin' } }, '90d'] },
      80,
      'not match if LastLogin were at least 90 days ago (now 80 days ago)',
    ],
    [
      'both bounds',
      { or: [{ '<': [{ age: { var: 'LastLogin' } }, '36h'] }, { '>': [{ age: { var: 'LastLogin' } }, '90d'] }] },
      100,
      'not match if LastLogin were at least 1 day 12 h and at most 90 days ago (now 100 days ago)',
    ],
  ])('shows of a time the bound of its age: %s', (_, when, days, words) => {
    const device = { DeviceID: 'd1', LastLogin: BigInt(NOW_MS - days * DAY_MS) * 1_000_000n };
    const explanation = explain(ruleOf(when), device, context());
    expect(explanationText(explanation)).toContain(`it would ${words}`);
    // From a daemon, an integer beyond 2^53 comes as a string of digits.
    const json = JSON.stringify(explanation, (_, value) => (typeof value === 'bigint' ? String(value) : value));
    expect(explanationText(JSON.parse(json))).toBe(explanationText(explanation));
    const [flip] = explanation.flips;
    const told = `it would ${words.replace(/ \(now.*/, '')}`;
    // Whenever it is shown.
    expect(flip && flipWords(flip, NOW_MS + 300_000)).toBe(told);
  });

  it('says of a text that any other value would do, after each change that names a value', () => {
    const both = {
      and: [{ '==': [{ var: 'Model' }, 'Old 1'] }, { '==': [{ var: 'MdmData.CompromisedStatus' }, 'TRUE'] }],
    };
    const device = { ...record('TRUE', 0), Model: 'Old 1' };
    const { flips } = explain(ruleOf(both), device, context());
    expect(flips.map((flip) => flipWords(flip, NOW_MS))).toContain(
      'it would not match if MdmData.CompromisedStatus were "FALSE"',
    );
    const old = explain(ruleOf({ '==': [{ var: 'Model' }, 'Old 1'] }), device, context());
    expect(explanationText(old)).toContain('it would not match if Model were any other value (now "Old 1")');
    expect(old.flips.map((flip) => flipWords(flip, NOW_MS))).toEqual([
      'it would not match if Model were any other value',
    ]);
  });

  it('shows of a span the bound, and of a time that vouches how old it may be', () => {
    const quiet = ruleOf({ '>=': [{ since_last_event: { type: 'Access', within: '10m' } }, '5m'] });
    const events = [eventOf('e1', NOW_MS - 30_000, { deviceId: 'd1' })];
    expect(explanationText(explain(quiet, { DeviceID: 'd1' }, context({ events })))).toContain(
      'it would match if since_last_event(type=Access within 10m) were at least 5 min (now 30 s)',
    );
    expect(explanationText(explain(compromised, record('TRUE', 30 * DAY_MS), context()))).toContain(
      'it would match if MdmData.Timestamp were at most 7 days ago (now 30 days ago)',
    );
  });

  it('shows a bound that every age within it keeps, also of two times at once', () => {
    const random = seeded(21);
    const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
    const LIMITS = [
      ['1h', 1 / 24],
      ['7d', 7],
      ['30d', 30],
      ['90d', 90],
    ] as const;
    const PATHS = ['LastLogin', 'MdmData.Timestamp'] as const;
    const age = () => ({ age: { var: pick(PATHS) } });
    const condition = (depth: number): unknown => {
      const kind = depth === 0 ? pick(['age', 'between', 'flag']) : pick(['and', 'or', '!', 'age']);
      if (kind === 'flag') return { '==': [{ var: 'MdmData.CompromisedStatus' }, pick(['TRUE', 'FALSE'])] };
      if (kind === 'age') return { [pick(['<', '<=', '>', '>='])]: [age(), pick(LIMITS)[0]] };
      if (kind === 'between') return { [pick(['<', '<='])]: ['1h', age(), pick(LIMITS)[0]] };
      if (kind === '!') return { '!': [condition(depth - 1)] };
      return { [kind]: [condition(depth - 1), condition(depth - 1)] };
    };
    const time = (days: number) => BigInt(Math.round(NOW_MS - days * DAY_MS)) * 1_000_000n;
    const AGES = [0, ...LIMITS.flatMap(([, days]) => [days - 0.01, days, days + 0.01, days * 1.7]), 400];
    const isWithin = (days: number, { moreThan = -1, atLeast = 0, lessThan = 1e12, atMost = 1e12 }: AgeRange) => {
      const seconds = Math.round(days * 86_400);
      return seconds > moreThan && seconds >= atLeast && seconds < lessThan && seconds <= atMost;
    };
    const seen = { ranges: 0, pairs: 0 };
    for (let i = 0; i < 400; i++) {
      const when = condition(3);
      const fresh = random() < 0.3 ? { fresh: { 'MdmData.Timestamp': '30d' } } : {};
      if (problemsOf(when, fresh).length > 0) continue;
      const rule = ruleOf(when, fresh);
      const device: Facts = {
        DeviceID: 'd1',
        LastLogin: random() < 0.1 ? 0 : time(pick(AGES)),
        MdmData: { CompromisedStatus: pick(['TRUE', 'FALSE']), Timestamp: time(pick(AGES)) },
      };
      for (const flip of explain(rule, device, context()).flips) {
        const ranged = flip.changes.filter(({ range }) => range);
        seen.ranges += ranged.length;
        seen.pairs += ranged.length > 1 ? 1 : 0;
        const values = flip.changes.map(({ to, range }): (Fact | undefined)[] =>
          range ? [to, ...AGES.filter((days) => isWithin(days, range)).map(time)] : [to],
        );
        for (const first of values[0] ?? [])
          for (const second of values[1] ?? [undefined]) {
            const changed = structuredClone(device);
            for (const [at, { fact }] of flip.changes.entries())
              put(changed, fact.split('.'), at === 0 ? first : second);
            expect(
              verdictOf(rule, changed),
              JSON.stringify({ when, flip }, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
            ).toBe(flip.verdict);
          }
      }
    }
    expect(seen.ranges).toBeGreaterThan(100);
    expect(seen.pairs).toBeGreaterThan(5);
  });

  it('looks inside lists', () => {
    const rule = ruleOf({ some: [{ var: 'TrustData.Factors' }, { '==': [{ var: 'Value' }, 'FAIL'] }] });
    const explanation = explain(
      rule,
      { DeviceID: 'd1', TrustData: { Factors: [{ Value: 'OK' }, { Value: 'FAIL' }] } },
      context(),
    );
    expect(explanation.tree.parts.slice(1).map(({ text, answer }) => `${text}: ${answer}`)).toEqual([
      'element 1: element.Value == "FAIL": false',
      'element 2: element.Value == "FAIL": true',
    ]);
  });

  it('agrees with the verdict, and each change that it names changes it', () => {
    const grammar = new Grammar(77);
    let flips = 0;
    for (let i = 0; i < 300; i++) {
      const when = grammar.condition(3);
      if (problemsOf(when).length > 0) continue;
      const rule = ruleOf(when);
      const device = grammar.device();
      const explanation = explain(rule, device, context());
      expect(explanation.verdict).toBe(verdictOf(rule, device));
      expect(explanation.tree.answer ?? 'list').toBe(
        { match: 'true', no_match: 'false', unknown: 'unknown', error: 'error' }[explanation.verdict],
      );
      for (const flip of explanation.flips) {
        flips++;
        const changed = structuredClone(device);
        for (const { fact, to } of flip.changes) put(changed, fact.split('.'), to);
        expect(verdictOf(rule, changed), JSON.stringify(when)).toBe(flip.verdict);
      }
    }
    expect(flips).toBeGreaterThan(100);
  });
});

function put(record: Facts, [key, ...rest]: string[], value: Facts[string] | undefined): void {
  if (key === undefined) return;
  if (rest.length > 0) put(record[key] as Facts, rest, value);
  else if (value === undefined) delete record[key];
  else record[key] = value;
}

describe('flips found while judging', () => {
  const wanted = (budget = { flips: 1_000, tries: 100_000 }): WantedFlips => ({ isNew: () => true, budget });
  const compromised = ruleOf({ '==': [{ var: 'MdmData.CompromisedStatus' }, 'TRUE'] });
  const devices = (count: number): Facts[] =>
    Array.from({ length: count }, (_, at) => ({ DeviceID: `d${at}`, MdmData: { CompromisedStatus: 'TRUE' } }));

  function judged(rule: LoadedRule, records: readonly Facts[], more: Partial<JudgeContext> = {}): Judgement {
    const judge = compileRules([rule]).judge(rule.subject, contextOf(more));
    for (const record of records) judge.accept(record);
    return judge.finish();
  }

  function arranged(
    rule: LoadedRule,
    { record, events, context }: Arranged,
  ): Pick<OpenVerdict, 'facts' | 'flip'> & { verdict: VerdictName } {
    const evaluator = compileRules([rule]);
    evaluator.observe(events);
    const judge = evaluator.judge(rule.subject, { ...context, isOpen: () => true, flips: wanted() });
    judge.accept(record);
    const { matches, open } = judge.finish();
    return matches[0] ? { verdict: 'match', ...matches[0] } : (open[0] as OpenVerdict);
  }

  function changed(record: Facts, [key = '', ...rest]: string[], to: Fact | undefined): Facts {
    const { [key]: before, ...others } = record;
    const value = rest.length > 0 ? changed((before ?? {}) as Facts, rest, to) : to;
    return value === undefined ? others : { ...others, [key]: value };
  }

  /** A count of events that came one by one: without some, or with copies of the last. */
  function recounted(events: Arranged['events'], to: number): Arranged['events'] {
    const last = events.at(-1);
    const more = Array.from({ length: Math.max(0, to - events.length) }, (_, at) => ({ ...last, id: `more-${at}` }));
    return [...events.slice(0, to), ...(more as Arranged['events'])];
  }

  describe('a flip that is found while judging', () => {
    it('flips the verdict of every sample rule that it is found for', async () => {
      const flipped = { byField: 0, byCount: 0 };
      for (const folder of ['rules', 'rules/examples']) {
        const { rules } = await loadRules(new URL(`../../${folder}`, import.meta.url).pathname, { traits: ACTIONS });
        for (const rule of rules) {
          for (const test of rule.tests) {
            const before = arrangeTest(rule, test, NOW_MS);
            const { verdict, facts, flip } = arranged(rule, before);
            if (!flip) continue;
            const after = structuredClone(before);
            const isCount = flip.changes.some(({ fact }) => fact.includes('('));
            // Where some events do not count, or in several windows, it is not known which to leave out.
            const counts = Object.entries(facts).filter(([fact]) => fact.includes('('));
            if (isCount && (counts.length > 1 || counts[0]?.[1] !== before.events.length)) continue;
            for (const { fact, to } of flip.changes) {
              if (isCount) after.events = recounted(after.events, to as number);
              else after.record = changed(after.record, fact.split('.'), to);
            }
            flipped[isCount ? 'byCount' : 'byField'] += 1;
            expect(arranged(rule, after).verdict, `${rule.id}: ${test.name}`).toBe(flip.verdict);
            expect(flip.verdict).not.toBe(verdict);
          }
        }
      }
      expect(flipped.byField).toBeGreaterThan(40);
      expect(flipped.byCount).toBeGreaterThan(10);
    });

    it('is looked for as often as the budget allows, and the verdicts stay the same', () => {
      const budget = { flips: 3, tries: 100_000 };
      const { matches } = judged(compromised, devices(10), { flips: wanted(budget) });
      expect(matches.map(({ flip }) => flip !== undefined)).toEqual([...Array(3).fill(true), ...Array(7).fill(false)]);
      expect(budget.flips).toBe(0);
    });

    it('is given up when the tries are used up', () => {
      const facts = ['OS', 'Model', 'SerialNumber', 'DeviceFriendlyName'];
      const rule = ruleOf({ or: facts.map((fact) => ({ in: [{ var: fact }, ['a', 'b', 'c', 'd']] })) });
      const record = Object.fromEntries([['DeviceID', 'd'], ...facts.map((fact) => [fact, 'a'])]);
      const budget = { flips: 1_000, tries: 100 };
      const { matches } = judged(rule, [record, record, record], { flips: wanted(budget) });
      expect(matches.map(({ flip }) => flip)).toEqual([undefined, undefined, undefined]);
      expect(budget.flips).toBe(999);
    });

    it('is not looked for where a decision in force is about the verdict', () => {
      const budget = { flips: 10, tries: 100_000 };
      const { matches } = judged(compromised, devices(3), { flips: { budget, isNew: (_, id) => id === 'd1' } });
      expect(matches.map(({ flip }) => flip?.changes)).toEqual([
        undefined,
        [{ fact: 'MdmData.CompromisedStatus', from: 'TRUE', to: 'FALSE' }],
        undefined,
      ]);
      expect(budget.flips).toBe(9);
    });

    it('leaves the counted values and all else of the pass as they are', () => {
      const records = [...devices(5), { DeviceID: 'x', MdmData: { CompromisedStatus: 'FALSE' } }];
      const { matches, ...found } = judged(compromised, records, { flips: wanted() });
      const plain = judged(compromised, records);
      expect({ ...found, matches: matches.map(({ flip: _, ...match }) => match) }).toEqual(plain);
    });

    it('is none for a value that cannot be written', () => {
      let deep: Fact = 'x';
      for (let level = 0; level < 5_000; level++) deep = [deep];
      const rule = ruleOf({ or: [{ '==': [{ var: 'OS' }, 'x'] }, { '==': [{ var: 'Model' }, 'm'] }] });
      const long = 'x'.repeat(20_000);
      for (const value of [deep, { a: deep }, long])
        expect(
          judged(rule, [{ DeviceID: 'd', OS: value, Model: 'm' }], { flips: wanted() }).matches.map(
            ({ rule: id }) => id,
          ),
        ).toEqual(['a-rule']);
      const groups = ruleOf({ '!': [{ in_group: [{ var: 'Groups' }, 'staff'] }] }, {}, 'user');
      const { matches } = judged(groups, [{ Email: 'a@b.c', Groups: long }], { flips: wanted() });
      expect(matches).toMatchObject([{ rule: 'a-rule' }]);
      expect(matches[0]?.flip).toBeUndefined();
    });
  });
});
