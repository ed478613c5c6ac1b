// test: rules over signals: what they count, what is refused when they are loaded, their tests inside rules.
import { describe, expect, it } from 'vitest';
import type { TrustEvent } from '../../src/domain/event.ts';
import type { Facts } from '../../src/domain/facts.ts';
import { signalEventOf } from '../../src/domain/signal.ts';
import { explanationText } from '../../src/faces/report/why-words.ts';
import { explain } from '../../src/rules/explain.ts';
import { compileRules } from '../../src/rules/judge/evaluator.ts';
import { rulesOf } from '../../src/rules/load/read-rule.ts';
import { runRuleTests } from '../../src/rules/rule-tests/run-tests.ts';
import { contextOf, eventOf, NOW_MS, problemsOf, ruleOf, verdictOf } from './sample-traits.ts';

const MINUTE = 60_000;
const DEVICE: Facts = { DeviceID: 'd1', SerialNumber: 'S1' };
const REVOKED = { transmitter: 'okta', event: 'session-revoked', within: '1h' };
const COMPLIANCE = { transmitter: 'okta', event: 'device-compliance-change', of: 'current_status', within: '30d' };
const twice = { '>=': [{ signal_count: REVOKED }, 2] };
const isNotCompliant = { '==': [{ last_signal: COMPLIANCE }, 'not-compliant'] };
const KNOWN = [
  { fromMs: 0, toMs: NOW_MS },
  { transmitter: 'okta', fromMs: 0, toMs: NOW_MS },
];
const known = (coverage: object[] = KNOWN) => contextOf({ coverage: coverage as never });

function signal(id: string, agoMs: number, more: Partial<TrustEvent> = {}, event = 'session-revoked'): TrustEvent {
  const own = { transmitter: 'okta', type: signalEventOf(event) as string, deviceId: 'd1', body: {} };
  return eventOf(id, NOW_MS - agoMs, { ...own, ...more });
}

const status = (id: string, agoMs: number, current_status: unknown) =>
  signal(id, agoMs, { body: { current_status } as Facts }, 'device-compliance-change');

