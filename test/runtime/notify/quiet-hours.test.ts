// test: quiet hours: what people are not alerted of at night, what at once, and what of the night they hear in the morning.
import { afterEach, describe, expect, it } from 'vitest';
import { parseWindows } from '../../../src/domain/change-window.ts';
import type { AlertCode } from '../../../src/domain/notification.ts';
import { resumeEverything, stopEverything } from '../../../src/engine/operate/commands.ts';
import { answerPlan } from '../../../src/engine/operate/plans.ts';
import { QuietHours } from '../../../src/runtime/notify/delivery.ts';
import { alertsOf } from '../../support/alerts-of.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';

const HOUR = 3_600_000;
const ADA = { by: 'ada', reason: 'a test' };
let on: OnPlatform;
afterEach(() => on.close());

/** At 21:00, with quiet hours from 22:00 to 06:00. The change window never begins, unless it is said. */
function begin(freeze = '2029-01-01 00:00-2029-01-02 00:00'): () => Promise<AlertCode[]> {
  const windows = parseWindows(freeze, 'UTC').windows;
  on = startOnPlatform({
    rules: [banRule({ mode: 'approve' })],
    settings: (settings) => ({ ...settings, freeze: windows }),
  });
  on.clock.now = Date.parse('2027-11-20T21:00:00Z');
  on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
  const alerts = alertsOf(on, ['ops'], {
    quietHours: new QuietHours(parseWindows('22:00-06:00', 'UTC').windows, on.clock),
  });
  return async () => (await alerts.look()).map(({ code }) => code);
}
const moveTo = (text: string) => {
  on.clock.now = Date.parse(text);
};

describe('in quiet hours', () => {
  it('a condition that begins is told at the end, once, if it still lasts', async () => {
    const alerted = begin();
    moveTo('2027-11-20T23:00:00Z');
    await on.run();
    expect(await alerted()).toEqual([]);
    moveTo('2027-11-21T05:59:59Z');
    expect(await alerted()).toEqual([]);
    moveTo('2027-11-21T06:00:00Z');
    expect(await alerted()).toEqual(['plan_waits']);
    expect(await alerted()).toEqual([]);
  });

  it('a condition that begins and ends is never told', async () => {
    const alerted = begin();
    moveTo('2027-11-20T23:00:00Z');
    const { plan } = await on.run();
    expect(await alerted()).toEqual([]);
    await answerPlan(on.engine, plan?.id ?? '', 'reject', 'ada', 'no');
    moveTo('2027-11-21T06:00:00Z');
    expect(await alerted()).toEqual([]);
  });

  it('what was told before is not told again after them', async () => {
    const alerted = begin();
    await on.run();
    expect(await alerted()).toEqual(['plan_waits']);
    moveTo('2027-11-20T23:00:00Z');
    expect(await alerted()).toEqual([]);
    moveTo('2027-11-21T06:00:00Z');
    expect(await alerted()).toEqual([]);
  });

  it('a stop, a resume and a broken glass are told at once', async () => {
    const alerted = begin('22:30-05:00');
    moveTo('2027-11-20T23:00:00Z');
    const { plan } = await on.run();
    expect(await alerted()).toEqual([]);
    await answerPlan(on.engine, plan?.id ?? '', 'approve', 'ada', 'an outbreak', true);
    expect(await alerted()).toEqual(['break_glass']);
    await stopEverything(on.engine, ADA);
    expect(await alerted()).toEqual(['stopped']);
    await resumeEverything(on.engine, ADA);
    expect(await alerted()).toEqual(['resumed']);
    const texts = (await on.store.outbox().due(Number.MAX_SAFE_INTEGER, 10)).map(({ text }) => text);
    expect(texts[0]).toBe(
      `BREAK GLASS: ada let plan ${plan?.id} through the change windows at 2027-11-20 23:00:00 UTC: an outbreak`,
    );
  });

  it('the end is heard of without a run', async () => {
    begin();
    const ending = new AbortController();
    const clock = {
      ...on.clock,
      nowMs: () => on.clock.now,
      monotonicMs: () => on.clock.now,
      sleep: async (ms: number) => on.clock.pass(ms),
    };
    moveTo('2027-11-20T23:00:00Z');
    const ended: string[] = [];
    await new QuietHours(parseWindows('22:00-06:00 Europe/Berlin', 'UTC').windows, clock).watch(async () => {
      ended.push(new Date(on.clock.now).toISOString());
      if (ended.length === 2) ending.abort();
    }, ending.signal);
    expect(ended).toEqual(['2027-11-21T05:00:00.000Z', '2027-11-22T05:00:00.000Z']);
  });
});

it('a plan that only a change window holds asks nobody', async () => {
  const alerted = begin('Sat 18:00-Mon 06:00');
  on.rules(banRule());
  await on.run();
  expect(await alerted()).toEqual([]);
  on.clock.pass(25 * HOUR);
  await on.run();
  expect(await alerted()).toEqual([]);
});
