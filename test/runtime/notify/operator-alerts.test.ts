// test: alerts about operator commands: a stop and its end at once, an exemption before it ends, and an unused one.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addExemption, endExemption, resumeEverything, stopEverything } from '../../../src/engine/operate/commands.ts';
import { buildReport } from '../../../src/faces/report/build-report.ts';
import { reportMarkdown } from '../../../src/faces/report/markdown.ts';
import { reportText } from '../../../src/faces/report/text.ts';
import type { Alerts } from '../../../src/runtime/notify/alerts.ts';
import { STEERING } from '../../../src/runtime/operations/acting.ts';
import { alertsOf } from '../../support/alerts-of.ts';
import { type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ANN = { by: 'ann', reason: 'the MDM reports nonsense' };
const BOB = { by: 'bob', reason: 'the vendor fixed it' };

let on: OnPlatform;
let alerts: Alerts;

beforeEach(() => {
  on = startOnPlatform();
  alerts = alertsOf(on);
});
afterEach(() => on.close());

const alerted = async () => (await alerts.look()).map(({ code, text }) => `${code}: ${text}`);

describe('a stop', () => {
  it('is alerted once while it lasts, with who and why; so is its end, and so is a second stop', async () => {
    await stopEverything(on.engine, ANN);
    expect(await alerted()).toEqual([
      'stopped: ann stopped everything at 2027-01-15 08:00:00 UTC: the MDM reports nonsense; nothing is called until it is resumed',
    ]);
    await stopEverything(on.engine, BOB); // repeated while it is in force: the first one stays
    on.clock.pass(2 * DAY_MS);
    expect(await alerted()).toEqual([]);
    await resumeEverything(on.engine, BOB);
    expect(await alerted()).toEqual([
      'resumed: bob resumed at 2027-01-17 08:00:00 UTC, and actions are called again: the vendor fixed it',
    ]);
    expect(await alerted()).toEqual([]);
    on.clock.pass(1);
    await stopEverything(on.engine, ANN);
    expect(await alerted()).toEqual([expect.stringContaining('stopped: ann')]);
  });

  it('that was lifted is not alerted a day later', async () => {
    await stopEverything(on.engine, ANN);
    await resumeEverything(on.engine, BOB);
    on.clock.pass(DAY_MS);
    expect(await alerted()).toEqual([]);
  });

  it('is alerted at once, not when the next run is over', async () => {
    const heard: string[][] = [];
    const alert = async () => void heard.push(await alerted());
    const steering = { operating: on.engine, tokens: on.store.tokens(), alert };
    await STEERING.stop(steering, { reason: ANN.reason }, { by: ANN.by });
    await expect.poll(() => heard.length).toBe(1);
    await STEERING.resume(steering, { reason: BOB.reason }, { by: BOB.by });
    await expect
      .poll(() => heard)
      .toEqual([[expect.stringContaining('stopped: ann')], [expect.stringContaining('resumed: bob')]]);
  });

  it('is in a report read now, whether it came before the run or after it, and so is its end', async () => {
    const { run } = await on.run();
    const words = async () => {
      const report = await buildReport(on.store, run);
      return [reportText(report, { width: 1_000 }), reportMarkdown(report)].map((text) =>
        text.includes('STOPPED by ann'),
      );
    };
    expect(await words()).toEqual([false, false]);
    await stopEverything(on.engine, ANN);
    expect(await words()).toEqual([true, true]);
    const { run: stopped } = await on.run();
    await resumeEverything(on.engine, BOB);
    expect(await words()).toEqual([false, false]);
    expect(reportText(await buildReport(on.store, stopped), { width: 1_000 })).toContain(
      'This run was STOPPED by ann at 2027-01-15 08:00:00 UTC (the MDM reports nonsense), which has been lifted since.',
    );
  });
});

describe('an exemption', () => {
  const exempt = (until: string) =>
    addExemption(
      on.engine,
      { subject: { kind: 'device', id: 'd1' }, unseen: true, owner: 'Ana', reason: 'on a ship', until },
      'ann',
    );

  it('is announced a day before its end, once, and not when it was ended early', async () => {
    const { id } = await exempt('3d');
    await endExemption(on.engine, (await exempt('3d')).id, ANN);
    on.clock.pass(2 * DAY_MS - 1);
    expect(await alerted()).toEqual([]);
    on.clock.pass(1);
    expect(await alerted()).toEqual([
      `exemption_ending: exemption ${id} of device d1 (Ana is responsible for it) ends at 2027-01-18 08:00:00 UTC: rules act on it again then`,
    ]);
    on.clock.pass(HOUR_MS);
    expect(await alerted()).toEqual([]);
  });

  it('that matched nothing for 30 days is announced once; a used one is not', async () => {
    const { id } = await exempt('90d');
    on.platform.addDevice('d2', { MdmData: { CompromisedStatus: 'TRUE' } });
    const subject = { kind: 'device', id: 'd2' };
    await addExemption(on.engine, { subject, unseen: true, owner: 'Ana', reason: 'known', until: '90d' }, 'ann');
    await on.run();
    on.clock.pass(30 * DAY_MS);
    expect(await alerted()).toEqual([
      `exemption_unused: exemption ${id} of device d1 (Ana is responsible for it) has matched nothing since 2027-01-15 08:00:00 UTC`,
    ]);
    expect(await alerted()).toEqual([]);
  });
});
