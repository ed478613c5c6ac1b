// test: what was done and undone reaches receivers by push and by poll, each outcome once, signed, and never before it is known; streams are managed as
// SSF 1.0 has it. Over HTTP, against receivers that verify with the published keys.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../src/domain/ports.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { Poller, type PollerParts } from '../../src/signals/poller.ts';
import { Receiver as SignalReceiver } from '../../src/signals/receiver.ts';
import type { Transmitter } from '../../src/signals/transmitter.ts';
import { silent } from '../support/engine-on-platform.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { databases } from '../support/stores.ts';
import { idp } from '../support/transmitter.ts';
import {
  type Ask,
  COMPLIANCE,
  ISSUER,
  POLL,
  PUSH,
  REVOKED,
  startTransmitting,
  type Transmitting,
  VERIFICATION,
} from '../support/transmitting.ts';

let sending: Transmitting;
let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
  sending = await startTransmitting({ devices: 20 });
});
afterEach(async () => {
  await sending.stop();
  await receiver.close();
});

const STREAMS = '/api/signals/streams';
const now = { returnImmediately: true };

async function pushed(ask: Ask, more: object = {}): Promise<string> {
  const delivery = { method: PUSH, endpoint_url: `https://localhost:${receiver.port}/events`, ...more };
  const { status, body } = await ask('POST', STREAMS, { delivery });
  expect(status).toBe(201);
  return body.stream_id;
}

async function polled(ask: Ask): Promise<string> {
  return (await ask('POST', STREAMS, { delivery: { method: POLL } })).body.stream_id;
}

/** A device that begins to match; its id. */
function trouble(serial: string): string {
  return sending.org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' });
}

async function setOf(text: string, audience: string) {
  const verdict = await sending.verified(text, audience);
  if (!('set' in verdict)) throw new Error(`the SET is refused: ${verdict.refused.description}`);
  return verdict.set;
}

