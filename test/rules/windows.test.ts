// test: event windows over time, `count`, and that a window counts each event of a subject once.

import fc from 'fast-check';
import jsonLogic, { type RulesLogic } from 'json-logic-js';
import { describe, expect, it } from 'vitest';
import type { TrustEvent } from '../../src/domain/event.ts';
import type { Facts } from '../../src/domain/facts.ts';
import type { JudgeContext, VerdictName } from '../../src/domain/verdict.ts';
import { explanationText } from '../../src/faces/report/why-words.ts';
import { explain } from '../../src/rules/explain.ts';
import { compileRules } from '../../src/rules/judge/evaluator.ts';
import { type EventCount, Span } from '../../src/rules/language/expression.ts';
import { runRuleTests } from '../../src/rules/rule-tests/run-tests.ts';
import { type EventWindow, Windows } from '../../src/rules/windows.ts';
import { contextOf, eventOf, NOW_MS, problemsOf, ruleOf, verdictOf } from './sample-traits.ts';
import { seeded } from './typed-grammar.ts';

const MINUTE = 60_000;
const DEVICE: Facts = { DeviceID: 'd1', SerialNumber: 'S1' };
const fiveErrors = { '>=': [{ event_count: { severity: 'ERROR', within: '10m' } }, 5] };
const failure = (id: string, agoMs: number, more: Partial<TrustEvent> = {}): TrustEvent =>
  eventOf(id, NOW_MS - agoMs, { deviceId: 'd1', serialNumber: 'S1', severity: 'ERROR', ...more });
const errors = (count: number, agoMs = MINUTE): TrustEvent[] =>
  Array.from({ length: count }, (_, i) => failure(`e${i}`, agoMs + i));

/** What `count` is judged to be: the number for which `==` is a match. */
function countOf(when: object, events: TrustEvent[], context = contextOf(), record = DEVICE): number | 'unknown' {
  for (let n = 0; n <= events.length; n++) {
    const verdict = verdictOf(ruleOf({ '==': [when, n] }), record, context, events);
    if (verdict !== 'no_match') return verdict === 'match' ? n : 'unknown';
  }
  return 'unknown';
}

