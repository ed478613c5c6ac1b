// test: explanations agree with judging, name the facts with age and source, and their flips do flip.
import { describe, expect, it } from 'vitest';
import type { Facts } from '../../src/domain/facts.ts';
import { explanationText } from '../../src/faces/report/why-words.ts';
import { type ExplainContext, explain } from '../../src/rules/explain.ts';
import { contextOf, eventOf, NOW_MS, problemsOf, ruleOf, verdictOf } from './sample-traits.ts';
import { Grammar } from './typed-grammar.ts';

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
    expect(text).toContain('would be match if MdmData.CompromisedStatus were "TRUE" (now "FALSE")');
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
