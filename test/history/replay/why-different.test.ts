// test: a difference of a replay has the reason that the record shows, also where it comes from another rule about the same target.
import { describe, expect, it } from 'vitest';
import { type DecisionDiffers, explainedDifferences, type KnownOfRun } from '../../../src/history/replay/as-it-was.ts';

const HOUR_MS = 3_600_000;
const OF_EVENTS = { id: 'ban-failing', subject: 'device', sources: [], reads: readsOf(true) };
const OF_RECORDS = { id: 'ban-silent', subject: 'device', sources: [], reads: readsOf(false) };

function readsOf(events: boolean) {
  return { record: [], users: [], devices: [], events, windowMs: HOUR_MS, lookBack: new Set(), lookBackMs: 0 };
}

/** The clock was two hours ahead before. */
const KNOWN = {
  run: { frame: { run: { startedAt: 10 * HOUR_MS }, settings: {}, sources: {} }, openState: {} },
  rules: [OF_EVENTS, OF_RECORDS],
  world: { kinds: { device: { isSecret: () => false } } },
  problems: [],
  gaps: [],
  lost: undefined,
  latestMs: 12 * HOUR_MS,
} as unknown as KnownOfRun;

function differing(rule: string, target: string): DecisionDiffers {
  return { rule, subject: { kind: 'device', id: 'd1' }, target, was: 'act rule_matches', is: undefined };
}

describe('why a replay decides otherwise', () => {
  it('a rule that shares its target with an explained one is explained by the same, and no other rule is', () => {
    const all = [differing('ban-silent', 'S1'), differing('ban-failing', 'S1'), differing('ban-silent', 'S2')];
    const whys = explainedDifferences(all, KNOWN).map(({ why }) => why);
    expect(whys[1]).toMatch(/the clock had been set back/);
    expect(whys[0]).toBe(whys[1]);
    expect(whys[2]).toBeUndefined();
  });
});
