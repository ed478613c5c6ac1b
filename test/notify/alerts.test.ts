// test: alerts: people are told when something begins to need them, once; again when it comes back; by nobody else's doing.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import type { Alerts } from '../../src/notify/alerts.ts';
import { alertsOf } from '../support/alerts-of.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../support/engine-on-platform.ts';

let on: OnPlatform;
let alerts: Alerts;

function start(...rules: Parameters<typeof banRule>[0][]): void {
  on = startOnPlatform({ rules: rules.map((options) => banRule(options)) });
  alerts = alertsOf(on);
  for (const id of ['d1', 'd2', 'd3']) on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'TRUE' } });
}

/** What is told of now: codes, in order. */
const told = async () => (await alerts.look()).map(({ code }) => code);
const waiting = () => on.store.outbox().due(Number.MAX_SAFE_INTEGER, 100);

afterEach(() => on.close());

describe('people are told', () => {
  beforeEach(() => start({}));

  it('that a plan waits, once while it is the same, and again when it is another', async () => {
    on.rules(banRule({ mode: 'approve' }));
    await on.run();
    expect(await told()).toEqual(['plan_waits']);
    await on.run();
    expect(await told()).toEqual([]);
    on.platform.addDevice('d4', { MdmData: { CompromisedStatus: 'TRUE' } });
    await on.run();
    expect(await told()).toEqual(['plan_waits']);
    expect((await waiting()).map(({ to, kind }) => [to, kind])).toEqual([
      ['ops', 'alert'],
      ['ops', 'alert'],
    ]);
  });

  it('that an action is parked', async () => {
    for (const serial of ['S-d1', 'S-d2', 'S-d3']) on.platform.answer(serial, 'failed', 'failed', 'failed');
    for (let run = 0; run < 3; run += 1) {
      await on.run();
      on.clock.pass(QUIET_MS);
    }
    expect((await told()).filter((code) => code === 'parked')).toHaveLength(3);
    expect(await told()).toEqual([]);
    expect((await on.store.audit({ kind: 'alert.raised', limit: 10 })).length).toBeGreaterThanOrEqual(3);
  });

  it('that a rule is held beyond its limit: one alert, however many targets', async () => {
    const limited = banRule({ id: 'limited' });
    on.rules({ ...limited, limits: { max: 1, percent: 100 } });
    await on.run();
    expect(await told()).toEqual(['plan_waits', 'limit']);
  });

  it('that a source is not trusted, and again when it is so once more', async () => {
    await on.run();
    expect(await told()).toEqual([]);
    const saved = new Map(on.platform.devices);
    const lose = async () => {
      on.platform.devices.clear();
      await on.run();
      return told();
    };
    expect(await lose()).toEqual(['untrusted']);
    expect(await lose()).toEqual([]);
    for (const [id, device] of saved) on.platform.devices.set(id, device);
    await on.run();
    expect(await told()).toEqual([]);
    expect(await lose()).toEqual(['untrusted']);
  });

  it('of nothing by a process that was restarted and finds what was told before', async () => {
    on.rules(banRule({ mode: 'approve' }));
    await on.run();
    await told();
    expect(await alertsOf(on).look()).toEqual([]);
  });

  it('of nothing, and nothing is kept, when no webhook is named', async () => {
    on.rules(banRule({ mode: 'approve' }));
    await on.run();
    expect(await alertsOf(on, []).look()).toEqual([]);
    expect(await told()).toEqual(['plan_waits']);
  });
});

describe('silence', () => {
  beforeEach(() => start({}));

  it('is told of when no trusted snapshot came for so long, though every run breaks off', async () => {
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
    // It looks every quarter of that time; the clock moves as it waits.
    await alerts.watchSilence(60_000, stop.signal, () => {});
    expect(after).toEqual([[], ['untrusted'], [], ['silence'], [], []]);
    expect((await waiting()).map(({ text }) => text)).toContainEqual(
      expect.stringContaining('no trusted snapshot since 20'),
    );
  });
});