describe('a window', () => {
  it('counts an id once', () => {
    expect(countOf({ event_count: { within: '10m' } }, [failure('a', 1), failure('a', 1), failure('a', 2)])).toBe(1);
  });

  it('counts what is at its edge, and not what has left it', () => {
    const events = [
      failure('edge', 10 * MINUTE),
      failure('gone', 10 * MINUTE + 1),
      failure('ahead', -5 * MINUTE),
      failure('far', -5 * MINUTE - 1),
    ];
    expect(countOf({ event_count: { within: '10m' } }, events)).toBe(2);
  });

  it('of the log of the platform counts no signal of a transmitter, and rests on no stretch that is known of one', () => {
    const events = [failure('a', 1), failure('b', 2, { transmitter: 'okta' })];
    expect(countOf({ event_count: { within: '10m' } }, events)).toBe(1);
    const coverage = [{ transmitter: 'okta', fromMs: 0, toMs: NOW_MS }];
    expect(countOf({ event_count: { within: '10m' } }, events, contextOf({ coverage }))).toBe('unknown');
  });

  it('counts no less severe event', () => {
    const events = ['DEBUG', 'INFO', 'WARN', 'ERROR'].map((severity, i) => failure(`s${i}`, 1, { severity }));
    expect(countOf({ event_count: { severity: 'WARN', within: '10m' } }, events)).toBe(2);
  });

  it("counts no other device's events", () => {
    const others = [
      failure('a', 1, { deviceId: 'd2', serialNumber: 'S2' }),
      failure('b', 1, { deviceId: undefined, serialNumber: 'S2' }),
    ];
    expect(countOf({ event_count: { within: '10m' } }, others)).toBe(0);
  });

  it('counts events that name the device by its serial number alone, and one with both names once', () => {
    const events = [
      failure('a', 1),
      failure('b', 1, { deviceId: undefined }),
      failure('c', 1, { serialNumber: undefined }),
    ];
    expect(countOf({ event_count: { within: '10m' } }, events)).toBe(3);
    expect(
      countOf(
        { event_distinct: { of: 'user_principal.client.ip_address', within: '10m' } },
        events.map((event, i) => ({
          ...event,
          body: { user_principal: { client: { ip_address: `10.0.0.${i % 2}` } } },
        })),
      ),
    ).toBe(2);
  });

  it('counts the events of a user whose e-mail differs in case, and none of a service of another cluster', () => {
    const user = ruleOf({ '>=': [{ event_count: { within: '1h' } }, 1] }, {}, 'user');
    expect(
      verdictOf(user, { Email: 'Ada@Example.com' }, contextOf(), [eventOf('u', NOW_MS, { email: 'ada@example.com' })]),
    ).toBe('match');
    const service = ruleOf({ '>=': [{ event_count: { within: '1h' } }, 1] }, {}, 'service');
    const record = { ServiceID: 'web.east.x', ServiceName: 'web' };
    expect(
      verdictOf(service, record, contextOf(), [eventOf('s', NOW_MS, { serviceId: 'web.west.x', serviceName: 'web' })]),
    ).toBe('no_match');
    expect(verdictOf(service, record, contextOf(), [eventOf('s', NOW_MS, { serviceName: 'web' })])).toBe('match');
  });

  it('gives the same count as counting anew, after events come late and the clock goes back', () => {
    const random = seeded(5);
    const rule = ruleOf({ '>=': [{ event_count: { within: '10m' } }, 3] });
    const evaluator = compileRules([rule]);
    const seen: TrustEvent[] = [];
    let nowMs = NOW_MS;
    for (let round = 0; round < 200; round++) {
      nowMs += Math.floor((random() - 0.3) * 4 * MINUTE);
      const fresh = Array.from({ length: 2 }, (_, i) =>
        failure(`r${round}-${i}`, NOW_MS - nowMs + Math.floor(random() * 12 * MINUTE)),
      );
      seen.push(...fresh);
      evaluator.observe([...fresh, ...seen.slice(-3)]);
      evaluator.advance(nowMs);
      const judge = evaluator.judge('device', contextOf({ nowMs, coverage: [{ fromMs: 0, toMs: nowMs }] }));
      judge.accept(DEVICE);
      const inside = seen.filter(
        (event) => event.createdAtMs >= nowMs - 10 * MINUTE && event.createdAtMs <= nowMs + 5 * MINUTE,
      );
      expect(judge.finish().tallies[0]?.match, `round ${round}`).toBe(inside.length >= 3 ? 1 : 0);
    }
  });

  it('forgets what has left it long ago', () => {
    const evaluator = compileRules([ruleOf(fiveErrors)]);
    for (let hour = 0; hour < 100; hour++) {
      evaluator.observe(
        errors(50).map((event) => ({
          ...event,
          id: `${hour}-${event.id}`,
          createdAtMs: event.createdAtMs + hour * 60 * MINUTE,
        })),
      );
      evaluator.advance(NOW_MS + hour * 60 * MINUTE);
    }
    const judge = evaluator.judge(
      'device',
      contextOf({ nowMs: NOW_MS + 99 * 60 * MINUTE, coverage: [{ fromMs: 0, toMs: NOW_MS + 99 * 60 * MINUTE }] }),
    );
    judge.accept(DEVICE);
    expect(judge.finish().matches[0]?.facts).toEqual({ 'event_count(severity>=ERROR within 10m)': 50 });
  });
});

