// test: event windows over time: sliding, lateness, repeats, gaps, clocks that go back, and whose events they are.
import { describe, expect, it } from 'vitest';
import type { TrustEvent } from '../../src/domain/event.ts';
import type { Facts } from '../../src/domain/facts.ts';
import type { JudgeContext } from '../../src/domain/verdict.ts';
import { compileRules } from '../../src/rules/judge/evaluator.ts';
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
