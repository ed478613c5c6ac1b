// test: each example of the standards, put through our receiver and our transmitter: what is made of it. In: the table in messages.yaml. Out: verdicts with the names
// that are found, and answers over HTTP, to requests without a content type as the examples have them.
import { readFileSync } from 'node:fs';
import { CompactSign } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Facts } from '../../src/domain/facts.ts';
import {
  SIGNAL_EVENTS,
  STREAM_UPDATED_EVENT,
  type StreamState,
  shownSignalEvent,
  signalEventOf,
} from '../../src/domain/signal.ts';
import { isSameSubject } from '../../src/domain/signal-stream.ts';
import { type Asked, Poller } from '../../src/signals/poller.ts';
import { TransmitterKeys, verifySet } from '../../src/signals/set.ts';
import { namesOf } from '../../src/signals/subject-names.ts';
import { silent } from '../support/engine-on-platform.ts';
import { FakeClock } from '../support/platform.ts';
import { type Idp, idp, receiverOf, startIdp } from '../support/transmitter.ts';
import { ISSUER, startTransmitting, VERIFICATION } from '../support/transmitting.ts';

interface Example {
  at: string;
  header?: Facts;
  claims?: Facts;
  subject?: Facts;
  event: string;
  body?: Facts;
  /** Absent: the subject as it is written. */
  meant?: Facts;
  names?: Facts;
  refused?: string;
}
interface Asking {
  at: string;
  ask: string;
  body?: object;
  status: number;
  answer?: object;
  without?: string;
  sets?: string[];
}
const TEXT = readFileSync(new URL('messages.yaml', import.meta.url), 'utf8');
const { sets, matching, asked } = parse(TEXT) as {
  sets: Example[];
  matching: { at: string; removed: Facts; sent: Facts; same: boolean }[];
  asked: Asking[];
};

describe('to our receiver', () => {
  const clock = new FakeClock();
  const mapping = { ...idp().subjects, device: 'serial', issSub: 'email' } as const;
  let own: Idp;
  let keys: TransmitterKeys;
  beforeAll(async () => {
    own = await startIdp(clock);
    keys = new TransmitterKeys(async () => JSON.stringify({ keys: [own.key.publicKey] }), clock);
  });
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

  it.each(sets)('$at', async ({ header, event, body = {}, claims: more, subject, meant = subject, names, refused }) => {
    const type = signalEventOf(event) as string;
    const iat = clock.now / 1_000;
    const claims = { iss: 'https://idp.example.com/', aud: '636C69656E745F6964', iat, jti: '756E69717565', ...more };
    const bytes = Buffer.from(JSON.stringify({ ...claims, sub_id: subject, events: { [type]: body } }));
    const head = { alg: own.key.alg, kid: own.key.kid, typ: 'secevent+jwt', ...header };
    const text =
      header?.alg === undefined
        ? await new CompactSign(bytes).setProtectedHeader(head).sign(own.key.key)
        : `${part(head)}.${bytes.toString('base64url')}.${header.alg === 'none' ? '' : 'AAAA'}`;
    const audience = [[claims.aud].flat()[0] as string];
    const verdict = await verifySet(text, { issuer: claims.iss, audience, keys, nowMs: clock.now });
    if (refused !== undefined) return expect(verdict).toMatchObject({ refused: { reason: refused } });
    const happenedAtMs = (typeof body.event_timestamp === 'number' ? body.event_timestamp : iat) * 1_000;
    expect(verdict).toMatchObject({ set: { event: type, body, happenedAtMs, subject: meant } });
    const found = await namesOf(meant as Facts, mapping, { identitiesNamed: async () => [] });
    expect(JSON.parse(JSON.stringify(found))).toEqual({ ...names, isKnown: false });
  });

  it('has one of each event of CAEP, RISC and SSF', () => {
    const shown = new Set(
      sets.filter(({ refused }) => refused === undefined).map(({ event }) => shownSignalEvent(event)),
    );
    expect([...SIGNAL_EVENTS.keys()].filter((name) => !shown.has(name))).toEqual([]);
  });
});

it.each(matching)('subjects are compared: $at', ({ removed, sent, same }) => {
  expect([isSameSubject(removed, sent), isSameSubject(sent, removed)]).toEqual([same, same]);
});