describe('with a gap in the event log', () => {
  const gap: Partial<JudgeContext> = {
    coverage: [
      { fromMs: 0, toMs: NOW_MS - 8 * MINUTE },
      { fromMs: NOW_MS - 6 * MINUTE, toMs: NOW_MS },
    ],
  };
  const count = { event_count: { severity: 'ERROR', within: '10m' } };
  it.each<[string, object, number, string]>([
    ['enough are known', { '>=': [count, 5] }, 5, 'match'],
    ['too few are known', { '>=': [count, 5] }, 4, 'unknown'],
    ['more than the most allowed are known', { '<': [count, 5] }, 5, 'no_match'],
    ['fewer than the most allowed are known', { '<': [count, 5] }, 4, 'unknown'],
    ['exactly as many are known', { '==': [count, 4] }, 4, 'unknown'],
    ['more than that are known already', { '==': [count, 3] }, 4, 'no_match'],
    ['another number is known', { '!=': [count, 4] }, 4, 'unknown'],
    ['not fewer', { '!': [{ '<': [count, 5] }] }, 5, 'match'],
    ['not more, and more could have been', { '!': [{ '>': [count, 4] }] }, 4, 'unknown'],
    ['twice as many', { '>=': [{ '*': [count, 2] }, 8] }, 4, 'match'],
    ['what is left of ten', { '<=': [{ '-': [10, count] }, 6] }, 4, 'match'],
    ['what is left of ten at least', { '>=': [{ '-': [10, count] }, 6] }, 4, 'unknown'],
  ])('%s', (_, when, known, verdict) => {
    expect(verdictOf(ruleOf(when), DEVICE, contextOf(gap), errors(known))).toBe(verdict);
  });

  it('a count of nothing is not taken for none', () => {
    const none = ruleOf({ '==': [{ event_count: { within: '10m' } }, 0] });
    expect(verdictOf(none, DEVICE, contextOf({ coverage: [] }))).toBe('unknown');
    expect(verdictOf(none, DEVICE, contextOf())).toBe('match');
    expect(verdictOf(none, DEVICE, contextOf({ unavailable: new Set(['events']) }))).toBe('unknown');
    expect(verdictOf(ruleOf(fiveErrors), DEVICE, contextOf({ unavailable: new Set(['events']) }), errors(9))).toBe(
      'unknown',
    );
  });

  it('adjoining pieces of coverage leave no gap, nor does a log read some seconds before the run', () => {
    const pieces = [
      { fromMs: NOW_MS - 5 * MINUTE + 1, toMs: NOW_MS - 10_000 },
      { fromMs: NOW_MS - 60 * MINUTE, toMs: NOW_MS - 5 * MINUTE },
    ];
    expect(countOf({ event_count: { within: '10m' } }, [], contextOf({ coverage: pieces }))).toBe(0);
  });
});

describe('time since the last event', () => {
  const since = { since_last_event: { action: 'Authorized', within: '1h' } };
  it('is at least the window for a device that was quiet for all of it', () => {
    expect(verdictOf(ruleOf({ '>=': [since, '1h'] }), DEVICE)).toBe('match');
    expect(verdictOf(ruleOf({ '>': [since, '2h'] }), DEVICE)).toBe('unknown');
  });
  it('is that of the newest event, and is not guessed across a gap', () => {
    const events = [failure('a', 30 * MINUTE, { action: 'Authorized' })];
    expect(verdictOf(ruleOf({ '==': [since, '30m'] }), DEVICE, contextOf(), events)).toBe('match');
    const gap = contextOf({ coverage: [{ fromMs: NOW_MS - 10 * MINUTE, toMs: NOW_MS }] });
    expect(verdictOf(ruleOf({ '>=': [since, '30m'] }), DEVICE, gap, events)).toBe('unknown');
    expect(verdictOf(ruleOf({ '>=': [since, '10m'] }), DEVICE, gap, events)).toBe('match');
  });
});

describe('where', () => {
  const when = {
    '>=': [
      { event_count: { within: '10m', where: { '==': [{ var: 'user_principal.client.ip_address' }, '10.0.0.1'] } } },
      2,
    ],
  };
  const from = (id: string, ip: string | undefined): TrustEvent =>
    failure(id, 1, { body: ip ? { user_principal: { client: { ip_address: ip } } } : {} });
  it('makes a count uncertain where it is unknown for an event', () => {
    expect(verdictOf(ruleOf(when), DEVICE, contextOf(), [from('a', '10.0.0.1'), from('b', '10.0.0.1')])).toBe('match');
    expect(verdictOf(ruleOf(when), DEVICE, contextOf(), [from('a', '10.0.0.1'), from('b', '10.0.0.2')])).toBe(
      'no_match',
    );
    expect(verdictOf(ruleOf(when), DEVICE, contextOf(), [from('a', '10.0.0.1'), from('b', undefined)])).toBe('unknown');
  });
  it.each<[string, object, string]>([
    [
      'has a field that events do not have',
      { within: '10m', where: { '==': [{ var: 'sevrity' }, 'ERROR'] } },
      'did you mean `severity`',
    ],
    ['has no window', { severity: 'ERROR' }, '`within`'],
    ['counts a window in numbers', { within: 600 }, 'expected a duration'],
    ['has a key that is none', { within: '10m', sevrity: 'ERROR' }, 'did you mean `severity`'],
    ['has a severity that is none', { within: '10m', severity: 'ERR' }, 'did you mean `ERROR`'],
    ['asks for the time', { within: '10m', where: { '>': [{ age: { var: 'created_at' } }, 5] } }, 'use `within`'],
  ])('refuses a filter that %s', (_, filter, words) => {
    expect(problemsOf({ '>=': [{ event_count: filter }, 1] }).join('\n')).toContain(words);
  });
});