describe('what was done and undone', () => {
  it('goes out as signed events to a receiver by push and to another by poll, in order, each once', async () => {
    const okta = await sending.as('okta');
    const jamf = await sending.as('jamf');
    await pushed(okta, { authorization_header: 'Bearer of-the-receiver' });
    const id = await polled(jamf);
    const device = trouble('SIGNAL-1');
    await sending.org.run('enforce');
    await receiver.arrived(2);
    sending.org.console.fleet.patchDevice(device, { mdm_compromised: 'FALSE' });
    await sending.org.run('enforce');
    await receiver.arrived(3);
    const sets = await Promise.all(receiver.received.map(({ body }) => setOf(body, 'https://okta.example/ssf')));
    expect(receiver.received[0]?.headers).toMatchObject({
      'content-type': 'application/secevent+jwt',
      accept: 'application/json',
      authorization: 'Bearer of-the-receiver',
    });
    expect(sets.map(({ event }) => event).sort()).toEqual([COMPLIANCE, COMPLIANCE, REVOKED].sort());
    const compliance = sets.filter(({ event }) => event === COMPLIANCE);
    const states = compliance.map(({ body }) => [body.previous_status, body.current_status]);
    expect(states).toEqual([
      ['compliant', 'not-compliant'],
      ['not-compliant', 'compliant'],
    ]);
    expect(compliance[0]?.subject).toMatchObject({
      format: 'complex',
      device: { format: 'iss_sub', iss: ISSUER, sub: 'SIGNAL-1' },
    });
    expect(compliance[0]?.body).toMatchObject({
      initiating_entity: 'policy',
      reason_admin: { en: 'ban_device: ban-compromised-device' },
    });
    expect(new Set(sets.map(({ jti }) => jti)).size).toBe(3);
    // Both events of one outcome have its name, and no other has.
    expect(new Set(sets.map(({ txn }) => txn)).size).toBe(2);

    const first = await jamf('POST', `/api/signals/poll/${id}`, { maxEvents: 1, ...now });
    expect(first.body).toMatchObject({ moreAvailable: true });
    const [[jti, text] = []] = Object.entries(first.body.sets as Record<string, string>);
    const set = await setOf(text ?? '', 'jamf-two');
    expect(set).toMatchObject({ jti, event: COMPLIANCE, body: { current_status: 'not-compliant' } });
    expect(set.subject.device).toEqual({ format: 'opaque', id: device });
    // What is not acknowledged comes again, as the same text.
    const again = await jamf('POST', `/api/signals/poll/${id}`, now);
    expect(Object.keys(again.body.sets).length).toBe(2);
    expect(again.body.sets[jti ?? '']).toBe(text);
    expect(again.body.moreAvailable).toBeUndefined();
    const rest = await jamf('POST', `/api/signals/poll/${id}`, { ...now, ack: Object.keys(again.body.sets) });
    expect(rest.body).toEqual({ sets: {} });
  });

  it('is told for a dry run, a failure and a doubt not at all, and for a doubt once a person resolved it as done', async () => {
    const jamf = await sending.as('jamf');
    const id = await polled(jamf);
    const poll = async () => Object.values((await jamf('POST', `/api/signals/poll/${id}`, now)).body.sets as object);
    trouble('SIGNAL-2');
    await sending.org.run('dry-run');
    expect(await poll()).toEqual([]);
    const write = { method: 'POST', path: '/api/v1/mdm/update_device' } as const;
    sending.org.console.faults?.set({ faults: [{ kind: 'error', match: write, status: 503, effect: false }] });
    await sending.org.run('enforce');
    const [doubt] = await sending.org.composition.engine.store.intents({ outcome: 'unknown' });
    expect(doubt).toMatchObject({ outcome: 'unknown' });
    expect(await poll()).toEqual([]);
    sending.org.console.faults?.clear();
    const admin = await fetch(`${sending.url}/api/intents/${doubt?.id}/resolve`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${sending.org.env.TRUSTWARD_TOKEN}` },
      body: JSON.stringify({ as: 'done', reason: 'seen in the console' }),
    });
    expect(admin.status).toBe(200);
    const [text, ...others] = await poll();
    expect(others).toEqual([]);
    expect((await setOf(String(text), 'jamf')).txn).toBe(doubt?.id);
  });

  it('is told to a stream that asked for no such event, or whose receiver hears of other rules, not at all', async () => {
    const other = await sending.as('other');
    const id = await polled(other);
    const okta = await sending.as('okta');
    const own = (await okta('POST', STREAMS, { events_requested: [REVOKED, 'https://unknown.example/event'] })).body;
    expect(own).toMatchObject({ events_delivered: [REVOKED], delivery: { method: POLL } });
    trouble('SIGNAL-3');
    await sending.org.run('enforce');
    expect((await other('POST', `/api/signals/poll/${id}`, now)).body).toEqual({ sets: {} });
    const { sets } = (await okta('POST', `/api/signals/poll/${own.stream_id}`, now)).body;
    const found = await Promise.all(Object.values(sets).map((text) => setOf(String(text), 'https://okta.example/ssf')));
    expect(found.map(({ event }) => event)).toEqual([REVOKED]);
  });

  it('that a receiver refuses is pushed again as the same text, and given up after ten answers that it is wrong', async () => {
    receiver.answers.push(503, 'hang', 400);
    const okta = await sending.as('okta');
    await pushed(okta);
    const clockless = sending.org.composition.notifications.signals;
    trouble('SIGNAL-4');
    await sending.org.run('enforce');
    const store = clockless?.store;
    const due = async () => {
      const [stream] = (await store?.streams()) ?? [];
      await store?.change(stream?.id ?? '', { dueAt: 0 }, []);
      clockless?.changed();
    };
    for (let count = 1; count <= 3; count += 1) {
      await receiver.arrived(count);
      await expect.poll(async () => (await store?.streams())?.[0]?.failures, { timeout: 5_000 }).toBe(count);
      await due();
    }
    await receiver.arrived(5);
    const [first, ...again] = receiver.received.slice(0, 4).map(({ body }) => body);
    expect(again).toEqual([first, first, first]);
    expect(receiver.received[4]?.body).not.toBe(first);
    await expect.poll(async () => (await store?.streams())?.[0]).toMatchObject({ waiting: 0, failures: 0 });

    sending.org.console.fleet.banByHand('SIGNAL-4', 'FALSE');
    // What else failed does not count.
    receiver.answers.push(503, 503, ...Array.from({ length: 10 }, () => 400));
    trouble('SIGNAL-5');
    await sending.org.run('enforce');
    for (let count = 1; count < 12; count += 1) {
      await expect.poll(async () => (await store?.streams())?.[0]?.failures, { timeout: 5_000 }).toBe(count);
      await due();
    }
    await expect.poll(async () => (await store?.streams())?.[0]?.waiting).toBe(0);
    const entries = await sending.org.composition.engine.store.audit({ kind: 'stream.refused', limit: 5 });
    expect(entries.length).toBe(1);
  });

  it('for a receiver that the settings no longer have waits, and keeps no other from what is for it', async () => {
    const id = await pushed(await sending.as('okta'));
    await polled(await sending.as('jamf'));
    const out = sending.org.composition.notifications.signals as Transmitter;
    receiver.answers.push(503);
    trouble('SIGNAL-6');
    await sending.org.run('enforce');
    const states = async () => new Map((await out.store.streams()).map((stream) => [stream.receiver, stream]));
    await expect.poll(async () => (await states()).get('okta')?.failures).toBe(1);
    // An hour later it is alerted, for as long as it is a receiver.
    const { deps } = out as unknown as { deps: { clock: Clock } };
    deps.clock = { ...deps.clock, nowMs: () => systemClock.nowMs() + 3_600_000 };
    const alerted = async () => (await out.alerts()).map(({ about }) => about.receiver).sort();
    expect(await alerted()).toEqual(['jamf', 'okta']);
    // As after a start with a file that has no okta.
    (out.receivers as Map<string, unknown>).delete('okta');
    expect(await alerted()).toEqual(['jamf']);
    await out.store.change(id, { dueAt: 0 }, []);
    expect(await out.round(AbortSignal.timeout(60_000))).toBe('done');
    expect((await states()).get('okta')).toMatchObject({ failures: 1, dueAt: 0, waiting: 2 });
    expect((await states()).get('jamf')).toMatchObject({ waiting: 1 });
  });
});

describe('a receiver', () => {
  it('manages its own stream alone, as SSF 1.0 has it, and its token opens nothing else', async () => {
    const okta = await sending.as('okta');
    const jamf = await sending.as('jamf');
    const stranger = await sending.as('stranger');
    expect((await okta('GET', '/api/runs')).status).toBe(403);
    expect((await stranger('POST', STREAMS, {})).status).toBe(403);
    expect((await fetch(`${sending.url}${STREAMS}`)).status).toBe(401);
    expect((await okta('GET', STREAMS)).body).toEqual([]);

    const id = await pushed(okta, { authorization_header: 'Bearer canary-5f2c' });
    expect((await okta('POST', STREAMS, {})).status).toBe(409);
    const shown = {
      stream_id: id,
      iss: ISSUER,
      aud: 'https://okta.example/ssf',
      delivery: { method: PUSH, endpoint_url: `https://localhost:${receiver.port}/events` },
      events_supported: [COMPLIANCE, REVOKED],
      events_requested: [COMPLIANCE, REVOKED],
      events_delivered: [COMPLIANCE, REVOKED],
      min_verification_interval: 30,
    };
    expect(await okta('GET', `${STREAMS}?stream_id=${id}`)).toEqual({ status: 200, body: shown });
    expect((await okta('GET', STREAMS)).body).toEqual([shown]);
    for (const [method, path, body] of [
      ['GET', `${STREAMS}?stream_id=${id}`],
      ['PATCH', STREAMS, { stream_id: id, description: 'theirs' }],
      ['PUT', STREAMS, { stream_id: id }],
      ['DELETE', `${STREAMS}?stream_id=${id}`],
      ['GET', `/api/signals/status?stream_id=${id}`],
      ['POST', '/api/signals/status', { stream_id: id, status: 'disabled' }],
      ['POST', '/api/signals/subjects/remove', { stream_id: id, subject: { format: 'opaque', id: 'x' } }],
      ['POST', '/api/signals/verify', { stream_id: id }],
      ['POST', `/api/signals/poll/${id}`, {}],
    ] as const)
      expect((await jamf(method, path, body)).status, `${method} ${path}`).toBe(404);

    const patched = await okta('PATCH', STREAMS, {
      stream_id: id,
      events_requested: [COMPLIANCE],
      description: 'ours',
    });
    expect(patched.body).toEqual({
      ...shown,
      events_requested: [COMPLIANCE],
      events_delivered: [COMPLIANCE],
      description: 'ours',
    });
    expect((await okta('PATCH', STREAMS, { stream_id: id, aud: 'someone-else' })).status).toBe(400);
    expect((await okta('PATCH', STREAMS, patched.body)).status).toBe(200);
    const replaced = await okta('PUT', STREAMS, { stream_id: id, delivery: { method: POLL } });
    expect(replaced.body).toEqual({
      ...shown,
      delivery: { method: POLL, endpoint_url: `${ISSUER}/api/signals/poll/${id}` },
    });
    for (const endpoint_url of [
      'http://localhost/x',
      'https://elsewhere.example/x',
      'https://169.254.169.254/x',
      'nonsense',
    ])
      expect(
        (await okta('PATCH', STREAMS, { stream_id: id, delivery: { method: PUSH, endpoint_url } })).status,
        endpoint_url,
      ).toBe(400);
    expect((await okta('POST', `/api/signals/poll/${id}`, { ack: 'no list' })).status).toBe(400);
    expect((await okta('DELETE', `${STREAMS}?stream_id=${id}`)).status).toBe(204);
    expect((await okta('GET', `${STREAMS}?stream_id=${id}`)).status).toBe(404);
    const audited = await sending.org.composition.engine.store.audit({ limit: 1_000 });
    const own = audited.filter(({ kind }) => kind.startsWith('stream.')).reverse();
    expect(own.map(({ kind }) => kind)).toEqual([
      'stream.created',
      'stream.changed',
      'stream.changed',
      'stream.changed',
      'stream.removed',
    ]);
    expect(JSON.stringify(audited)).not.toContain('canary-5f2c');
  });

  it('verifies its stream with a state of its own, pushed or fetched, and not too often', async () => {
    const okta = await sending.as('okta');
    const id = await pushed(okta);
    const state = 'VGhpcyBpcyBhbiBleGFtcGxlIHN0YXRlIHZhbHVlLgo=';
    expect((await okta('POST', '/api/signals/verify', { stream_id: id, state })).status).toBe(204);
    await receiver.arrived(1);
    expect(await setOf(receiver.received[0]?.body ?? '', 'https://okta.example/ssf')).toMatchObject({
      event: VERIFICATION,
      subject: { format: 'opaque', id },
      body: { state },
    });
    expect((await okta('POST', '/api/signals/verify', { stream_id: id })).status).toBe(429);
    const jamf = await sending.as('jamf');
    const other = await polled(jamf);
    // A request that waits is answered by what comes.
    const waiting = jamf('POST', `/api/signals/poll/${other}`, {});
    expect((await jamf('POST', '/api/signals/verify', { stream_id: other })).status).toBe(204);
    const [text] = Object.values((await waiting).body.sets);
    expect(await setOf(String(text), 'jamf')).toMatchObject({ event: VERIFICATION, body: {} });
  });

  it('pauses its stream and gets later what happened, disables it and does not, and leaves out a subject', async () => {
    const jamf = await sending.as('jamf');
    const id = await polled(jamf);
    const status = (to: string) => jamf('POST', '/api/signals/status', { stream_id: id, status: to, reason: 'upkeep' });
    const poll = async () => {
      const { sets } = (await jamf('POST', `/api/signals/poll/${id}`, now)).body;
      await jamf('POST', `/api/signals/poll/${id}`, { ...now, ack: Object.keys(sets) });
      return Object.keys(sets).length;
    };
    expect((await status('paused')).body).toEqual({ stream_id: id, status: 'paused', reason: 'upkeep' });
    trouble('SIGNAL-6');
    await sending.org.run('enforce');
    expect(await poll()).toBe(0);
    await status('enabled');
    expect(await poll()).toBe(1);
    await status('disabled');
    trouble('SIGNAL-7');
    await sending.org.run('enforce');
    await status('enabled');
    expect(await poll()).toBe(0);
    const device = trouble('SIGNAL-8');
    const subject = { format: 'opaque', id: device };
    expect((await jamf('POST', '/api/signals/subjects/remove', { stream_id: id, subject })).status).toBe(204);
    await sending.org.run('enforce');
    expect(await poll()).toBe(0);
    const added = { stream_id: id, subject, verified: true };
    expect((await jamf('POST', '/api/signals/subjects/add', added)).status).toBe(200);
    sending.org.console.fleet.patchDevice(device, { mdm_compromised: 'FALSE' });
    await sending.org.run('enforce');
    expect(await poll()).toBe(1);
  });
});

