// test: a SET is acknowledged when it is committed, counts once, and is about whom the engine knows by the names that it gives; a poll loses nothing; a stretch of a
// stream is known only as far as contact proves it. In: SETs signed by a real key, both databases. Out: rows, and answers.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import type { Facts } from '../../src/domain/facts.ts';
import { identityOf } from '../../src/domain/identity.ts';
import {
  type NameKind,
  SIGNAL_EVENTS,
  STREAM_UPDATED_EVENT,
  type Transmitter,
  VERIFICATION_EVENT,
} from '../../src/domain/signal.ts';
import { readEvent } from '../../src/engine/pull/pull-events.ts';
import { Poller } from '../../src/signals/poller.ts';
import type { Receiver } from '../../src/signals/receiver.ts';
import { silent } from '../support/engine-on-platform.ts';
import { FakeClock } from '../support/platform.ts';
import { databases, type OpenedStore } from '../support/stores.ts';
import { type Idp, idp, receiverOf, startIdp } from '../support/transmitter.ts';

const MINUTE_MS = 60_000;
const SESSION = SIGNAL_EVENTS.get('session-revoked') as string;
const TYPE = { type: 'application/secevent+jwt' };

describe.each(databases())('signals in $name', (database) => {
  beforeAll(() => database.prepare());
  afterAll(() => database.end());
  let open: OpenedStore;
  let own: Idp;
  let list: Transmitter[];
  let receiver: Receiver;
  beforeEach(async () => {
    open = await database.open();
    own = await startIdp(open.clock);
    list = [idp()];
    receiver = receiverOf(open.store, own, open.clock, { list });
  });
  afterEach(() => open.close());

  const push = async (text: string) => receiver.receive('idp', text, TYPE);
  const stored = async () => (await open.store.newSignals()).events;
  const state = async () => (await open.store.signalBox().states())[0];
  /** As a run does. */
  const takeUp = async () => {
    const signals = await open.store.newSignals();
    await open.store.observeEvents({ events: [], coverage: undefined, forgetBeforeMs: 0, signals });
    return signals;
  };

  it('an accepted one is a row with its names before it is answered, and an event once it is taken up', async () => {
    expect(
      await push(
        await own.set('one', {
          txn: 't',
          events: { [SESSION]: { client_secret: 'Kq93xZ81mQ0aPl7TyR5wB2c', why: 2n ** 60n } },
        }),
      ),
    ).toEqual({
      status: 202,
    });
    expect(await stored()).toMatchObject([
      {
        ...{
          id: 'set:idp:one',
          transmitter: 'idp',
          type: SESSION,
          email: 'ana@example.com',
          createdAtMs: open.clock.now,
        },
        body: { why: `${2n ** 60n}`, txn: 't', sub_id: { format: 'email', email: 'Ana@Example.com' } },
      },
    ]);
    expect(JSON.stringify((await stored())[0]?.body)).not.toContain('Kq93x');
    await takeUp();
    expect([await stored(), await open.store.hasNewSignals()]).toEqual([[], false]);
    const events = [];
    for await (const batch of open.store.events(0)) events.push(...batch);
    expect(events).toMatchObject([{ id: 'set:idp:one', transmitter: 'idp' }]);
  });

  it('a repeated one is acknowledged again and stored once, also after it was taken up and forgotten', async () => {
    const text = await own.set('one');
    for (let times = 0; times < 3; times += 1) expect(await push(text)).toEqual({ status: 202 });
    await takeUp();
    await open.store.observeEvents({ events: [], coverage: undefined, forgetBeforeMs: open.clock.now + 1 });
    open.clock.pass(6 * 86_400_000);
    expect(await push(text)).toEqual({ status: 202 });
    expect(await stored()).toEqual([]);
    expect((await open.store.figures()).transmitters).toMatchObject([
      { name: 'idp', contactAt: open.clock.now, counts: { accepted: 1, repeated: 3, unknown: 1 } },
    ]);
  });

  it('one whose id an event of the platform has taken before or after it is an event as well', async () => {
    const submitted = (id: string) => {
      const read = readEvent({ id, created_at: open.clock.now }, new Set());
      return open.store.observeEvents({ events: read.ok ? [read.event] : [], coverage: undefined, forgetBeforeMs: 0 });
    };
    await submitted('set:idp:one');
    for (const jti of ['one', 'two']) expect(await push(await own.set(jti))).toEqual({ status: 202 });
    await takeUp();
    await submitted('set:idp:two');
    const events = [];
    for await (const batch of open.store.events(0))
      events.push(...batch.map(({ id, transmitter }) => [transmitter, id]));
    expect(events.sort()).toEqual([
      [undefined, 'platform:set:idp:one'],
      [undefined, 'platform:set:idp:two'],
      ['idp', 'set:idp:one'],
      ['idp', 'set:idp:two'],
    ]);
  });

  it('of many at once each is committed once, and none is acknowledged that is not', async () => {
    const texts = await Promise.all(Array.from({ length: 300 }, (_, at) => own.set(`s${at % 200}`)));
    const answers = await Promise.all(texts.map(push));
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(300);
    expect(await stored()).toHaveLength(200);
  });

  it('one that cannot be committed is not acknowledged, and can be sent again', async () => {
    const broken = receiverOf(open.store, own, open.clock, {
      list,
      box: { receive: () => Promise.reject(new Error('the disk is full')), states: async () => [] },
    });
    const text = await own.set('one');
    expect(await broken.receive('idp', text, TYPE)).toEqual({ status: 503, retryAfterS: 5 });
    expect(await push(text)).toEqual({ status: 202 });
    expect(await stored()).toHaveLength(1);
  });

  it('refused ones leave nothing but their count', async () => {
    list[0] = idp({ pushBearer: { env: 'SIGNAL_IDP' } });
    const text = await own.set('one');
    expect(await receiver.receive('nobody', text, TYPE)).toMatchObject({ status: 404, err: 'access_denied' });
    expect(await push(text)).toMatchObject({ status: 401, err: 'authentication_failed' });
    const from = { ...TYPE, authorization: 'Bearer a wrong one' };
    expect(await receiver.receive('idp', text, from)).toMatchObject({ status: 401 });
    list[0] = idp();
    expect(await receiver.receive('idp', text, { type: 'application/json' })).toMatchObject({
      status: 400,
      err: 'invalid_request',
    });
    expect(await push(`${text.slice(0, -8)}AAAAAAAA`)).toMatchObject({ status: 400, err: 'authentication_failed' });
    open.clock.pass(11_000);
    expect(await push(await own.set('two', { aud: 'https://other.example.com' }))).toMatchObject({
      err: 'invalid_audience',
    });
    expect(await stored()).toEqual([]);
    await expect
      .poll(async () => (await state())?.counts)
      .toMatchObject({ bearer: 2, form: 1, signature: 1, audience: 1 });
  });

  it('one of a type that nobody asked for is acknowledged, counted and not stored', async () => {
    list[0] = idp({ events: [SIGNAL_EVENTS.get('account-disabled') as string] });
    expect(await push(await own.set('one'))).toEqual({ status: 202 });
    expect([await stored(), (await state())?.counts]).toEqual([[], { accepted: 1 }]);
  });

  describe('about subjects', () => {
    beforeEach(async () => {
      const device = identityOf('device', { DeviceID: 'd1', SerialNumber: 'C02XY', DeviceFriendlyName: 'Ana’s Mac' });
      const user = identityOf('user', { Email: 'Ana@example.com', Name: 'Ana' });
      for (const one of [device, user])
        await open.store.saveIdentities([{ kind: one.kind, changed: [one], had: undefined, readAt: open.clock.now }]);
    });
    const named = async (subject: Facts, more: Partial<Transmitter['subjects']> = {}) => {
      list[0] = idp({ subjects: { ...idp().subjects, ...more } });
      const before = (await state())?.counts.unknown ?? 0;
      await push(await own.set(`s${JSON.stringify([subject, more]).length}`, { sub_id: subject }));
      const { email, serialNumber, deviceId } = (await takeUp()).events[0] ?? {};
      return [email, serialNumber, deviceId, (await state())?.counts.unknown === before + 1 ? 'unknown' : 'known'];
    };
    const opaque = (id: string): Facts => ({ format: 'opaque', id });
    const by = (device: NameKind) => ({ device });

    it('known ones have the names that the fleet was read with, unknown ones those that came', async () => {
      const ana = { format: 'iss_sub', iss: IDP_ISS, sub: 'ANA@example.com' };
      expect(await named({ format: 'account', uri: 'acct:ANA@example.com' })).toEqual([
        'ana@example.com',
        undefined,
        undefined,
        'known',
      ]);
      expect(await named({ format: 'complex', user: ana, device: opaque('c02xy') })).toEqual([
        'ana@example.com',
        'C02XY',
        undefined,
        'known',
      ]);
      expect(await named({ format: 'complex', device: opaque('D1') }, by('device_id'))).toEqual([
        undefined,
        'C02XY',
        'd1',
        'known',
      ]);
      expect(await named(opaque('00u1'), { map: { '00u1': 'C02XY' } })).toEqual([undefined, 'C02XY', 'd1', 'known']);
      expect(
        await named({
          format: 'aliases',
          identifiers: [{ format: 'phone_number', phone_number: '+12065550100' }, ana],
        }),
      ).toEqual([...['ana@example.com', undefined, undefined, 'known']]);
      expect(await named({ format: 'complex', device: opaque('C99'), tenant: opaque('d1') })).toEqual([
        undefined,
        'C99',
        undefined,
        'unknown',
      ]);
      expect(await named(opaque('d1'))).toEqual([undefined, undefined, undefined, 'unknown']);
      expect(await named({ format: 'phone_number', phone_number: '+12065550100' })).toEqual([
        undefined,
        undefined,
        undefined,
        'unknown',
      ]);
    });
  });

  describe('by polls', () => {
    const poller = (more: Partial<ConstructorParameters<typeof Poller>[0]> = {}) =>
      new Poller({
        ...{ transmitters: () => list, receiving: receiver, box: open.store.signalBox(), ask: own.ask },
        ...{
          secretOf: async () => 'a token of ours',
          newState: () => `state ${open.clock.now}`,
          clock: open.clock,
          log: silent,
        },
        ...more,
      });
    const POLLED = idp({
      delivery: { method: 'poll', url: 'https://idp.example.com/poll' },
      bearer: { env: 'SIGNAL_IDP' },
    });
    beforeEach(() => {
      list[0] = POLLED;
    });

    it.each([
      { gives: true, pauses: [5_000, 5_000, 5_000, 5_000] },
      { gives: false, pauses: [5_000, 10_000, 20_000, 40_000] },
    ])(
      'a transmitter that fails in each round is waited for longer only while it gives nothing: $gives',
      async ({ gives, pauses }) => {
        const ending = new AbortController();
        let [asked, at] = [0, 0];
        const paused: number[] = [];
        const clock = {
          nowMs: () => open.clock.nowMs(),
          // The first one is of the look for other transmitters.
          sleep: async (ms: number) => {
            if (at++ === 0)
              return new Promise<void>((_, no) => ending.signal.addEventListener('abort', () => no(new Error('over'))));
            paused.push(ms);
            if (paused.length === pauses.length) ending.abort();
          },
        };
        const ask: Idp['ask'] = async (...given) => {
          asked += 1;
          if (!gives || asked % 2 === 0) throw new AppError('api_unreachable', 'it does not answer');
          own.queue.set(`s${asked}`, await own.set(`s${asked}`));
          return own.ask(...given);
        };
        await poller({ ask, clock }).untilEnding(ending.signal);
        expect(paused).toEqual(pauses);
      },
    );

    it('all are fetched and acknowledged after their commit, bad ones with their error', async () => {
      for (let at = 0; at < 450; at += 1) own.queue.set(`s${at}`, await own.set(`s${at}`));
      own.queue.set('bad', await own.set('bad', { aud: 'https://other.example.com' }));
      await poller().once();
      expect([own.queue.size, (await stored()).length]).toEqual([0, 450]);
      expect(own.setErrs).toEqual({ bad: { err: 'invalid_audience', description: expect.any(String) } });
      expect(own.requests.every(({ authorization }) => authorization === 'Bearer a token of ours')).toBe(true);
      expect(own.requests[0]?.body).toEqual({ maxEvents: 200, returnImmediately: true });
    });

    it('a transmitter that never takes an acknowledgement is named, and not asked in a circle', async () => {
      let polls = 0;
      const sets = { one: await own.set('one') };
      const ask: Idp['ask'] = async () => {
        polls += 1;
        return { status: 200, text: JSON.stringify({ sets, moreAvailable: true }) };
      };
      await poller({ ask }).once();
      expect([polls, (await stored()).length]).toEqual([2, 1]);
      expect((await state())?.stream?.fault?.text).toContain('it sends again what was acknowledged');
    });

    it('those whose acknowledgement was lost are polled again, and stored once', async () => {
      own.queue.set('one', await own.set('one'));
      let requests = 0;
      const cut: Idp['ask'] = async (...asked) => {
        requests += 1;
        if (requests > 1) throw new Error('the process was killed');
        return own.ask(...asked);
      };
      await poller({ ask: cut }).once();
      expect([own.queue.size, (await stored()).length]).toEqual([1, 1]);
      expect((await state())?.known).toBeUndefined();
      await poller().once();
      expect([own.queue.size, (await stored()).length, (await state())?.counts.repeated]).toEqual([0, 1, 1]);
    });

    it('those that are not committed are not acknowledged', async () => {
      own.queue.set('one', await own.set('one'));
      const broken = { ...open.store.signalBox(), receive: () => Promise.reject(new Error('the disk is full')) };
      const states = () => open.store.signalBox().states();
      const receiving = receiverOf(open.store, own, open.clock, { list, box: { ...broken, states } });
      await poller({ receiving }).once();
      expect([...own.queue.keys()]).toEqual(['one']);
    });

    it('each empty one proves that nothing is missing, and a silence that is longer than the transmitter keeps is a gap', async () => {
      const known = async () => (await takeUp()).coverage.map(({ fromMs, toMs }) => [fromMs - begunMs, toMs - begunMs]);
      const begunMs = open.clock.now;
      await poller().once();
      open.clock.pass(9 * MINUTE_MS);
      await poller().once();
      expect(await known()).toEqual([[0, 9 * MINUTE_MS]]);
      open.clock.pass(30 * MINUTE_MS);
      await poller().once();
      expect(await known()).toEqual([[29 * MINUTE_MS, 39 * MINUTE_MS]]);
      expect((await open.store.coverage()).map(({ transmitter, fromMs }) => [transmitter, fromMs - begunMs])).toEqual([
        ['idp', 0],
        ['idp', 29 * MINUTE_MS],
      ]);
    });
  });

  describe('over a stream', () => {
    const STREAMED = idp({
      delivery: { method: 'poll', url: undefined },
      stream: { endpoint: undefined, subjects: [{ format: 'opaque', id: 'all' }] },
      events: [SESSION],
    });
    let poller: Poller;
    beforeEach(() => {
      list[0] = STREAMED;
      const box = open.store.signalBox();
      const newState = () => `state ${open.clock.now}`;
      poller = new Poller({
        ...{ transmitters: () => list, receiving: receiver, box, ask: own.ask, secretOf: async () => undefined },
        ...{ newState, clock: open.clock, log: silent },
      });
    });
    const verification = (given: string) =>
      own.set(`v${open.clock.now}`, {
        sub_id: { format: 'opaque', id: own.stream.id as string },
        events: { [VERIFICATION_EVENT]: { state: given } },
      });

    it('it is made once, with the events and subjects that are wanted, and verified again and again', async () => {
      await poller.once();
      await poller.once();
      expect(own.stream).toMatchObject({
        requested: [SESSION, VERIFICATION_EVENT, STREAM_UPDATED_EVENT],
        added: [{ format: 'opaque', id: 'all' }],
        verified: [`state ${open.clock.now}`],
      });
      open.clock.pass(MINUTE_MS);
      await poller.once();
      expect(own.stream.verified).toHaveLength(2);
      expect(own.requests.filter(({ path, method }) => path === '/stream' && method === 'POST')).toHaveLength(1);
    });

    it('the state that was asked for proves it up to the question, another one is an error', async () => {
      list[0] = {
        ...STREAMED,
        delivery: { method: 'push' },
        stream: { endpoint: `${US_URL}/signals/idp`, subjects: [] },
      };
      await poller.once();
      const askedMs = open.clock.now;
      open.clock.pass(5_000);
      expect(await push(await verification('state 1'))).toMatchObject({ status: 400, err: 'invalid_state' });
      expect((await state())?.known).toBeUndefined();
      expect(await push(await verification(own.stream.verified[0] as string))).toEqual({ status: 202 });
      expect((await state())?.known).toMatchObject({ fromMs: askedMs, toMs: askedMs });
      expect(await stored()).toEqual([]);
    });

    it('while it is paused or disabled nothing is proven, and what is known begins anew after it', async () => {
      await poller.once();
      open.clock.pass(MINUTE_MS);
      own.stream.status = 'paused';
      await poller.once();
      const before = (await state())?.known;
      open.clock.pass(MINUTE_MS);
      await poller.once();
      expect((await state())?.known).toEqual(before);
      open.clock.pass(MINUTE_MS);
      own.stream.status = 'enabled';
      await poller.once();
      expect((await state())?.known).toMatchObject({ fromMs: open.clock.now, toMs: open.clock.now });
      const updated = { [STREAM_UPDATED_EVENT]: { status: 'disabled' } };
      own.queue.set('of another', await own.set('of another', { events: updated }));
      await poller.once();
      expect([(await state())?.stream?.status, own.setErrs['of another']]).toMatchObject([
        'enabled',
        { err: 'invalid_request' },
      ]);
      own.queue.set(
        'u',
        await own.set('u', { sub_id: { format: 'opaque', id: own.stream.id as string }, events: updated }),
      );
      await poller.once();
      expect((await state())?.stream?.status).toBe('disabled');
      own.stream.status = 'disabled';
      open.clock.pass(MINUTE_MS);
      await poller.once();
      const known = (await state())?.known;
      const given = await verification(own.stream.verified.at(-1) as string);
      expect(await receiver.take(list[0] as Transmitter, given)).toBe('committed');
      expect((await state())?.known).toEqual(known);
    });

    it('one whose configuration document is of another issuer is not believed, and why is shown', async () => {
      list[0] = { ...STREAMED, issuer: 'https://idp.example.com/other' };
      await poller.once();
      expect((await state())?.stream?.fault?.text).toMatch(/status 404/);
      expect(own.stream.id).toBeUndefined();
    });
  });
});