const isMac = { '==': [{ var: 'Platform' }, 'macOS'] };
const macs = { count: [{ var: '$devices' }, isMac] };
const USER: Facts = { Email: 'u@example.com', SerialNumbers: ['S'] };

const withDevices = (devices: Facts[]): JudgeContext =>
  contextOf({ joins: { users: new Map(), devices: new Map([['S', devices]]) } });
/** null: it is not known. */
const platforms = (...names: (string | null)[]): Facts[] =>
  names.map((name) => ({ SerialNumber: 'S', ...(name === null ? {} : { Platform: name }) }));
const ofUser = (when: unknown, devices: Facts[]): VerdictName =>
  verdictOf(ruleOf(when, {}, 'user'), USER, withDevices(devices));

describe('the count of a list', () => {
  it('is its length', () => {
    const three = { '>=': [{ count: { var: '$devices' } }, 3] };
    expect(ofUser(three, platforms('macOS', null, 'Windows'))).toBe('match');
    expect(ofUser(three, platforms('macOS', 'Windows'))).toBe('no_match');
    expect(verdictOf(ruleOf({ '==': [{ count: { var: 'Roles' } }, 0] }), { Roles: [] })).toBe('match');
  });

  it('is of the elements that meet the condition', () => {
    expect(ofUser({ '==': [macs, 2] }, platforms('macOS', 'Windows', 'macOS'))).toBe('match');
    expect(ofUser({ '==': [macs, 3] }, platforms('macOS', 'Windows', 'macOS'))).toBe('no_match');
  });

  it('can be asked of each element of another list', () => {
    const when = { some: [{ var: '$devices' }, { '>': [{ count: { var: 'Roles' } }, 1] }] };
    expect(ofUser(when, [{ Roles: ['a'] }, { Roles: ['a', 'b'] }])).toBe('match');
    expect(ofUser(when, [{ Roles: ['a'] }, { Roles: [] }])).toBe('no_match');
  });

  it('is unknown where the list is not known', () => {
    const rule = ruleOf({ '>=': [{ count: { var: 'Roles' } }, 1] });
    expect(verdictOf(rule, {})).toBe('unknown');
    expect(verdictOf(rule, { Roles: 'admin' })).toBe('unknown');
    expect(verdictOf(ruleOf({ '<': [macs, 1] }, {}, 'user'), USER)).toBe('unknown');
  });

  it('lies between bounds where the condition is unknown for some elements', () => {
    const devices = platforms('macOS', 'macOS', null, 'Windows'); // 2 or 3
    expect(ofUser({ '>=': [macs, 2] }, devices)).toBe('match');
    expect(ofUser({ '>=': [macs, 3] }, devices)).toBe('unknown');
    expect(ofUser({ '>=': [macs, 4] }, devices)).toBe('no_match');
    expect(ofUser({ '<': [macs, 4] }, devices)).toBe('match');
    expect(ofUser({ '==': [macs, 3] }, devices)).toBe('unknown');
    expect(ofUser({ '>': [{ '+': [macs, 1] }, 2] }, devices)).toBe('match');
    expect(ofUser({ in: [macs, [0, 1]] }, devices)).toBe('no_match');
    expect(ofUser({ in: [macs, [3, { count: { var: 'SerialNumbers' } }]] }, devices)).toBe('unknown');
    expect(ofUser({ '==': [{ cat: [macs] }, '2'] }, devices)).toBe('unknown');
  });

  it('ends in an error on a list that is too long to be asked', () => {
    const roles = Array.from({ length: 60_000 }, () => 'a');
    const when = { '>': [{ count: [{ var: 'Roles' }, { '==': [{ var: '' }, 'a'] }] }, 1] };
    expect(verdictOf(ruleOf(when), { Roles: roles })).toBe('error');
    expect(verdictOf(ruleOf({ '>': [{ count: { var: 'Roles' } }, 1] }), { Roles: roles })).toBe('match');
  });

  it('is what json-logic-js counts by `filter` and `reduce`', () => {
    const role = fc.constantFrom('a', 'b', 'c');
    const given = fc.record({ roles: fc.array(role, { maxLength: 6 }), wanted: role, bound: fc.nat(6) });
    fc.assert(
      fc.property(given, fc.constantFrom('>=', '<', '==', '!=', '>', '<='), ({ roles, wanted, bound }, by) => {
        const where = { '==': [{ var: '' }, wanted] };
        const oracle = {
          reduce: [{ filter: [{ var: 'Roles' }, where] }, { '+': [{ var: 'accumulator' }, 1] }, 0],
        };
        const when = { [by]: [{ count: [{ var: 'Roles' }, where] }, bound] };
        if (problemsOf(when).length > 0) return; // `>= 0` is always true
        const expected = jsonLogic.apply({ [by]: [oracle, bound] } as RulesLogic, { Roles: roles });
        expect(verdictOf(ruleOf(when), { Roles: roles })).toBe(expected ? 'match' : 'no_match');
      }),
    );
  });

  it('is true or false only where every completion of the record agrees', () => {
    const platform = fc.constantFrom('macOS', 'Windows', null);
    const by = fc.constantFrom('>=', '<', '==', '!=', '>', '<=', 'in');
    fc.assert(
      fc.property(fc.array(platform, { maxLength: 5 }), by, fc.integer({ min: 1, max: 5 }), (names, how, bound) => {
        const when = { [how]: [macs, how === 'in' ? [bound, bound + 2] : bound] };
        const answers = new Set(completions(names).map((known) => ofUser(when, platforms(...known))));
        const wanted = answers.size === 1 ? [...answers][0] : 'unknown';
        expect(ofUser(when, platforms(...names))).toBe(wanted);
      }),
    );
  });
});