describe('a rule over signals', () => {
  it('counts those of its transmitter and its event, and never events of the platform', () => {
    const others = [
      signal('other', 1, { transmitter: 'entra' }),
      signal('own', 1, { transmitter: undefined }),
      signal('event', 1, {}, 'credential-change'),
    ];
    expect(verdictOf(ruleOf(twice), DEVICE, known(), [signal('a', 1), ...others])).toBe('no_match');
    expect(verdictOf(ruleOf(twice), DEVICE, known(), [signal('a', 1), signal('b', 2), ...others])).toBe('match');
  });

  it('matches on what did come although more may be missing, and is otherwise unknown', () => {
    const unheard = known([{ fromMs: 0, toMs: NOW_MS }]);
    expect(verdictOf(ruleOf(twice), DEVICE, unheard, [signal('a', 1), signal('b', 2)])).toBe('match');
    expect(verdictOf(ruleOf(twice), DEVICE, unheard, [signal('a', 1)])).toBe('unknown');
    expect(verdictOf(ruleOf({ '==': [{ signal_count: REVOKED }, 0] }), DEVICE, unheard)).toBe('unknown');
  });

  it('takes a silence of two heartbeats for none, and a longer one for a gap', () => {
    const heard = (agoMs: number) => known([{ transmitter: 'okta', fromMs: 0, toMs: NOW_MS - agoMs }]);
    expect(verdictOf(ruleOf(twice), DEVICE, heard(10 * MINUTE))).toBe('no_match');
    expect(verdictOf(ruleOf(twice), DEVICE, heard(10 * MINUTE + 2))).toBe('unknown');
  });

  it('is judged although the server offers no events', () => {
    const context = { ...known(), unavailable: new Set(['events' as const]) };
    expect(verdictOf(ruleOf(twice), DEVICE, context)).toBe('no_match');
    expect(ruleOf(twice).sources).toEqual(['devices']);
  });

  it('reads a member of the newest one: unknown without any, after a gap, and where it is none that the standard has', () => {
    const rule = ruleOf(isNotCompliant);
    const both = [status('old', 60 * MINUTE, 'compliant'), status('new', 30 * MINUTE, 'not-compliant')];
    expect(verdictOf(rule, DEVICE, known(), both)).toBe('match');
    expect(verdictOf(rule, DEVICE, known(), [...both, status('newest', MINUTE, 'compliant')])).toBe('no_match');
    expect(verdictOf(rule, DEVICE, known(), [])).toBe('unknown');
    const since = (agoMs: number) => known([{ transmitter: 'okta', fromMs: NOW_MS - agoMs, toMs: NOW_MS }]);
    expect(verdictOf(rule, DEVICE, since(30 * MINUTE), both)).toBe('match');
    expect(verdictOf(rule, DEVICE, since(30 * MINUTE - 1), both)).toBe('unknown');
    for (const odd of [7, 'not_compliant', 'Compliant'])
      expect(verdictOf(rule, DEVICE, known(), [...both, status('odd', 1, odd)])).toBe('unknown');
    expect(verdictOf(rule, DEVICE, known(), [...both, signal('none', 1, {}, 'device-compliance-change')])).toBe(
      'unknown',
    );
    const orElse = ruleOf({ '==': [{ '??': [{ last_signal: COMPLIANCE }, 'not-compliant'] }, 'not-compliant'] });
    expect(verdictOf(orElse, DEVICE, known(), [])).toBe('match');
    expect(verdictOf(orElse, DEVICE, since(MINUTE), [])).toBe('unknown');
  });

  it('counts the signals of each owner of a device', () => {
    const joins = { users: new Map([['a@b.c', { Email: 'a@b.c' }]]), devices: new Map() };
    const record = { ...DEVICE, Emails: ['A@b.c'] };
    const rule = ruleOf({ some: [{ var: '$owners' }, twice] });
    const ofOwner = (id: string) => signal(id, 1, { deviceId: undefined, email: 'a@b.c' });
    expect(verdictOf(rule, record, { ...known(), joins }, [ofOwner('a'), ofOwner('b')])).toBe('match');
    expect(verdictOf(rule, record, { ...known(), joins }, [ofOwner('a'), signal('b', 1)])).toBe('no_match');
    expect([...rule.reads.signals]).toEqual(['okta']);
  });

  it('asks only for what the event has, with the values that it can have', () => {
    const where = { '==': [{ var: 'change_type' }, 'revoke'] };
    const rule = ruleOf({ '>=': [{ signal_count: { ...REVOKED, event: 'credential-change', where } }, 1] });
    const change = (change_type: string) => signal(change_type, 1, { body: { change_type } }, 'credential-change');
    expect(verdictOf(rule, DEVICE, known(), [change('revoke')])).toBe('match');
    expect(verdictOf(rule, DEVICE, known(), [change('update')])).toBe('no_match');
    expect(verdictOf(rule, DEVICE, known(), [change('revoked')])).toBe('unknown');
    const custom = { transmitter: 'okta', event: 'https://okta.example/risk', of: 'score', within: '1h' };
    expect(problemsOf({ '>': [{ last_signal: custom }, 80] })).toEqual([]);
  });

  it.each([
    [{ ...REVOKED, transmitter: 'okat' }, 'did you mean `okta`'],
    [{ event: 'session-revoked', within: '1h' }, '`transmitter` is missing'],
    [{ ...REVOKED, event: 'sesion-revoked' }, 'did you mean `session-revoked`'],
    [{ ...REVOKED, event: 'account-disabled' }, 'takes no `"account-disabled"` of `okta`; it takes session-revoked'],
    [{ ...REVOKED, event: 'verification' }, 'about the stream'],
    [{ transmitter: 'okta', within: '1h' }, '`event` is missing'],
    [{ ...REVOKED, within: '91d' }, 'at most "90d"'],
    [{ ...REVOKED, severity: 'ERROR' }, 'no `severity`'],
    [{ ...REVOKED, where: { '==': [{ var: 'change_type' }, 'revoke'] } }, 'change_type'],
    [{ ...COMPLIANCE, of: undefined, where: { '==': [{ var: 'current_status' }, 'noncompliant'] } }, 'not-compliant'],
    [{ ...REVOKED, where: { '>': [{ var: 'event_timestamp' }, 1_768_478_400_000] } }, 'seconds'],
  ])('that asks for what cannot be is refused, with what to do: %j', (filter, what) => {
    expect(problemsOf({ '>=': [{ signal_count: filter }, 1] }).join('\n')).toContain(what);
  });

  it.each([
    [{ ...COMPLIANCE, of: 'curent_status' }, 'compliant', 'did you mean `current_status`'],
    [{ ...COMPLIANCE, of: undefined }, 'compliant', '`of` takes the path of a value in device-compliance-change'],
    [COMPLIANCE, 'noncompliant', 'not-compliant'],
    [{ ...COMPLIANCE, event: 'https://okta.example/risk', of: 'level' }, 'high', 'declared in `signals.yaml`'],
    [{ ...COMPLIANCE, event: ['device-compliance-change', 'session-revoked'] }, 'compliant', 'current_status'],
  ])('that reads what the newest one cannot have is refused: %j', (filter, value, what) => {
    expect(problemsOf({ '==': [{ last_signal: filter }, value] }).join('\n')).toContain(what);
  });

  it('means the same in another thread', () => {
    const plain = structuredClone(compileRules([ruleOf(isNotCompliant)]).portable());
    const [rule] = rulesOf(plain);
    expect(verdictOf(rule as never, DEVICE, known(), [status('a', MINUTE, 'not-compliant')])).toBe('match');
  });

  it('is explained by its transmitter, with what would change the verdict', () => {
    const context = { ...known(), events: [status('a', MINUTE, 'compliant')] };
    const text = explanationText(explain(ruleOf(isNotCompliant), DEVICE, context));
    expect(text).toContain('last_signal(current_status of device-compliance-change from okta within 30d)');
    expect(text).toContain('from okta within 30d) were "not-compliant" (now compliant)');
    const counted = explanationText(explain(ruleOf(twice), DEVICE, { ...known(), events: [signal('a', 1)] }));
    expect(counted).toContain('signal_count(session-revoked from okta within 1h)');
    expect(counted).toContain('it would match');
  });
});

