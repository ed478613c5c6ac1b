// http: the transmitter of signals: where its streams are managed, as SSF 1.0 has it, and fetched (RFC 8936). In: requests by the token of a receiver. Out: its
// own stream and no other. INVARIANT: the receiver comes from the token alone.

import { canonicalJson } from '../../../base/json.ts';
import * as asks from '../../../contract/signals-out.ts';
import type { Facts } from '../../../domain/facts.ts';
import {
  addressesOf,
  isSameSubject,
  POLL,
  PUSH,
  type SignalReceiver,
  type SignalsOut,
  type StreamSettings,
  type StreamState,
  WAITING_MAX,
} from '../../../domain/signal-stream.ts';
import type { HttpDeps } from '../deps.ts';
import { Problem, tooOften } from '../problem.ts';
import { type Ctx, json, param, type Route, routeOf } from '../route.ts';

const POLL_WAIT_MS = 20_000;
const SETS_USUAL = 100;
const SETS_MAX = 1_000;
const VERIFY_EVERY_S = 30;
const REMOVED_MAX = 1_000;

type Asked = {
  delivery?: { method: string; endpoint_url?: string; authorization_header?: string };
  events_requested?: string[];
  description?: string;
};

export function signalsOutRoutes({
  signalsOut,
  clock,
  stream: { ending },
}: Pick<HttpDeps, 'signalsOut' | 'clock' | 'stream'>): Route[] {
  const out = (): SignalsOut => {
    if (signalsOut) return signalsOut;
    throw notFound('no signals are sent: set TRUSTWARD_SIGNAL_RECEIVERS to a file of receivers');
  };
  const receiverOf = ({ var: { caller } }: Ctx): SignalReceiver => {
    const receiver = out().receivers.get(caller.name);
    if (receiver) return receiver;
    const detail = `the token \`${caller.name}\` is of no receiver: name it in the file of TRUSTWARD_SIGNAL_RECEIVERS`;
    throw new Problem(403, 'forbidden', 'The token is of no receiver', detail);
  };
  const ownStreams = async (receiver: SignalReceiver) =>
    (await out().store.streams()).filter((one) => one.receiver === receiver.name);
  const streamOf = async (context: Ctx, id: string): Promise<StreamState> => {
    const found = (await ownStreams(receiverOf(context))).find((one) => one.id === id);
    if (found) return found;
    throw notFound('this receiver has no stream of that id');
  };
  const shown = (receiver: SignalReceiver, stream: StreamSettings & { id: string }): asks.ShownStream => {
    const supported = [...receiver.events.keys()];
    const { requested = supported, endpoint = '', description } = stream;
    return {
      stream_id: stream.id,
      iss: out().issuer,
      aud: receiver.audience.length === 1 ? (receiver.audience[0] as string) : [...receiver.audience],
      delivery: {
        method: stream.method,
        endpoint_url: stream.method === PUSH ? endpoint : `${out().api}/poll/${stream.id}`,
      },
      events_supported: supported,
      events_requested: requested,
      events_delivered: requested.filter((type) => supported.includes(type)),
      min_verification_interval: VERIFY_EVERY_S,
      ...(description !== undefined && { description }),
    };
  };
  /** Errors: Problem 400 for an address that must not be used. */
  const settingsOf = (receiver: SignalReceiver, asked: Asked, before?: StreamSettings): StreamSettings => {
    const { delivery, events_requested: requested = before?.requested, description = before?.description } = asked;
    const { status = 'enabled', reason, removed = [] } = before ?? {};
    const rest = { requested, description, status, reason, removed };
    if (!delivery && before) return { ...before, ...rest };
    if (delivery?.method !== PUSH) return { ...rest, method: POLL };
    const { endpoint_url: endpoint = '', authorization_header: authorization } = delivery;
    const fault = out().endpointFault(receiver, endpoint);
    if (fault !== undefined) throw badRequest(`\`delivery.endpoint_url\`: ${fault}`);
    return { ...rest, method: PUSH, endpoint, authorization };
  };
  const changed = async (context: Ctx, asked: Asked & { stream_id: string }, isWhole: boolean) => {
    const receiver = receiverOf(context);
    const stream = await streamOf(context, asked.stream_id);
    const { delivery: _, events_requested: __, description: ___, ...ours } = shown(receiver, stream);
    const other = Object.entries(ours).find(
      ([name, value]) => name in asked && canonicalJson(asked[name as keyof typeof asked]) !== canonicalJson(value),
    );
    if (other) throw badRequest(`\`${other[0]}\` is the transmitter's: leave it out, or send it as it is`);
    const bare = { method: POLL, status: stream.status, reason: stream.reason, removed: stream.removed } as const;
    const settings = settingsOf(
      receiver,
      isWhole ? { delivery: { method: POLL }, ...asked } : asked,
      isWhole ? bare : stream,
    );
    const what = isWhole
      ? 'all of it'
      : ['delivery', 'events_requested', 'description'].filter((name) => name in asked).join(', ');
    await out().store.change(stream.id, { ...settings, dueAt: 0, failures: 0, note: undefined }, [
      { kind: 'stream.changed', body: { by: receiver.name, stream: stream.id, what, delivery: settings.method } },
    ]);
    out().changed();
    return json(shown(receiver, { ...settings, id: stream.id }));
  };
  const statusOf = ({ id: stream_id, status, reason, waiting }: StreamState) => {
    const why = waiting < WAITING_MAX ? reason : `${waiting} signals wait to be taken: it takes no more until then`;
    return { stream_id, status, ...(why !== undefined && { reason: why }) };
  };
  return [
    routeOf(asks.SSF_CONFIGURATION, () => json(metadataOf(out()))),
    routeOf(asks.SIGNAL_KEYS, async () => json({ keys: await out().publicKeys() })),
    routeOf(asks.STREAM_CREATE, async (context, asked) => {
      const receiver = receiverOf(context);
      const settings = settingsOf(receiver, asked as Asked);
      const id = out().newId();
      const body = { by: receiver.name, stream: id, delivery: settings.method };
      const isNew = await out().store.add(id, receiver.name, settings, [{ kind: 'stream.created', body }]);
      if (!isNew) {
        const detail = 'this receiver has a stream already: change it, or delete it first';
        throw new Problem(409, 'conflict', 'There is a stream', detail);
      }
      return json(shown(receiver, { ...settings, id }), 201);
    }),
    routeOf(asks.STREAM_READ, async (context, { stream_id }) => {
      const receiver = receiverOf(context);
      if (stream_id !== undefined) return json(shown(receiver, await streamOf(context, stream_id)));
      return json((await ownStreams(receiver)).map((stream) => shown(receiver, stream)));
    }),
    routeOf(asks.STREAM_UPDATE, (context, asked) => changed(context, asked as Asked & { stream_id: string }, false)),
    routeOf(asks.STREAM_REPLACE, (context, asked) => changed(context, asked as Asked & { stream_id: string }, true)),
    routeOf(asks.STREAM_DELETE, async (context, { stream_id }) => {
      const { id, receiver } = await streamOf(context, stream_id);
      await out().store.remove(id, [{ kind: 'stream.removed', body: { by: receiver, stream: id } }]);
      return done(204);
    }),
    routeOf(asks.STREAM_STATUS, async (context, { stream_id }) => json(statusOf(await streamOf(context, stream_id)))),
    routeOf(asks.STREAM_SET_STATUS, async (context, { stream_id, status, reason }) => {
      const stream = await streamOf(context, stream_id);
      const { id, receiver } = stream;
      const body = { by: receiver, stream: id, what: `status ${status}` };
      // What happens while it is disabled is not held, so it goes on from where the audit is then.
      const fromNow = stream.status !== status && [stream.status, status].includes('disabled');
      await out().store.change(id, { status, reason, dueAt: 0 }, [{ kind: 'stream.changed', body }], fromNow);
      out().changed();
      return json(statusOf(await streamOf(context, stream_id)));
    }),
    routeOf(asks.SUBJECT_ADD, async (context, { stream_id, subject }) => {
      const { id, receiver } = await streamOf(context, stream_id);
      const body = { by: receiver, stream: id, what: 'a subject was added' };
      await out().store.change(
        id,
        ({ removed }) => ({ removed: removed.filter((one) => !isSameSubject(one, subject as Facts)) }),
        [{ kind: 'stream.changed', body }],
      );
      return done(200);
    }),
    routeOf(asks.SUBJECT_REMOVE, async (context, { stream_id, subject }) => {
      const { id, receiver, removed } = await streamOf(context, stream_id);
      if (removed.length >= REMOVED_MAX) throw badRequest(`a stream leaves out ${REMOVED_MAX} subjects at most`);
      const body = { by: receiver, stream: id, what: 'a subject was removed' };
      const without = (all: Facts[]) => all.filter((one) => canonicalJson(one) !== canonicalJson(subject));
      await out().store.change(id, (now) => ({ removed: [...without(now.removed), subject as Facts] }), [
        { kind: 'stream.changed', body },
      ]);
      return done(204);
    }),
    routeOf(asks.STREAM_VERIFY, async (context, { stream_id, state }) => {
      const { id, verifiedAt = Number.NEGATIVE_INFINITY } = await streamOf(context, stream_id);
      const waitMs = Math.min(verifiedAt + VERIFY_EVERY_S * 1_000 - clock.nowMs(), VERIFY_EVERY_S * 1_000);
      if (waitMs > 0) throw tooOften(`a stream may be verified every ${VERIFY_EVERY_S} seconds`, waitMs);
      await out().store.change(id, { verifiedAt: clock.nowMs() }, []);
      await out().verify(id, state);
      return done(204);
    }),
    routeOf(asks.STREAM_POLL, async (context, { id, ack = [], setErrs = {}, ...asked }) => {
      const { receiver, method } = await streamOf(context, id);
      if (method !== POLL) throw badRequest('this stream is pushed: change its delivery to fetch from it');
      if (ack.length > 0) await out().store.taken(id, ack, clock.nowMs());
      for (const [jti, { err, description = '' }] of Object.entries(setErrs)) {
        const body = { receiver, jti, note: `${err} ${description}`.trim() };
        await out().store.taken(id, [jti], clock.nowMs(), [{ kind: 'stream.refused', body }]);
      }
      const max = Math.min(asked.maxEvents ?? SETS_USUAL, SETS_MAX);
      const waitMs = asked.returnImmediately || max === 0 ? 0 : POLL_WAIT_MS;
      const signal = AbortSignal.any([ending, context.req.raw.signal]);
      const { sets, more } = await out().poll(id, { max, waitMs, signal });
      const texts = Object.fromEntries(sets.map(({ jti, text }) => [jti, text]));
      return json({ sets: texts, ...(more && { moreAvailable: true }) });
    }),
  ];
}