function completions(names: readonly (string | null)[]): (string | null)[][] {
  const at = names.indexOf(null);
  return at < 0 ? [[...names]] : ['macOS', 'Windows'].flatMap((name) => completions(names.with(at, name)));
}

describe('a rule with a count', () => {
  it.each<[string, unknown, string]>([
    ['of a text', { '>': [{ count: { var: 'Platform' } }, 1] }, '`count` takes a list, but `Platform` is a text'],
    ['with a condition that is none', { '>': [{ count: [{ var: 'Roles' }, 'admin'] }, 1] }, 'expected a boolean'],
    [
      'that reads the record inside',
      { '>': [{ count: [{ var: 'Roles' }, isMac] }, 1] },
      'only the element can be read',
    ],
    ['that is compared with a text', { '==': [{ count: { var: 'Roles' } }, '3'] }, 'write 3 without quotation marks'],
    ['where a condition is expected', { count: { var: 'Roles' } }, 'compare it with `==`, `<` or `>`'],
    ['that is always reached', { '>=': [{ count: { var: 'Roles' } }, 0] }, 'a count is never below 0'],
    ['of too many operands', { '>': [{ count: [{ var: 'Roles' }, isMac, 1] }, 1] }, 'takes 1 to 2 operands'],
  ])('%s is refused when it is loaded', (_, when, words) => {
    expect(problemsOf(when).join('\n')).toContain(words);
  });

  it('is explained with the count, its bounds and each element', () => {
    const rule = ruleOf({ '>=': [macs, 2] }, {}, 'user');
    const text = explanationText(explain(rule, USER, { ...withDevices(platforms('macOS', null)), events: [] }));
    expect(text).toContain('because `…Platform` is missing in an element');
    expect(text).toContain('unknown  count($devices, element.Platform == "macOS") >= 2');
    expect(text).toContain('"1 to 2" count($devices, element.Platform == "macOS")');
    expect(text).toContain('true     element 1 ("S"): element.Platform == "macOS"');
  });

  it('names the fact that it lacks, in a test too', () => {
    const tests = [
      { name: 'two', devices: [{}, {}], expect: 'match' },
      { name: 'one', devices: [{}, { Platform: 'Windows' }], expect: 'no_match' },
      {
        name: 'one, and one that is not known',
        devices: [{}, { Platform: null }],
        expect: { verdict: 'unknown', reasons: ['…Platform'] },
      },
    ];
    const report = runRuleTests([ruleOf({ '>=': [macs, 2] }, { tests }, 'user')], { nowMs: NOW_MS });
    expect(report).toMatchObject({ ok: true, passed: 3 });
    expect(report.rules[0]).toMatchObject({ coveredPercent: 100 });
  });

  it('has mutants of its list, its condition and its bound', () => {
    const tests = [{ name: 'two', devices: [{}, {}], expect: 'match' }];
    const report = runRuleTests([ruleOf({ '>=': [macs, 2] }, { tests }, 'user')], { nowMs: NOW_MS, mutate: true });
    const survivors = report.rules[0]?.mutants?.survivors ?? [];
    expect(report.rules[0]?.mutants?.tried).toBe(7);
    expect(survivors).toContain('condition of count left out');
    expect(survivors).toContain('2 → 1');
    expect(survivors).not.toContain('"macOS" → "macOS~"');
  });
});

