// test: what is asked of the clock on a wall (`hour`, `weekday`) and of the order of trust levels: the same as by hand, known on both sides of a change of
// the clocks, refused where it cannot be meant, and explained by a change that flips it.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DAY_MS, HOUR_MS, WEEKDAYS, wallMsAt } from '../../src/base/time.ts';
import { TRUST_LEVELS } from '../../src/domain/platform-values.ts';
import { explain } from '../../src/rules/explain.ts';
import { changesWithoutEffect } from '../../src/rules/judge/no-effect.ts';
import { runRuleTests } from '../../src/rules/rule-tests/run-tests.ts';
import { contextOf, NOW_MS, problemsOf, ruleOf, verdictOf } from './sample-traits.ts';

const at = (iso: string) => contextOf({ nowMs: Date.parse(iso) });
const ns = (iso: string) => BigInt(Date.parse(iso)) * 1_000_000n;
const NOW = { var: '$now' };
/** A rule must read a fact. */
const whileReported = (when: unknown) => ruleOf({ and: [{ '!': [{ missing: ['SerialNumber'] }] }, when] });

describe('hour and weekday', () => {
  it('are those of the clock on the wall, at every time since 1973 and in every zone', () => {
    const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'Pacific/Apia', 'UTC'];
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: 100_000_000_000, max: 4_000_000_000_000 }),
        fc.integer({ min: 0, max: 23 }),
        fc.constantFrom(...WEEKDAYS),
        (zone, ms, hour, weekday) => {
          const wall = new Date(wallMsAt(zone, ms));
          const record = { LastLogin: BigInt(ms) * 1_000_000n };
          const ask = (name: string, value: unknown) =>
            verdictOf(ruleOf({ '==': [{ [name]: [{ var: 'LastLogin' }, zone] }, value] }), record);
          expect(ask('hour', hour)).toBe(wall.getUTCHours() === hour ? 'match' : 'no_match');
          expect(ask('weekday', weekday)).toBe(WEEKDAYS[wall.getUTCDay()] === weekday ? 'match' : 'no_match');
        },
      ),
    );
  });

  it('an hour that comes twice is that hour both times, and one that is skipped never comes', () => {
    const two = ruleOf({ '==': [{ hour: [{ var: 'LastLogin' }, 'Europe/Berlin'] }, 2] });
    const matched = (from: string) =>
      [...Array(6).keys()].map((half) =>
        verdictOf(two, { LastLogin: ns(from) + BigInt(half * 1_800_000) * 1_000_000n }),
      );
    // Clocks are set back at 03:00 to 02:00, and forward at 02:00 to 03:00.
    expect(matched('2026-10-24T23:30:00Z')).toEqual(['no_match', 'match', 'match', 'match', 'match', 'no_match']);
    expect(matched('2026-03-29T00:00:00Z')).toEqual(Array(6).fill('no_match'));
  });

  it('of the time of the run are read again at each run, and of a time that was never set are unknown', () => {
    const atNight = whileReported({ '>=': [{ hour: [NOW, 'Europe/Berlin'] }, 22] });
    expect(verdictOf(atNight, { SerialNumber: 'x' }, at('2026-07-01T19:59:59Z'))).toBe('no_match');
    expect(verdictOf(atNight, { SerialNumber: 'x' }, at('2026-07-01T20:00:00Z'))).toBe('match');
    const login = ruleOf({ '<': [{ hour: [{ var: 'LastLogin' }, 'UTC'] }, 6] });
    expect(verdictOf(login, { LastLogin: 0 })).toBe('unknown');
    expect(verdictOf(login, {})).toBe('unknown');
  });

  it('are asked of events, too', () => {
    const when = {
      '>=': [{ event_count: { where: { '<': [{ hour: [{ var: 'created_at' }, 'UTC'] }, 6] }, within: '1d' } }, 1],
    };
    const test = (ago: string, expect: string) => ({ name: ago, events: [{ ago }], expect });
    const rule = ruleOf(when, { tests: [test('7h', 'match'), test('1h', 'no_match')] });
    expect(runRuleTests([rule]).ok).toBe(true);
  });

  it('are tested at a time that the test names', () => {
    const when = {
      and: [{ '==': [{ var: 'RegisteredStatus' }, 'FALSE'] }, { in: [{ weekday: [NOW, 'UTC'] }, ['Sat', 'Sun']] }],
    };
    const given = { RegisteredStatus: 'FALSE' };
    const tests = [
      { name: 'on a Sunday', now: '2026-11-29T23:59:59Z', given, expect: 'match' },
      { name: 'on a Monday', now: '2026-11-30T00:59:59+01:00', given, expect: 'match' },
      { name: 'at another time', given, expect: 'no_match' },
    ];
    const [report] = runRuleTests([ruleOf(when, { tests })]).rules;
    expect(report?.tests.map(({ ok }) => ok)).toEqual([true, true, true]);
    expect(report?.ok).toBe(true);
    expect(problemsOf(when, { tests: [{ name: 'a', now: 'Sunday', expect: 'match' }] })).toEqual([
      expect.stringContaining(
        '`tests[0].now`: expected a time with its zone, such as "2026-11-28T22:00:00+01:00", found `"Sunday"`',
      ),
    ]);
  });

  it('have an effect in a replay where another hour of the same day is on another side', () => {
    const rule = ruleOf({ '<': [{ hour: [{ var: 'LastLogin' }, 'UTC'] }, 6] });
    const hasNone = changesWithoutEffect([rule], { devices: 'unpaged', users: 'unpaged' } as never);
    const [night, later, day] = ['2026-01-10T02:00:00Z', '2026-01-10T03:00:00Z', '2026-01-10T12:00:00Z'].map(ns) as [
      bigint,
      bigint,
      bigint,
    ];
    expect(hasNone('LastLogin', night, later, NOW_MS)).toBe(true);
    expect(hasNone('LastLogin', night, day, NOW_MS)).toBe(false);
  });

  it('are explained by a time that does flip the verdict', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 23 }),
        fc.constantFrom('<', '>=', '=='),
        fc.integer({ min: 1, max: 22 }),
        (hour, by, bound) => {
          const rule = ruleOf({ [by]: [{ hour: [{ var: 'LastLogin' }, 'America/New_York'] }, bound] });
          const record = { LastLogin: BigInt(NOW_MS - DAY_MS + hour * HOUR_MS) * 1_000_000n };
          const before = verdictOf(rule, record);
          const [flip] = explain(rule, record, { ...contextOf(), events: [] }).flips;
          expect(flip?.verdict).toBe(before === 'match' ? 'no_match' : 'match');
          expect(verdictOf(rule, { LastLogin: flip?.changes[0]?.to as bigint })).toBe(flip?.verdict);
        },
      ),
    );
  });
});

