// test: alerts: people are notified once when something begins to need them, and again when it returns.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { Alerts } from '../../../src/runtime/notify/alerts.ts';
import { alertsOf } from '../../support/alerts-of.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

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

  it('when a plan waits, once while it is the same, and again when it changes', async () => {
    on.rules(banRule({ mode: 'approve' }));
    await on.run();
    expect(await alerted()).toEqual(['plan_waits']);
    await on.run();
    expect(await alerted()).toEqual([]);
    on.platform.addDevice('d4', { MdmData: { CompromisedStatus: 'TRUE' } });
    await on.run();
    expect(await alerted()).toEqual(['plan_waits']);
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
      expect.stringMatching(/^plan .* still waits for a person: half of its time is over, and/),
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