describe('windows', () => {
  interface Step {
    does: 'observe' | 'advance' | 'read';
    id: string;
    first: string | undefined;
    second: string | undefined;
    /** An event's time after now; the next now after this one. */
    minutes: number;
    severity: string;
    value: string | undefined;
  }

  const step: fc.Arbitrary<Step> = fc.record({
    does: fc.constantFrom('observe', 'observe', 'observe', 'observe', 'advance', 'read'),
    id: fc.integer({ min: 0, max: 40 }).map(String),
    first: fc.constantFrom(undefined, 'a', 'b'),
    second: fc.constantFrom(undefined, 'x', 'y'),
    minutes: fc.oneof(fc.integer({ min: -12, max: 6 }), fc.integer({ min: -100, max: 100 })),
    severity: fc.constantFrom('ERROR', 'ERROR', 'INFO', 'ODD'),
    value: fc.constantFrom(undefined, 's1', 's2', 's3'),
  });

  const WITHIN_MS = 10 * MINUTE;
  const spec = (what: EventCount['what']): EventCount => ({
    what,
    subject: 'device',
    withinMs: WITHIN_MS,
    types: undefined,
    subTypes: undefined,
    actions: undefined,
    results: undefined,
    severityMin: 'WARN',
    where: undefined,
    of: what === 'event_distinct' ? ['value'] : undefined,
  });

  it('count each event of a subject once, by whichever of its names, in any order and at any time, as lists of all events do', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 120 }), (steps) => {
        const windows = new Windows();
        const [count, distinct, since] = (['event_count', 'event_distinct', 'since_last_event'] as const).map((what) =>
          windows.register(what, spec(what)),
        ) as [EventWindow, EventWindow, EventWindow];
        let events: (Step & { atMs: number })[] = [];
        let [nowMs, latestMs, forgottenMs] = [NOW_MS, NOW_MS, 0];
        windows.advance(nowMs);
        for (const { does, ...one } of steps) {
          const view = windows.view({ withinMs: WITHIN_MS }, [{ fromMs: 0, toMs: nowMs }]);
          const { first, second } = one;
          if (does === 'observe') {
            const atMs = nowMs + one.minutes * MINUTE;
            const named = { deviceId: first, serialNumber: second, severity: one.severity };
            const body: Facts = one.value === undefined ? {} : { value: one.value };
            windows.observe([eventOf(one.id, atMs, { ...named, body })]);
            if (atMs >= view.knownSinceMs && events.every(({ id }) => id !== one.id))
              events.push({ ...one, does, atMs });
          } else if (does === 'advance') {
            nowMs += one.minutes * MINUTE;
            latestMs = Math.max(latestMs, nowMs);
            windows.advance(nowMs);
            forgottenMs = windows.view({ withinMs: WITHIN_MS }, [{ fromMs: 0, toMs: nowMs }]).knownSinceMs;
            expect(forgottenMs).toBeLessThanOrEqual(Math.max(NOW_MS, latestMs) - 70 * MINUTE);
            events = events.filter(({ atMs }) => atMs >= forgottenMs);
          } else {
            const inside = events.filter(
              (event) =>
                event.atMs >= view.fromMs &&
                event.atMs <= view.toMs &&
                ((first !== undefined && event.first === first) || (second !== undefined && event.second === second)),
            );
            const sure = inside.filter(({ severity }) => severity === 'ERROR');
            const odd = inside.filter(({ severity }) => severity === 'ODD');
            const unknown = [...sure.filter(({ value }) => value === undefined), ...odd].length;
            const values = new Set(sure.flatMap(({ value }) => value ?? [])).size;
            const more = (amount: number) => (view.whole ? amount : Number.POSITIVE_INFINITY);
            const secondsOf = (of: { atMs: number }[]) => of.map(({ atMs }) => Math.max(0, nowMs - atMs) / 1_000);
            const gap = view.whole ? [] : secondsOf([{ atMs: view.knownSinceMs }]);
            const bounds = (window: EventWindow) => {
              const value = window.read({ first, second }, view) as number | Span;
              return value instanceof Span ? [value.lo, value.hi] : [value, value];
            };
            expect(bounds(count)).toEqual([sure.length, more(sure.length + odd.length)]);
            expect(bounds(distinct)).toEqual([values, more(values + unknown)]);
            expect(bounds(since)).toEqual([
              Math.min(WITHIN_MS / 1_000, ...secondsOf([...sure, ...odd]), ...gap),
              Math.min(Number.POSITIVE_INFINITY, ...secondsOf(sure)),
            ]);
          }
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('over signals count what is known of the transmitter alone, and know no more of the newest one than its coverage allows', () => {
    const HOUR = 60 * MINUTE;
    const LAG = 10 * MINUTE;
    const signal = fc.record({
      transmitter: fc.constantFrom(undefined, 'okta', 'okta', 'okta', 'other'),
      first: fc.constantFrom('a', 'a', 'b'),
      minutes: fc.integer({ min: -4, max: 80 }),
      status: fc.constantFrom('compliant', 'not-compliant', undefined),
    });
    const stretch = fc.record({
      transmitter: fc.constantFrom(undefined, 'okta', 'okta', 'other'),
      from: fc.integer({ min: 0, max: 90 }),
      length: fc.integer({ min: 0, max: 60 }),
    });
    const of = (what: EventCount['what']): EventCount => ({
      ...{ what, subject: 'device', transmitter: 'okta', lagMaxMs: LAG, withinMs: HOUR, types: ['Access'] },
      ...{ subTypes: undefined, actions: undefined, results: undefined, severityMin: undefined, where: undefined },
      of: what === 'last_signal' ? ['status'] : undefined,
    });
    fc.assert(
      fc.property(fc.array(signal, { maxLength: 12 }), fc.array(stretch, { maxLength: 5 }), (signals, stretches) => {
        const windows = new Windows();
        const [count, since, last] = (['signal_count', 'since_last_signal', 'last_signal'] as const).map((what) =>
          windows.register(what, of(what)),
        ) as [EventWindow, EventWindow, EventWindow];
        windows.advance(NOW_MS);
        windows.observe(
          signals.map(({ transmitter, first, minutes, status }, at) =>
            eventOf(`${at}`, NOW_MS - minutes * MINUTE, {
              transmitter,
              deviceId: first,
              body: status ? { status } : {},
            }),
          ),
        );
        const coverage = stretches.map(({ transmitter, from, length }) => {
          const toMs = NOW_MS - from * MINUTE;
          return { ...(transmitter && { transmitter }), fromMs: toMs - length * MINUTE, toMs };
        });
        const view = windows.view(of('signal_count'), coverage);
        const keys = { first: 'a', second: undefined };

        const isKnown = (minutes: number) =>
          stretches.some(
            (one) => one.transmitter === 'okta' && one.from <= minutes && minutes <= one.from + one.length,
          );
        // Within the lag, a gap is none. Half minutes lie between two stretches that do not touch.
        let known = 0;
        for (let at = 0; at <= LAG / MINUTE || (known === at - 0.5 && isKnown(at)); at += 0.5)
          if (isKnown(at)) known = at;
        const own = signals
          .map((one, at) => ({ ...one, at }))
          .filter(({ transmitter, first, minutes }) => transmitter === 'okta' && first === 'a' && minutes <= 60)
          .sort((a, b) => a.minutes - b.minutes || b.at - a.at);
        const newest = own[0];
        const isWhole = known >= 60;
        const ageOf = (minutes: number) => Math.max(0, minutes) * 60;

        const bounds = (value: unknown) => (value instanceof Span ? [value.lo, value.hi] : [value, value]);
        expect(bounds(count.read(keys, view))).toEqual([own.length, isWhole ? own.length : Number.POSITIVE_INFINITY]);
        expect(bounds(since.read(keys, view))).toEqual([
          Math.min(3_600, ...(newest ? [ageOf(newest.minutes)] : []), ...(isWhole ? [] : [ageOf(known)])),
          newest ? ageOf(newest.minutes) : Number.POSITIVE_INFINITY,
        ]);
        const isNewestKnown = newest ? newest.minutes <= known : isWhole;
        expect(last.last(keys, view)).toEqual(isNewestKnown ? { value: newest?.status } : undefined);
      }),
      { numRuns: 400 },
    );
  });
});
