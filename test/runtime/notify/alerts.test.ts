// test: alerts: people are notified once when something begins to need them, about commands too, at night only what must be, with a link.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseWindows } from '../../../src/domain/change-window.ts';
import { type PostgresDatabase, sqliteDatabase } from '../../../src/domain/database.ts';
import { AppError } from '../../../src/domain/errors.ts';
import type { AlertCode, Notification } from '../../../src/domain/notification.ts';
import { addExemption, endExemption, resumeEverything, stopEverything } from '../../../src/engine/operate/commands.ts';
import { answerPlan } from '../../../src/engine/operate/plans.ts';
import { buildReport } from '../../../src/faces/report/build-report.ts';
import { pagesWithin } from '../../../src/runtime/config/config.ts';
import type { Alerts } from '../../../src/runtime/notify/alerts.ts';
import { bodyOf, linkOf, QuietHours } from '../../../src/runtime/notify/delivery.ts';
import { STEERING } from '../../../src/runtime/operations/acting.ts';
import { alertsOf } from '../../support/alerts-of.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';
import { reportMarkdown, reportText } from '../../support/readable.ts';

const noLinks = () => Promise.reject(new Error('no link is made here'));

describe('alerts', () => {
  let on: OnPlatform;
  let alerts: Alerts;

  function start(...rules: Parameters<typeof banRule>[0][]): void {
    on = startOnPlatform({ rules: rules.map((options) => banRule(options)) });
    alerts = alertsOf(on);
    for (const id of ['d1', 'd2', 'd3']) on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'TRUE' } });
  }

  /** The codes of the current alerts, in order. */
  const alerted = async () => (await alerts.look()).map(({ code }) => code);
  const waiting = () => on.store.outbox().due(Number.MAX_SAFE_INTEGER, 100);

  afterEach(() => on.close());

  describe('an alert is sent', () => {
    beforeEach(() => start({}));

    it('when a plan waits, once while it is the same, again when something joins it, and not when something leaves it', async () => {
      on.rules(banRule({ mode: 'approve' }));
      await on.run();
      expect(await alerted()).toEqual(['plan_waits']);
      await on.run();
      expect(await alerted()).toEqual([]);
      on.platform.addDevice('d4', { MdmData: { CompromisedStatus: 'TRUE' } });
      await on.run();
      expect(await alerted()).toEqual(['plan_waits']);
      on.platform.compromised('d1', 'FALSE');
      await on.run();
      expect(await alerted()).toEqual([]);
      expect((await waiting()).map(({ to, kind }) => [to, kind])).toEqual([
        ['ops', 'alert'],
        ['ops', 'alert'],
      ]);
    });

    it('when the server refuses an action, once for all its targets', async () => {
      on.platform.answer('S-d1', 'forbidden', 'forbidden');
      on.platform.answer('S-d2', 'forbidden', 'forbidden');
      await on.run();
      expect((await alerted()).filter((code) => code === 'refused')).toHaveLength(1);
      await on.run();
      expect(await alerted()).toEqual([]);
    });

    it('when a plan still waits, at half and at nine tenths of its time, once each and whatever restarts', async () => {
      on.rules(banRule({ mode: 'approve' }));
      await on.run();
      const after: string[][] = [];
      for (const hours of [0, 11, 1, 1, 8, 1]) {
        on.clock.pass(hours * 3_600_000);
        after.push((await alertsOf(on).look()).map(({ code }) => code));
      }
      const still = ['plan_still_waits'];
      expect(after).toEqual([['plan_waits'], [], still, [], [], still]);
      const texts = (await waiting()).map(({ text }) => text);
      expect(texts).toContainEqual(
        expect.stringMatching(/^plan .* still waits for a yes: half of its time is over, and/),
      );
      expect(texts).toContainEqual(expect.stringContaining('nine tenths of its time is over'));
    });

    it('once when both times passed while nobody looked, and never for a plan that was answered', async () => {
      on.rules(banRule({ mode: 'approve' }));
      const { plan } = await on.run();
      await alerted();
      on.clock.pass(23 * 3_600_000);
      expect(await alerted()).toEqual(['plan_still_waits']);
      await on.approve(plan);
      expect(await alerted()).toEqual([]);
    });

    it('when an action is parked', async () => {
      for (const serial of ['S-d1', 'S-d2', 'S-d3']) on.platform.answer(serial, 'failed', 'failed', 'failed');
      for (let run = 0; run < 3; run += 1) {
        await on.run();
        on.clock.pass(QUIET_MS);
      }
      const found = (await alerts.look()).filter(({ code }) => code === 'parked');
      expect(found).toHaveLength(3);
      expect(found[0]?.about.subject).toEqual({ kind: 'device', id: 'd1' });
      expect(await alerted()).toEqual([]);
      expect((await on.store.audit({ kind: 'alert.raised', limit: 10 })).length).toBeGreaterThanOrEqual(3);
    });

    it('when a rule is held beyond its limit: one alert for any number of targets', async () => {
      const limited = banRule({ id: 'limited' });
      on.rules({ ...limited, limits: { max: 1, percent: 100 } });
      await on.run();
      expect(await alerted()).toEqual(['plan_waits', 'limit']);
    });

    it('of a limit is not raised by a rule that is only tried out', async () => {
      const limited = banRule({ id: 'limited', mode: 'dry-run' });
      on.rules({ ...limited, limits: { max: 1, percent: 100 } });
      await on.run();
      expect(await alerted()).toEqual([]);
    });

    it('when a source is not trusted, and again when that returns', async () => {
      await on.run();
      expect(await alerted()).toEqual([]);
      const saved = new Map(on.platform.devices);
      const lose = async () => {
        on.platform.devices.clear();
        await on.run();
        return alerted();
      };
      expect(await lose()).toEqual(['untrusted']);
      expect(await lose()).toEqual([]);
      for (const [id, device] of saved) on.platform.devices.set(id, device);
      await on.run();
      expect(await alerted()).toEqual([]);
      expect(await lose()).toEqual(['untrusted']);
    });

    it('by a restarted process only for new conditions', async () => {
      on.rules(banRule({ mode: 'approve' }));
      await on.run();
      await alerted();
      expect(await alertsOf(on).look()).toEqual([]);
    });

    it('to nobody, and nothing is kept, when no webhook is named', async () => {
      on.rules(banRule({ mode: 'approve' }));
      await on.run();
      expect(await alertsOf(on, []).look()).toEqual([]);
      expect(await alerted()).toEqual(['plan_waits']);
    });
  });

  describe('silence', () => {
    beforeEach(() => start({}));

    it('is alerted when no trusted snapshot came for too long, though every run breaks off', async () => {
      await on.run();
      const stop = new AbortController();
      const after: string[][] = [];
      const look = alerts.look.bind(alerts);
      alerts.look = async () => {
        const found = await look();
        after.push(found.map(({ code }) => code));
        on.platform.stream = () => {
          throw new AppError('api_unreachable', 'unreachable');
        };
        await on.run().catch(() => {});
        if (after.length === 6) stop.abort();
        return found;
      };
      // It checks every quarter of that time; the clock moves as it waits.
      await alerts.watchSilence(60_000, stop.signal, () => {});
      expect(after).toEqual([[], ['untrusted'], [], ['silence'], [], []]);
      expect((await waiting()).map(({ text }) => text)).toContainEqual(
        expect.stringContaining('no trusted snapshot since 20'),
      );
    });
  });

  describe('silence in the record, where no process watches for long', () => {
    const SILENT_MS = 60_000;
    const looked = async () =>
      (await alertsOf(on, ['ops'], { recordedSilenceMs: SILENT_MS }).look()).map(({ code }) => code);
    const lose = async () => {
      on.platform.stream = () => {
        throw new AppError('api_unreachable', 'unreachable');
      };
      for (let run = 0; run < 25; run += 1) {
        on.clock.pass(1_000);
        await on.run().catch(() => {});
      }
    };
    beforeEach(() => start({}));

    it('is counted from the last trusted snapshot, however many runs broke off since, and alerted once by any process', async () => {
      await on.run();
      await lose();
      expect(await looked()).toEqual(['untrusted']);
      on.clock.pass(SILENT_MS - 26_000);
      expect(await looked()).toEqual([]);
      on.clock.pass(2_000);
      expect(await looked()).toEqual(['silence']);
      expect(await looked()).toEqual([]);
    });

    it('is counted from the beginning of the record when no run ever ended well', async () => {
      await lose();
      on.clock.pass(SILENT_MS);
      expect(await looked()).toContain('silence');
      expect((await waiting()).map(({ text }) => text)).toContainEqual(
        expect.stringContaining('no trusted snapshot since the start'),
      );
    });
  });
});