/**
 * Of any organization, in the name of the endpoint: whether there is one, or it sends signals, shows in nothing but its keys. INVARIANT: it opens none.
 */
export function signalsOfAll(
  publicUrl: string | undefined,
  keysOf: ((id: string) => Promise<object[]>) | undefined,
): Route[] {
  const at = (context: Ctx) => {
    if (publicUrl === undefined) throw notFound('no signals are sent: set TRUSTWARD_PUBLIC_URL');
    return addressesOf(publicUrl, param(context, 'id'));
  };
  const open = { method: 'GET', scope: undefined } as const;
  return [
    { ...open, path: `${asks.SSF_CONFIGURATION.path}/orgs/:id`, handle: (context) => json(metadataOf(at(context))) },
    {
      ...open,
      path: `${asks.SIGNAL_KEYS.path}/orgs/:id`,
      handle: async (context) => json({ keys: (await keysOf?.(param(context, 'id'))) ?? [] }),
    },
  ];
}

export function isOfSignals(path: string): boolean {
  return [asks.SSF_CONFIGURATION.path, asks.SIGNAL_KEYS.path].some((one) => path.startsWith(`${one}/orgs/`));
}

function metadataOf({ issuer, api, keysAt }: Pick<SignalsOut, 'issuer' | 'api' | 'keysAt'>) {
  return {
    spec_version: '1_0',
    issuer,
    jwks_uri: keysAt,
    delivery_methods_supported: [PUSH, POLL],
    configuration_endpoint: `${api}/streams`,
    status_endpoint: `${api}/status`,
    add_subject_endpoint: `${api}/subjects/add`,
    remove_subject_endpoint: `${api}/subjects/remove`,
    verification_endpoint: `${api}/verify`,
    authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:6750' }],
    default_subjects: 'ALL',
  };
}

function done(status: number): Response {
  return new Response(null, { status });
}

function notFound(detail: string): Problem {
  return new Problem(404, 'not-found', 'Not found', detail);
}

function badRequest(detail: string): Problem {
  return new Problem(400, 'bad-request', 'The request is wrong', detail);
}