describe('the tests inside a rule over signals', () => {
  const run = (when: object, tests: object[]) =>
    runRuleTests([ruleOf(when, { tests })], { nowMs: NOW_MS, mutate: true }).rules[0];
  const revoked = { transmitter: 'okta', event: 'session-revoked' };

  it('have signals, gaps of one transmitter, and transmitters that were never heard; mutants are noticed', () => {
    const signals = [{ ...revoked, ago: '50m', times: 2 }];
    const report = run(twice, [
      { name: 'two', signals, expect: 'match' },
      { name: 'one', signals: [revoked], expect: 'no_match' },
      {
        name: 'another event',
        signals: [{ transmitter: 'okta', event: 'credential-change', times: 2 }],
        expect: 'no_match',
      },
      { name: 'long ago', signals: [{ ...revoked, ago: '61m', times: 2 }], expect: 'no_match' },
      { name: 'gap', gaps: [{ from: '30m', to: '20m', transmitter: 'okta' }], expect: 'unknown' },
      { name: 'gap of all', gaps: [{ from: '30m', to: '20m' }], expect: 'unknown' },
      { name: 'never heard', signals_unavailable: ['okta'], signals: [revoked], expect: 'unknown' },
      { name: 'two, and more may be missing', signals_unavailable: ['okta'], signals, expect: 'match' },
    ]);
    expect(report?.tests.filter(({ ok }) => !ok)).toEqual([]);
    expect(report?.coveredPercent).toBe(100);
    expect(report?.mutants?.survivors).toEqual([]);
  });

  it('leave the log of the platform known in a gap of a transmitter', () => {
    const report = run({ '==': [{ event_count: { within: '1h' } }, 0] }, [
      { name: 'known', gaps: [{ from: '30m', to: '20m', transmitter: 'okta' }], expect: 'match' },
    ]);
    expect(report?.tests.map(({ ok }) => ok)).toEqual([true]);
  });

  it.each([
    [{ signals: [{ transmitter: 'okat', event: 'session-revoked' }] }, 'did you mean `okta`'],
    [{ signals: [{ ...revoked, event: 'session-revokd' }] }, 'did you mean `session-revoked`'],
    [{ signals: [{ ...revoked, current_status: 'compliant' }] }, 'there is no field `current_status`'],
    [{ signals: [{ ...revoked, of: 'nobody@example.com' }] }, 'no owner of the device'],
    [{ gaps: [{ from: '2m', to: '1m', transmitter: 'entra' }] }, 'no transmitter `entra`'],
    [{ signals_unavailable: ['entra'] }, 'no transmitter `entra`'],
  ])('that would test nothing are refused: %j', (test, what) => {
    expect(problemsOf(twice, { tests: [{ name: 'a', expect: 'match', ...test }] }).join('\n')).toContain(what);
  });
});
