// test: a stored signal wakes the look, which judges its subject now; a flood is a whole run; what a run takes up is in its windows and in the history like events.
// In: signals in the store, a platform in memory. Out: looks, runs and their effects.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { SIGNAL_EVENTS } from '../../src/domain/signal.ts';
import type { Receiver } from '../../src/signals/receiver.ts';
import { type OnPlatform, startOnPlatform } from '../support/engine-on-platform.ts';
import { addFleet, isStillOn, lookOn } from '../support/looks.ts';
import { type Idp, idp, receiverOf, startIdp } from '../support/transmitter.ts';

const CHANGE = SIGNAL_EVENTS.get('device-compliance-change') as string;

describe('a signal', () => {
  let on: OnPlatform;
  let own: Idp;
  let receiver: Receiver;
  let woken: number;
  beforeEach(async () => {
    on = startOnPlatform();
    await addFleet(on, 400);
    own = await startIdp(on.clock);
    woken = 0;
    const arrived = () => {
      woken += 1;
    };
    receiver = receiverOf(on.store, own, on.clock, { list: [idp()], arrived });
  });
  afterEach(() => on.close());

  const about = async (serial: string, more = {}) => {
    const device = { format: 'opaque', id: serial };
    const text = await own.set(`${serial} ${on.clock.now}`, {
      sub_id: { format: 'complex', device },
      events: { [CHANGE]: { current_status: 'not-compliant' } },
      ...more,
    });
    return receiver.receive('idp', text, { type: 'application/secevent+jwt' });
  };
  const banned = () => on.platform.sent;

  it('wakes a look, which reads its subject, judges it and acts; the next one finds nothing new', async () => {
    on.platform.compromised('d7', 'TRUE');
    expect(await lookOn(on)).toMatchObject({ result: 'nothing' });
    expect(await about('S-d7')).toEqual({ status: 202 });
    expect(woken).toBe(1);
    expect(await isStillOn(on)).toBe(false);
    expect(await lookOn(on)).toMatchObject({ result: 'acted', events: 1, named: 1, read: 1, strangers: 0 });
    expect(banned()).toEqual(['ban S-d7']);
    expect([await isStillOn(on), await on.store.hasNewSignals()]).toEqual([true, false]);
    expect(await lookOn(on)).toMatchObject({ result: 'nothing', events: 0 });
  });

  it('whose look fails is seen by the next one', async () => {
    on.platform.compromised('d7', 'TRUE');
    await about('S-d7');
    const { observeEvents, commitRun } = on.store;
    on.engine.store.commitRun = () => Promise.reject(new Error('the disk is full'));
    await expect(lookOn(on)).rejects.toThrow('the disk is full');
    Object.assign(on.engine.store, { observeEvents, commitRun });
    expect(await on.store.hasNewSignals()).toBe(true);
    expect(await lookOn(on)).toMatchObject({ result: 'acted' });
    expect(banned()).toEqual(['ban S-d7']);
  });

  it('of an event of days ago still names its subject, and is an event of its own time', async () => {
    on.platform.compromised('d7', 'TRUE');
    const ago = on.clock.now - 3 * 86_400_000;
    await about('S-d7', { events: { [CHANGE]: { event_timestamp: ago / 1_000 } } });
    expect((await on.store.newSignals()).events).toMatchObject([{ createdAtMs: ago }]);
    expect(await lookOn(on)).toMatchObject({ result: 'acted' });
  });

  it('about nobody is counted as a stranger, stored, and acts on nobody', async () => {
    await about('S-nobody');
    expect(await lookOn(on)).toMatchObject({ result: 'nothing', events: 1, strangers: 1 });
    expect([banned(), await on.store.hasNewSignals()]).toEqual([[], false]);
    expect((await on.store.signalBox().states())[0]?.counts).toEqual({ accepted: 1, unknown: 1 });
  });

  it('one of very many asks for a whole run, which takes up all of them', async () => {
    on.platform.compromised('d7', 'TRUE');
    for (let at = 1; at <= 201; at += 1) await about(`S-d${at}`);
    expect(await lookOn(on)).toMatchObject({ result: 'whole', reason: { code: 'many_subjects' } });
    expect(await on.store.hasNewSignals()).toBe(true);
    await on.run();
    expect([banned(), await on.store.hasNewSignals()]).toEqual([['ban S-d7'], false]);
    expect(await lookOn(on)).toMatchObject({ result: 'nothing' });
  });

  it('is judged also where the platform shows no log of events', async () => {
    on.platform.compromised('d7', 'TRUE');
    on.platform.events = () => Promise.reject(new AppError('api_forbidden', 'the server refuses this'));
    expect(await lookOn(on)).toMatchObject({ result: 'rest', reason: { code: 'events_forbidden' } });
    await about('S-d7');
    expect(await lookOn(on)).toMatchObject({ result: 'acted' });
  });
});