describe('alerts about operator commands', () => {
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
      const steering = { operating: on.engine, tokens: on.store.tokens(), linking: noLinks, alert };
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
});

describe('quiet hours', () => {
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
      await answerPlan(on.engine, plan?.id ?? '', 'reject', { by: 'ada', reason: 'no' });
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
      await answerPlan(on.engine, plan?.id ?? '', 'approve', { by: 'ada', reason: 'an outbreak' }, true);
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
});

const match = (kind: string | null, subject: string) => ({ rule: 'r', kind, subject, facts: {} });

describe('the link of a message', () => {
  it.each<[string, Notification['about'], string | undefined]>([
    ['about a plan is its page', { plan: '01ab', intents: 3 }, 'https://tw.example/plans/01ab'],
    ['about a subject is its page', { subject: { kind: 'device', id: 'd1' } }, 'https://tw.example/subjects/device/d1'],
    [
      'of a rule is the page of what matched',
      { matches: [match('user', 'a@b.c')] },
      'https://tw.example/subjects/user/a%40b.c',
    ],
    [
      'about two rules and one subject is that one',
      { matches: [match('device', 'd1'), match('device', 'd1')] },
      'https://tw.example/subjects/device/d1',
    ],
    ['about several subjects is left out', { matches: [match('device', 'd1'), match('device', 'd2')] }, undefined],
    ['about an unknown kind is left out', { matches: [match(null, 'd1')] }, undefined],
    ['about neither is left out', { source: 'devices', subject: null }, undefined],
    [
      'keeps a hostile id in one segment',
      { subject: { kind: 'device', id: '../../x?y#z' } },
      'https://tw.example/subjects/device/..%2F..%2Fx%3Fy%23z',
    ],
  ])('%s', (_, about, expected) => {
    expect(linkOf({ about }, 'https://tw.example')).toBe(expected);
  });

  it('names the organization with PostgreSQL, whose endpoint has several', () => {
    const database = {
      kind: 'postgres',
      url: 'postgres://db',
      password: undefined,
      organization: 'acme',
      beside: 'acme/db',
    };
    const base = pagesWithin('https://tw.example', database as PostgresDatabase);
    expect(linkOf({ about: { plan: 'p1' } }, base ?? '')).toBe('https://tw.example/orgs/acme/plans/p1');
    expect(pagesWithin('https://tw.example', sqliteDatabase('t.db'))).toBe('https://tw.example');
  });

  it('is a member of the body, and absent without a public address', () => {
    const message: Notification = { id: 'n1', to: 'ops', kind: 'alert', at: 0, text: 't', about: {} };
    expect(JSON.parse(bodyOf({ ...message, link: 'https://tw.example/plans/1' })).link).toBe(
      'https://tw.example/plans/1',
    );
    expect(JSON.parse(bodyOf(message))).not.toHaveProperty('link');
  });
});
