// test: a fleet that drifts by a little in each run. Each reading is near the last one; those of 24 hours and 7 days before are not.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LIMITS_DEFAULT } from '../../../src/domain/rule.ts';
import { acceptSnapshot } from '../../../src/engine/operate/commands.ts';
import { TRUST_DEFAULT } from '../../../src/engine/pull/trust-gate.ts';
import { buildReport } from '../../../src/faces/report/build-report.ts';
import { reportText } from '../../../src/faces/report/text.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { banRule, type OnPlatform, type Round, startOnPlatform } from '../../support/engine-on-platform.ts';
import { compromise, lookOn } from '../../support/looks.ts';

const FLEET = 200;
const RUN_MS = 300_000;
const DAY_MS = 86_400_000;

let on: OnPlatform;
let flipped: number;

beforeEach(async () => {
  flipped = 0;
  on = startOnPlatform({
    rules: [banRule()],
    settings: (settings) => ({
      ...settings,
      trust: TRUST_DEFAULT,
      act: { ...settings.act, ceilings: { run: { max: 1_000, percent: 100 }, day: { max: 1_000, percent: 100 } } },
      decide: {
        ...settings.decide,
        ceilings: { run: { max: 1_000, percent: 100 }, day: { max: 1_000, percent: 100 } },
      },
    }),
  });
  for (let number = 1; number <= FLEET; number += 1) on.platform.addDevice(`d${number}`);
  await on.run();
});
afterEach(() => on.close());

async function runWith(flips: number): Promise<string[]> {
  flip(flips);
  const { run } = await on.run();
  return (run.findings?.snapshot.sources.devices.reasons ?? []).map(({ code }) => code);
}

/** A run's time later. */
function flip(flips: number): void {
  for (let more = 0; more < flips; more += 1) {
    flipped += 1;
    on.platform.compromised(`d${flipped}`, 'TRUE');
  }
  on.clock.pass(RUN_MS);
}

describe('a fleet that drifts by a little in each run', () => {
  it('loses trust before more than a quarter of it is acted on', async () => {
    const codes: string[] = [];
    for (let run = 0; run < 12; run += 1) codes.push(...(await runWith(10)));
    expect(on.platform.effects).toHaveLength(50);
    // From the tenth run on it differs that much from the last trusted reading, too.
    expect(codes).toEqual([...Array(4).fill('fact_drifted'), ...Array(3).fill('fact_moved')]);
  });

  it('is trusted again when a person accepts it, and is compared from there on', async () => {
    for (let run = 0; run < 6; run += 1) await runWith(10);
    expect(on.platform.effects).toHaveLength(50);
    await acceptSnapshot(on.engine, 'devices', { by: 'ada', reason: 'a real outbreak' });
    expect(await runWith(0)).toEqual([]);
    expect(on.platform.effects).toHaveLength(60);
    for (let run = 0; run < 5; run += 1) expect(await runWith(10)).toEqual([]);
    expect(await runWith(1)).toEqual(['fact_drifted']);
  });
});

describe('a rule without limits for a day', () => {
  /** As many as one run may have: 10 of 200 are 5 %. */
  async function drifting(limits: LoadedRule['limits'], flips: number, runs: number): Promise<Round[]> {
    on.rules({ ...banRule(), limits });
    on.engine.settings.trust = { ...TRUST_DEFAULT, driftDayPercent: 100, driftWeekPercent: 100 };
    const rounds: Round[] = [];
    for (let run = 0; run < runs; run += 1) {
      flip(flips);
      rounds.push(await on.run());
    }
    return rounds;
  }

  it.each([
    ['12 runs that flip ten each', 10, 12],
    ['200 runs that flip one each', 1, 200],
  ])('acts on twice what one run may take within 24 hours, and holds the rest, in %s', async (_, flips, runs) => {
    const rounds = await drifting(LIMITS_DEFAULT, flips, runs);
    expect(on.platform.effects).toHaveLength(20);
    const held = rounds.flatMap(({ decisions }) => decisions).filter(({ decision }) => decision === 'hold');
    expect(held.length).toBeGreaterThan(0);
    expect(new Set(held.map(({ reason }) => reason))).toEqual(new Set(['limits']));
    expect(held[0]?.reasonText).toMatch(/^\d+ subjects within 24 hours cross the rule's limit \(per_day 20\)$/);
  });
});

describe('`limits.per_day`', () => {
  const limits = { max: 25, percent: 100, perDay: 3 };

  beforeEach(() => {
    on.rules({ ...banRule(), limits });
  });

  it('holds what newly matches beyond it, until 24 hours have passed', async () => {
    for (let run = 0; run < 5; run += 1) await runWith(1);
    expect(on.platform.effects).toHaveLength(3);
    on.clock.pass(DAY_MS);
    await on.run(); // silent for a day: dry
    await on.run();
    expect(on.platform.effects).toHaveLength(5);
  });

  it('is in the report of the run that it holds, with what is used of it', async () => {
    for (let run = 0; run < 3; run += 1) await runWith(1);
    flip(1);
    const report = await buildReport(on.store, (await on.run()).run);
    expect(report.limits).toMatchObject([
      { targets: 1, crossed: false, inDay: { subjects: 4, allowed: 3, crossed: true } },
    ]);
    expect(reportText(report)).toMatch(/ban +│ per_day 3 +│ 4 of 3, crossed +│/);
  });

  it('counts one that clears and matches again once', async () => {
    await runWith(2);
    for (let again = 0; again < 5; again += 1) {
      on.platform.compromised('d1', 'FALSE');
      on.clock.pass(RUN_MS);
      await on.run();
      on.platform.compromised('d1', 'TRUE');
      on.clock.pass(RUN_MS);
      await on.run();
    }
    await runWith(1);
    expect(on.platform.effects.filter((effect) => effect === 'ban S-d1')).toHaveLength(6);
    expect(on.platform.effects.at(-1)).toBe('ban S-d3');
  });

  it('counts those that have cleared, and what looks did', async () => {
    await runWith(2);
    for (const id of ['d1', 'd2']) on.platform.compromised(id, 'FALSE');
    on.clock.pass(RUN_MS);
    await on.run();
    flipped = 2;
    on.clock.pass(30_000);
    compromise(on, 'd3');
    await lookOn(on);
    compromise(on, 'd4');
    await lookOn(on);
    expect(on.platform.effects.filter((effect) => effect.startsWith('ban'))).toHaveLength(3);
    const [last] = await on.store.decisions({ limit: 1 });
    expect(last).toMatchObject({ decision: 'hold', reason: 'limits', target: 'S-d4' });
  });

  it('is lifted by an approval, for exactly what the plan has', async () => {
    for (let run = 0; run < 4; run += 1) await runWith(1);
    const { plan } = await on.run();
    await on.approve(plan);
    await on.apply(plan);
    expect(on.platform.effects).toHaveLength(4);
    await runWith(1);
    expect(on.platform.effects).toHaveLength(4);
  });

  it('counts no match that was over before `for`', async () => {
    on.rules({ ...banRule(), limits, forMs: 2 * RUN_MS });
    await runWith(10);
    for (let number = 1; number <= 10; number += 1) on.platform.compromised(`d${number}`, 'FALSE');
    await runWith(3);
    for (let run = 0; run < 3; run += 1) await runWith(0);
    expect(on.platform.effects).toHaveLength(3);
  });
});