it('our own receiver sets a stream up, verifies it and takes what is polled and what is pushed, each once', async () => {
  const [database] = databases();
  await database?.prepare();
  const open = await database?.open();
  if (!open) throw new Error('no database');
  try {
    const [jamf, okta] = [await sending.as('jamf'), await sending.as('okta')];
    const subjects = { issSub: 'serial', opaque: 'device_id', device: 'serial', map: {} } as const;
    const of = { issuer: ISSUER, heartbeatMs: 10_000, jwks: undefined, subjects };
    const us = idp({
      ...{ ...of, name: 'us', audience: ['jamf', 'jamf-two'], delivery: { method: 'poll', url: undefined } },
      stream: { endpoint: undefined, subjects: [] },
    });
    const list = [us, idp({ ...of, name: 'pushing', audience: ['https://okta.example/ssf'] })];
    const ask: PollerParts['ask'] = async (address, { method, body }) => {
      const answer = await jamf(method, address, body === undefined ? undefined : JSON.parse(body));
      return { status: answer.status, text: answer.body === undefined ? '' : JSON.stringify(answer.body) };
    };
    const box = open.store.signalBox();
    const parts = { transmitters: () => list, box, secretOf: async () => 'of jamf', clock: systemClock, log: silent };
    const readKeys = async () => (await ask(`${ISSUER}/.well-known/jwks.json`, { method: 'GET', headers: {} })).text;
    const receiving = new SignalReceiver({ ...parts, reader: open.store, readKeys, arrived: () => {} });
    const poller = new Poller({ ...parts, receiving, ask, newState: () => 'a state of ours' });
    await poller.once();
    await pushed(okta);
    trouble('SIGNAL-BOTH');
    await sending.org.run('enforce');
    await receiver.arrived(2);
    for (let round = 0; round < 3; round += 1) await poller.once();
    for (const { body } of [...receiver.received, ...receiver.received])
      expect(await receiving.receive('pushing', body, { type: 'application/secevent+jwt' })).toEqual({ status: 202 });
    const { events } = await open.store.newSignals();
    const found = events.map(({ transmitter, type, body }) => [transmitter, type, body.current_status]);
    expect(found.sort()).toEqual([
      ['pushing', COMPLIANCE, 'not-compliant'],
      ['pushing', REVOKED, undefined],
      ['us', COMPLIANCE, 'not-compliant'],
    ]);
    const states = await box.states();
    // The verification that it asked for came back: nothing is missing until then.
    expect(states.find(({ name }) => name === 'us')).toMatchObject({ stream: { status: 'enabled' } });
    expect(states.find(({ name }) => name === 'us')?.stream?.fault).toBeUndefined();
  } finally {
    await open.close();
    await database?.end();
  }
});