it('to our transmitter, each request is answered as the standards have it', async () => {
  const sending = await startTransmitting({ devices: 1 });
  try {
    const metadata = await fetch(`${sending.url}/.well-known/ssf-configuration`);
    expect(metadata.headers.get('content-type')).toBe('application/json');
    const known = (await metadata.json()) as Record<string, string>;
    expect(known).toMatchObject({ spec_version: '1_0', issuer: ISSUER, default_subjects: 'ALL' });
    expect(known.delivery_methods_supported).toEqual(['urn:ietf:rfc:8935', 'urn:ietf:rfc:8936']);
    const token = await sending.token('okta');
    const store = sending.org.composition.notifications.signals?.store;
    const ids: Record<string, string> = {
      A: '3d0c3cf797584bd193bd0fb1bd4e7d30',
      B: '4d3559ec67504aaba65d40b0363faad8',
    };
    const named = (text: string) => text.replace(/\b(ID|A|B|C)\b/g, (name) => ids[name] ?? name);
    for (const { at, ask, body, status, answer, without, sets: waiting } of asked) {
      const [method = '', path = ''] = ask.split(' ');
      const answered = await fetch(`${sending.url}/api/signals/${named(path)}`, {
        ...{ method, headers: { Authorization: `Bearer ${token}` } },
        ...(body && { body: new TextEncoder().encode(named(JSON.stringify(body))) }),
      });
      const text = await answered.text();
      expect([at, answered.status, text]).toEqual([at, status, expect.any(String)]);
      expect([at, answered.headers.get('cache-control')]).toEqual([at, 'no-store']);
      if (status >= 400) continue;
      const given = text === '' ? undefined : JSON.parse(text);
      if (given?.stream_id !== undefined) ids.ID ??= given.stream_id;
      if (waiting === undefined && answer === undefined && without === undefined) expect([at, text]).toEqual([at, '']);
      if (answer) expect(given, at).toMatchObject(JSON.parse(named(JSON.stringify(answer))));
      if (without !== undefined) expect(given, at).not.toHaveProperty(without);
      if (waiting?.includes('C')) ids.C ??= Object.keys(given.sets)[2] ?? '';
      if (waiting) expect(Object.keys(given.sets), at).toEqual(waiting.map(named));
      if (waiting?.length === 3) {
        const verified = await sending.verified(given.sets[named('C')], 'https://okta.example/ssf');
        const state = 'VGhpcyBpcyBhbiBleGFtcGxlIHN0YXRlIHZhbHVlLgo=';
        expect(verified).toMatchObject({
          set: { event: VERIFICATION, subject: { format: 'opaque', id: ids.ID }, body: { state } },
        });
      }
      if (ask === 'POST verify' && status === 204) {
        // The examples of RFC 8936 wait before it.
        const [stream] = (await store?.streams()) ?? [];
        const two = ['A', 'B'].map((name) => ({ jti: ids[name] as string, seq: 0, at: 0, text: `eyJ.${name}` }));
        await store?.collect(stream?.id ?? '', stream?.seq ?? 0, stream?.seq ?? 0, two);
      }
    }
    const [refused] = await sending.org.composition.engine.store.audit({ kind: 'stream.refused', limit: 5 });
    expect(JSON.parse(refused?.bytes ?? '{}').body).toEqual({
      ...{ receiver: 'okta', jti: ids.C },
      note: 'authentication_failed The SET could not be authenticated',
    });
  } finally {
    await sending.stop();
  }
});

it('a transmitter that answers as the examples of SSF 1.0 do is set up, and known to be paused', async () => {
  const clock = new FakeClock();
  const [tr, stream_id] = ['https://tr.example.com', 'f67e39a0a4d34d56b3aa1bc4cff0069f'];
  const types = [2, 3].map((number) => `urn:example:secevent:events:type_${number}`);
  const us = ['https://receiver.example.com/web', 'https://receiver.example.com/mobile'];
  const delivery = { method: 'urn:ietf:rfc:8935', endpoint_url: 'https://receiver.example.com/events' };
  const shown = { stream_id, iss: tr, aud: us, delivery, events_supported: types, events_delivered: types };
  const at = `${tr}/ssf/mgmt`;
  const answers: Record<string, [number, unknown?]> = {
    [`GET ${tr}/.well-known/ssf-configuration/issuer1`]: [
      200,
      {
        ...{ spec_version: '1_0', issuer: `${tr}/issuer1/`, jwks_uri: `${tr}/jwks.json`, default_subjects: 'NONE' },
        ...{ configuration_endpoint: `${at}/stream`, status_endpoint: `${at}/status` },
        ...{ add_subject_endpoint: `${at}/subject:add`, remove_subject_endpoint: `${at}/subject:remove` },
        ...{ verification_endpoint: `${at}/verification`, critical_subject_members: ['tenant', 'user'] },
        authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:6749' }, { spec_urn: 'urn:ietf:rfc:8705' }],
      },
    ],
    [`GET ${at}/stream`]: [200, []],
    [`POST ${at}/stream`]: [201, { ...shown, iss: `${tr}/issuer1/` }],
    [`POST ${at}/subject:add`]: [200],
    [`GET ${at}/status?stream_id=${stream_id}`]: [
      200,
      { stream_id, status: 'paused', reason: 'SYSTEM_DOWN_FOR_MAINTENANCE' },
    ],
    [`POST ${at}/verification`]: [204],
  };
  const sent: unknown[] = [];
  const kept: (StreamState | undefined)[] = [];
  const box = {
    receive: async ({ stream }: { stream?: StreamState | undefined }) => {
      kept.push(stream);
      return { repeated: 0, waiting: 0 };
    },
    states: async () => [],
  };
  const subject: Facts = { format: 'email', email: 'example.user@example.com' };
  const one = idp({
    ...{ issuer: `${tr}/issuer1/`, audience: [us[1] as string], events: types },
    stream: { endpoint: delivery.endpoint_url, subjects: [subject] },
  });
  const receiving = receiverOf(
    { signalBox: () => box, identitiesNamed: async () => [] },
    await startIdp(clock),
    clock,
    {
      list: [one],
    },
  );
  const parts = { transmitters: () => [one], receiving, box, secretOf: async () => undefined, clock, log: silent };
  const ask: Asked = async (address, { method, headers, body }) => {
    const [status, answer] = answers[`${method} ${address}`] ?? [404];
    if (body !== undefined) sent.push([new URL(address).pathname, headers['Content-Language'], JSON.parse(body)]);
    return { status, text: answer === undefined ? '' : JSON.stringify(answer) };
  };
  await new Poller({ ...parts, ask, newState: () => 'a state' }).once();
  const { id, status, fault } = kept.at(-1) ?? {};
  expect([id, status, fault]).toEqual([stream_id, 'paused', undefined]);
  expect(sent).toEqual([
    [
      '/ssf/mgmt/stream',
      'en', // RFC 8936 §2.6 asks for it where errors are described
      { delivery, events_requested: [...types, VERIFICATION, STREAM_UPDATED_EVENT], description: 'Trustward' },
    ],
    ['/ssf/mgmt/subject:add', 'en', { stream_id, subject, verified: true }],
    ['/ssf/mgmt/verification', 'en', { stream_id, state: 'a state' }],
  ]);
});
