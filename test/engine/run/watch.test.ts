// test: a look at the event log between two whole runs: what it reads, judges, does and records.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunRecord } from '../../../src/domain/store.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { addEvent, addFleet, compromise, lookOn, recordRequests } from '../../support/looks.ts';

let on: OnPlatform;
afterEach(() => on.close());

const runs = () => on.store.runs(100);

describe('a look at the event log', () => {
  beforeEach(async () => {
    on = startOnPlatform();
    await addFleet(on, 20);
  });

  it('bans a device that an event names', async () => {
    compromise(on, 'd3');
    const look = await lookOn(on);
    expect(look).toMatchObject({ result: 'acted', events: 1, named: 1, read: 1, strangers: 0, unread: 0 });
    expect(on.platform.effects).toEqual(['ban S-d3']);
  });

  it('is recorded as a run over these subjects, which counts with the last whole one', async () => {
    const [whole] = await runs();
    compromise(on, 'd3');
    const { run } = await lookOn(on);
    const stored = (await on.store.run(String(run?.seq))) as RunRecord;
    expect(stored).toMatchObject({ trigger: 'watch', scoped: true, countsWith: whole?.id, status: 'completed' });
    expect(stored.findings?.snapshot.sources.devices).toMatchObject({ form: 'single', count: 1, trusted: true });
    expect(stored.findings?.tallies[0]).toMatchObject({ match: 1, no_match: 0 });
  });

  it('leaves neither a run nor an entry of the audit when it changes nothing', async () => {
    const [before, head] = [await runs(), await on.store.auditHead()];
    addEvent(on, 'd3');
    expect(await lookOn(on)).toMatchObject({ result: 'nothing', events: 1, named: 1, read: 1 });
    expect(await runs()).toEqual(before);
    expect(await on.store.auditHead()).toEqual(head);
  });

  it('makes one request while nothing happens', async () => {
    addEvent(on, 'd3');
    await lookOn(on);
    for (let look = 0; look < 3; look += 1) {
      on.clock.pass(400_000);
      const made = recordRequests(on);
      expect(await lookOn(on)).toMatchObject({ result: 'nothing', events: 0 });
      expect(made).toEqual(['events']);
    }
  });

  it('names a subject once for an event, however often the log shows it', async () => {
    addEvent(on, 'd3');
    await lookOn(on);
    on.clock.pass(30_000);
    expect(await lookOn(on)).toMatchObject({ events: 0, named: 0, read: 0 });
  });

  it('reads a subject once that a thousand events name', async () => {
    for (let event = 0; event < 1_000; event += 1) addEvent(on, 'd3');
    const made = recordRequests(on);
    expect(await lookOn(on)).toMatchObject({ result: 'nothing', events: 1_000, named: 1, read: 1 });
    expect(made.filter((name) => name === 'devicesOfSerial')).toHaveLength(1);
  });

  it('does not do again what it has done, and neither does the next whole run', async () => {
    compromise(on, 'd3');
    await lookOn(on);
    on.clock.pass(30_000);
    addEvent(on, 'd3');
    await lookOn(on);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d3']);
  });

  it('ends no episode and undoes nothing, which the next whole run does', async () => {
    compromise(on, 'd3');
    await lookOn(on);
    on.clock.pass(60_000);
    on.platform.compromised('d3', 'FALSE');
    addEvent(on, 'd3');
    expect(await lookOn(on)).toMatchObject({ result: 'nothing', read: 1 });
    expect((await on.store.openState(on.clock.now)).episodes.map(({ state }) => state)).toEqual(['matching']);
    expect(on.platform.effects).toEqual(['ban S-d3']);
    await on.run();
    expect(on.platform.effects).toEqual(['ban S-d3', 'unban S-d3']);
  });

  it('leaves a device alone that a person has unbanned', async () => {
    compromise(on, 'd3');
    await lookOn(on);
    on.clock.pass(60_000);
    on.platform.patch('d3', { Banned: 'FALSE' });
    addEvent(on, 'd3');
    await lookOn(on);
    addEvent(on, 'd3');
    await lookOn(on);
    expect(on.platform.effects).toEqual(['ban S-d3']);
  });

  it('calls nothing in a dry run, and shows once what it would do', async () => {
    compromise(on, 'd3');
    const look = await lookOn(on, { mode: 'dry-run' });
    expect(look.result).toBe('acted');
    expect(on.platform.sent).toEqual([]);
    expect((await on.intents()).map(({ outcome }) => outcome)).toEqual(['dry_run']);
    on.clock.pass(30_000);
    addEvent(on, 'd3');
    expect(await lookOn(on, { mode: 'dry-run' })).toMatchObject({ result: 'nothing', read: 1 });
  });

  it('calls nothing while everything is stopped', async () => {
    await on.store.setStop({ at: on.clock.now, by: 'ada', reason: 'drill' }, []);
    compromise(on, 'd3');
    await lookOn(on);
    expect(on.platform.sent).toEqual([]);
    const [decision] = await on.store.decisions({ limit: 1 });
    expect(decision).toMatchObject({ decision: 'hold', reason: 'stopped' });
  });

  it('judges all devices of a serial number that an event names', async () => {
    on.platform.addDevice('twin', { SerialNumber: 'S-d3', Model: 'M2' });
    compromise(on, 'd3');
    expect(await lookOn(on)).toMatchObject({ read: 2 });
    const [decision] = await on.store.decisions({ limit: 1 });
    expect(decision?.reason).toBe('serial_shared');
    expect(on.platform.sent).toEqual([]);
  });
});

describe('a rule', () => {
  it('with `for` is opened by a look, and acts when its time is over', async () => {
    on = startOnPlatform({ rules: [banRule({ more: 'for: 10m' })] });
    await addFleet(on, 20);
    compromise(on, 'd3');
    await lookOn(on);
    expect(on.platform.sent).toEqual([]);
    on.clock.pass(11 * 60_000);
    addEvent(on, 'd3');
    await lookOn(on);
    expect(on.platform.effects).toEqual(['ban S-d3']);
  });

  it('with `watch: false` is judged by whole runs only', async () => {
    on = startOnPlatform({ rules: [banRule({ more: 'watch: false' })] });
    await addFleet(on, 20);
    compromise(on, 'd3');
    expect(await lookOn(on)).toMatchObject({ result: 'rest', reason: { code: 'nothing_to_watch' } });
    await on.run();
    expect(on.platform.effects).toEqual(['ban S-d3']);
  });

  it('that was edited since the last whole run waits for the next one', async () => {
    on = startOnPlatform({ rules: [banRule()] });
    await addFleet(on, 20);
    on.rules(banRule({ cooldown: '1h' }));
    compromise(on, 'd3');
    expect(await lookOn(on)).toMatchObject({ result: 'rest', reason: { code: 'nothing_to_watch' } });
  });
});
