// harness: the planted bug of an acceptance that stays, in a scenario of its own: in no life that a seed leads does the same list shrink twice in the
// same way, between two readings that are trusted by themselves, with something to act on.
import { afterEach, describe, expect, it } from 'vitest';
import { acceptSnapshot } from '../../src/engine/operate/commands.ts';
import { TRUST_DEFAULT } from '../../src/engine/pull/trust-gate.ts';
import { type OnPlatform, startOnPlatform } from '../support/engine-on-platform.ts';
import type { PlantedBug } from './planted-bugs.ts';
import { unsteered } from './planted-operator-bugs.ts';

const FLEET = Array.from({ length: 10 }, (_, number) => `d${number}`);
const GONE = FLEET.slice(5);
const RUN_MS = 300_000;

let on: OnPlatform;
afterEach(() => on.close());

/** A list shrinks and is accepted, is whole again, and shrinks again; then a device begins to match. */
async function shrinkTwice(bug: PlantedBug | undefined): Promise<number> {
  on = startOnPlatform({
    settings: (settings) => ({
      ...settings,
      trust: { ...TRUST_DEFAULT, shrunkRecords: 0, movedPoints: 100, driftDayPercent: 100, driftWeekPercent: 100 },
    }),
  });
  const { engine, platform } = on;
  engine.store = unsteered(engine.store, bug);
  for (const id of FLEET) platform.addDevice(id);
  await run();
  shrink();
  await run();
  await acceptSnapshot(engine, 'devices', { by: 'ada', reason: 'half of them are sold' });
  expect(await run()).toBe(true);
  for (const id of GONE) platform.addDevice(id);
  expect(await run()).toBe(true);
  shrink();
  platform.compromised('d0', 'TRUE');
  await run();
  return platform.effects.length;
}

function shrink(): void {
  for (const id of GONE) on.platform.devices.delete(id);
}

/** Whether the list of devices was trusted. */
async function run(): Promise<boolean | undefined> {
  on.clock.pass(RUN_MS);
  const { run } = await on.run();
  return run.findings?.snapshot.sources.devices.trusted;
}

describe('an acceptance', () => {
  it('counts for one reading: the same list that shrinks again is not acted on', async () => {
    expect(await shrinkTwice(undefined)).toBe(0);
  });

  it('that stays is found: the planted bug acceptance_stays acts on the list that shrank again', async () => {
    expect(await shrinkTwice('acceptance_stays')).toBe(1);
  });
});