describe('the order of trust levels', () => {
  const BY: [string, (a: number, b: number) => boolean][] = [
    ['level_lt', (a, b) => a < b],
    ['level_lte', (a, b) => a <= b],
    ['level_gt', (a, b) => a > b],
    ['level_gte', (a, b) => a >= b],
  ];

  it('is that from AlwaysDeny to AlwaysAllow, a level that is not known is unknown, and every verdict has a flip that flips it', () => {
    for (const [name, holds] of BY)
      for (const [at, level] of TRUST_LEVELS.entries())
        for (const [bound, than] of TRUST_LEVELS.entries()) {
          const when = { [name]: [{ var: 'TrustData.Level' }, than] };
          if (problemsOf(when).length > 0) continue;
          const rule = ruleOf(when);
          const verdict = verdictOf(rule, { TrustData: { Level: level } });
          expect(verdict, `${level} ${name} ${than}`).toBe(holds(at, bound) ? 'match' : 'no_match');
          const [flip] = explain(rule, { TrustData: { Level: level } }, { ...contextOf(), events: [] }).flips;
          expect(verdictOf(rule, { TrustData: { Level: flip?.changes[0]?.to as string } })).toBe(flip?.verdict);
          expect(flip?.verdict).not.toBe(verdict);
        }
    const low = ruleOf({ level_lt: [{ var: 'TrustData.Level' }, 'Medium'] });
    for (const Level of ['low', '', null, 3]) expect(verdictOf(low, { TrustData: { Level } })).toBe('unknown');
  });

  it('is asked of the level before', () => {
    expect(problemsOf({ level_lt: [{ var: 'TrustData.Level' }, { previous: 'TrustData.Level' }] })).toEqual([]);
  });
});

describe('what is refused of them', () => {
  it.each<[unknown, string]>([
    [
      { '>': [{ hour: [{ var: 'LastLogin' }, 'Berlin'] }, 6] },
      'there is no time zone `"Berlin"`: expected one such as "Europe/Berlin"',
    ],
    [{ '>': [{ hour: [{ var: 'LastLogin' }, '+01:00'] }, 6] }, 'there is no time zone `"+01:00"`'],
    [{ '>': [{ hour: [{ var: 'LastLogin' }, { var: 'Model' }] }, 6] }, 'there is no time zone'],
    [
      { '>': [{ hour: [{ var: 'LastLogin' }] }, 6] },
      '`hour` takes 2 operands, found 1; write it as [{"var": "$now"}, "Europe/Berlin"]',
    ],
    [{ '>': [{ hour: [{ var: 'LoginCount' }, 'UTC'] }, 6] }, '`hour` takes a timestamp, but `LoginCount` is a number'],
    [{ '>': [{ hour: ['LastLogin', 'UTC'] }, 6] }, 'write {"var": "LastLogin"}'],
    [
      { '<': [{ hour: [{ var: 'LastLogin' }, 'UTC'] }, 24] },
      'this is always true: the result of `hour` is from 0 to 23',
    ],
    [
      { '==': [{ weekday: [{ var: 'LastLogin' }, 'UTC'] }, 'Saturday'] },
      'is not known to have the value "Saturday"; did you mean "Sat"?',
    ],
    [
      { level_lt: [{ var: 'TrustData.Level' }, 'Mediun'] },
      'expected a trust level (AlwaysDeny < Low < Medium < High < AlwaysAllow), found `"Mediun"`; did you mean `Medium`?',
    ],
    [{ '==': [{ weekday: [{ var: 'LastLogin' }, 'UTC'] }, 'Holiday'] }, '(known: Sun, Mon, Tue, Wed, Thu, Fri, Sat)'],
    [{ level_lt: [{ var: 'Ownership' }, 'Low'] }, 'but `Ownership` has other values'],
    [{ level_lt: [{ var: 'LoginCount' }, 'Low'] }, '`level_lt` takes texts'],
    [
      { level_lt: [{ var: 'TrustData.Level' }, 'AlwaysDeny'] },
      'this is always false: levels go from AlwaysDeny to AlwaysAllow',
    ],
    [
      { level_lte: [{ var: 'TrustData.Level' }, { var: 'TrustData.Level' }] },
      'this is always true: both sides are the same',
    ],
    [{ '<': [{ var: 'TrustData.Level' }, 'Low'] }, 'compare trust levels with `level_lt`'],
  ])('%j', (when, words) => {
    expect(problemsOf(when).join('\n')).toContain(words);
  });
});
