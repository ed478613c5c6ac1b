// test: doubts of an earlier process, while the wall clock was set and no process ran to see it.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

const HOUR_MS = 3_600_000;

let on: OnPlatform;
/** How far the wall clock was set. */
let setMs: number;
beforeEach(() => {
  on = startOnPlatform();
  setMs = 0;
  const nowMs = on.clock.nowMs.bind(on.clock);
  on.clock.nowMs = () => nowMs() + setMs;
  on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
});
afterEach(() => on.close());

/** A run right after the restart sends nothing; one after a quiet period of it sends again. */
async function expectQuietAnew(): Promise<void> {
  await on.run();
  expect(on.platform.sent).toHaveLength(1);
  on.clock.pass(QUIET_MS - 1);
  on.restart();
  await on.run();
  expect(on.platform.sent).toHaveLength(1);
  on.clock.pass(1);
  await on.run();
  expect(on.platform.sent).toHaveLength(2);
}

describe('a call whose answer never came', () => {
  it.each([HOUR_MS, -HOUR_MS, QUIET_MS])('is sent again early when the clock is set by %i ms meanwhile', async (ms) => {
    on.platform.answer('S-d1', 'lost');
    await on.run();
    on.clock.pass(1_000);
    setMs = ms;
    on.restart();
    await expectQuietAnew();
  });

  it('is sent again early when the clock, wrong at the call, is set right meanwhile', async () => {
    setMs = -HOUR_MS;
    on.platform.answer('S-d1', 'lost');
    await on.run();
    on.clock.pass(1_000);
    setMs = 0;
    on.restart();
    await expectQuietAnew();
  });

  it('is sent again early when the machine started anew meanwhile', async () => {
    on.platform.answer('S-d1', 'lost');
    await on.run();
    on.clock.pass(1_000);
    on.clock.boot = 'the second boot';
    on.restart();
    await expectQuietAnew();
  });

  it('is waited for anew by each process while the clock goes right', async () => {
    on.platform.answer('S-d1', 'lost');
    await on.run();
    on.clock.pass(QUIET_MS - 1);
    on.restart();
    on.clock.pass(1);
    on.restart();
    await on.run();
    expect(on.platform.sent).toHaveLength(2);
  });
});

describe('a ban that a person reverses', () => {
  it('is taken for reversed at once when the clock is set forward after it, while no process runs', async () => {
    await on.run();
    on.clock.pass(1_000);
    setMs = HOUR_MS;
    on.restart();
    on.platform.patch('d1', { Banned: 'FALSE' });
    const early = await on.run();
    expect(early.decisions.map(({ reason }) => reason)).not.toContain('overridden');
    on.clock.pass(QUIET_MS);
    const late = await on.run();
    expect(late.decisions.map(({ reason }) => reason)).toContain('overridden');
  });
});
