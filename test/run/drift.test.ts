// test: a fleet that drifts by a little in each run. Each reading is near the last one; those of 24 hours and 7 days before are not.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { acceptSnapshot } from '../../src/operator/commands.ts';
import { TRUST_DEFAULT } from '../../src/pull/trust-gate.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../support/engine-on-platform.ts';

const FLEET = 200;
const RUN_MS = 300_000;

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
  for (let more = 0; more < flips; more += 1) {
    flipped += 1;
    on.platform.compromised(`d${flipped}`, 'TRUE');
  }
  on.clock.pass(RUN_MS);
  const { run } = await on.run();
  return (run.findings?.snapshot.sources.devices.reasons ?? []).map(({ code }) => code);
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