describe('a flood of forged SETs', () => {
  const box = { receive: async () => ({ repeated: 0, waiting: 0 }), states: async () => [] };
  const flooded = async (again?: Promise<void>) => {
    const clock = new FakeClock();
    const own = await startIdp(clock);
    let reads = 0;
    const readKeys = async () => {
      if (reads++ > 0) await again;
      return JSON.stringify({ keys: [own.key.publicKey] });
    };
    const store = { signalBox: () => box, identitiesNamed: async () => [] };
    const receiver = receiverOf(store, own, clock, { list: [idp()], readKeys });
    const push = async (text: string, address: string) =>
      (await receiver.receive('idp', text, { ...TYPE, address })).status;
    expect(await push(await own.set('first'), '192.0.2.7')).toBe(202);
    return { own, push, clock };
  };
  const counted = (statuses: number[], ...of: number[]) =>
    of.map((status) => statuses.filter((one) => one === status).length);

  it('from one address leaves another its turn, and what is too much of it waits for later', async () => {
    const { own, push } = await flooded();
    const forged = `${(await own.set('forged')).slice(0, -8)}AAAAAAAA`;
    const answered: number[] = [];
    const flood = Array.from({ length: 5_000 }, async () => answered.push(await push(forged, '198.51.100.1')));
    expect(await push(await own.set('genuine'), '192.0.2.7')).toBe(202);
    expect(counted(answered, 400)[0]).toBeLessThan(200);
    await Promise.all(flood);
    expect(counted(answered, 400, 503)).toEqual([2_007, 2_993]);
  });

  it('that makes keys be read holds up nobody whose key is known', async () => {
    const reading = Promise.withResolvers<void>();
    const { own, push, clock } = await flooded(reading.promise);
    clock.pass(MINUTE_MS);
    const head = Buffer.from(JSON.stringify({ alg: own.key.alg, kid: 'unknown', typ: 'secevent+jwt' }));
    const unknown = (await own.set('unknown')).replace(/^[^.]+/, head.toString('base64url'));
    const flood = Array.from({ length: 600 }, () => push(unknown, '198.51.100.1'));
    expect(await push(await own.set('genuine'), '192.0.2.7')).toBe(202);
    reading.resolve();
    expect(counted(await Promise.all(flood), 400, 503)).toEqual([500, 100]);
  });
});

const IDP_ISS = 'https://idp.example.com/';
const US_URL = 'https://trustward.example.com';
