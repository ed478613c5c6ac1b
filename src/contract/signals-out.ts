// contract: what a receiver of signals asks of the transmitter: the management of its stream as SSF 1.0 has it, and fetching (RFC 8936). No operations of
// the engine: their names, methods and members are those of the standards, which want unknown members ignored.
import { z } from 'zod';
import { POLL, PUSH, STREAM_STATUSES } from '../domain/signal-stream.ts';
import { entry } from './operation.ts';

const STREAMS = '/api/signals/streams';
const TEXT_MAX = 1_000;
const short = z.string().max(TEXT_MAX);
const id = short.min(1).describe('of the stream');
/** As RFC 9493 and SSF 1.0 have it. */
const subject = z.looseObject({ format: short.min(1) }).meta({ id: 'SignalSubject' });
const common = { scope: 'signals', tag: 'signals' } as const;
const none = { description: 'done' };

const delivery = z.discriminatedUnion('method', [
  z.looseObject({
    method: z.literal(PUSH),
    endpoint_url: z.string().max(4_000),
    authorization_header: z
      .string()
      .min(1)
      .max(4_000)
      .regex(/^[\x20-\x7e]+$/)
      .optional()
      .describe('never shown again'),
  }),
  z.looseObject({
    method: z.literal(POLL),
    endpoint_url: z.string().optional().describe('of the transmitter; ignored'),
  }),
]);
const asked = {
  delivery: delivery.optional().describe('without it: poll'),
  events_requested: z.array(short).max(100).optional().describe('without it: all that are supported'),
  description: short.optional(),
};
const shown = z.looseObject({
  stream_id: id,
  iss: z.string(),
  aud: z.union([z.string(), z.array(z.string())]),
  delivery: z.looseObject({ method: z.string(), endpoint_url: z.string() }),
  events_supported: z.array(z.string()),
  events_requested: z.array(z.string()),
  events_delivered: z.array(z.string()),
  min_verification_interval: z.int(),
  description: z.string().optional(),
});
export type ShownStream = z.infer<typeof shown>;
const one = { description: 'the stream', schema: shown.meta({ id: 'SignalStream' }) };
const named = z.looseObject({ stream_id: id });
const status = z
  .looseObject({ stream_id: id, status: z.enum(STREAM_STATUSES), reason: short.optional() })
  .meta({ id: 'SignalStreamStatus' });

export const SSF_CONFIGURATION = entry({
  id: 'getSsfConfiguration',
  method: 'GET',
  path: '/.well-known/ssf-configuration',
  scope: undefined,
  tag: 'signals',
  summary: 'Read where streams of signals are managed',
  description: 'The transmitter configuration of SSF 1.0. Only with TRUSTWARD_SIGNAL_RECEIVERS.',
  refusals: [404],
  answers: {
    200: { description: 'its metadata', schema: z.looseObject({ issuer: z.string(), jwks_uri: z.string() }) },
  },
});

export const SIGNAL_KEYS = entry({
  id: 'getSignalKeys',
  method: 'GET',
  path: '/.well-known/jwks.json',
  scope: undefined,
  tag: 'signals',
  summary: 'Read the public keys that signals are signed by',
  refusals: [404],
  answers: {
    200: { description: 'a JWKS', schema: z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })) }) },
  },
});

export const STREAM_CREATE = entry({
  ...common,
  id: 'createSignalStream',
  method: 'POST',
  path: STREAMS,
  summary: 'Begin a stream of signals',
  description: 'Of the receiver that the token is of: one stream each. It carries what is done from now on.',
  body: z.looseObject(asked),
  refusals: [404, 409],
  answers: { 201: one },
});

export const STREAM_READ = entry({
  ...common,
  id: 'getSignalStream',
  method: 'GET',
  path: STREAMS,
  summary: 'Read a stream, or without an id the list of those of the receiver',
  query: z.looseObject({ stream_id: id.optional() }),
  refusals: [404],
  answers: { 200: { description: 'the stream, or the list', schema: z.union([shown, z.array(shown)]) } },
});

export const STREAM_UPDATE = entry({
  ...common,
  id: 'updateSignalStream',
  method: 'PATCH',
  path: STREAMS,
  summary: 'Change what is given of a stream',
  body: named.extend(asked),
  refusals: [404],
  answers: { 200: one },
});

export const STREAM_REPLACE = entry({
  ...STREAM_UPDATE,
  id: 'replaceSignalStream',
  method: 'PUT',
  summary: 'Replace what was asked for of a stream',
});

export const STREAM_DELETE = entry({
  ...common,
  id: 'deleteSignalStream',
  method: 'DELETE',
  path: STREAMS,
  summary: 'End a stream: what waits in it is dropped',
  query: named,
  refusals: [404],
  answers: { 204: none },
});

export const STREAM_STATUS = entry({
  ...common,
  id: 'getSignalStreamStatus',
  method: 'GET',
  path: '/api/signals/status',
  summary: 'Read the status of a stream',
  query: named,
  refusals: [404],
  answers: { 200: { description: 'the status', schema: status } },
});

export const STREAM_SET_STATUS = entry({
  ...common,
  id: 'setSignalStreamStatus',
  method: 'POST',
  path: '/api/signals/status',
  summary: 'Pause, disable or enable a stream',
  description: 'What happens while it is paused waits; what happens while it is disabled is not for it.',
  body: status,
  refusals: [404],
  answers: { 200: { description: 'the status', schema: status } },
});

export const SUBJECT_ADD = entry({
  ...common,
  id: 'addSignalSubject',
  method: 'POST',
  path: '/api/signals/subjects/add',
  summary: 'Hear of a subject again that was removed',
  description: 'A stream has all subjects at its beginning.',
  body: named.extend({ subject, verified: z.boolean().optional() }),
  refusals: [404],
  answers: { 200: none },
});

export const SUBJECT_REMOVE = entry({
  ...common,
  id: 'removeSignalSubject',
  method: 'POST',
  path: '/api/signals/subjects/remove',
  summary: 'Hear no more of a subject',
  body: named.extend({ subject }),
  refusals: [404],
  answers: { 204: none },
});

export const STREAM_VERIFY = entry({
  ...common,
  id: 'verifySignalStream',
  method: 'POST',
  path: '/api/signals/verify',
  summary: 'Ask for a verification event',
  body: named.extend({ state: short.optional() }),
  refusals: [404],
  answers: { 204: none },
});

export const STREAM_POLL = entry({
  ...common,
  id: 'pollSignalStream',
  method: 'POST',
  path: '/api/signals/poll/:id',
  summary: 'Fetch signals that wait, and acknowledge others',
  description: 'RFC 8936. What is not acknowledged comes again. It waits up to 20 seconds for the first one.',
  params: z.object({ id }),
  body: z.looseObject({
    maxEvents: z.int().min(0).optional(),
    returnImmediately: z.boolean().optional(),
    ack: z.array(short).optional(),
    setErrs: z.record(short, z.looseObject({ err: short, description: short.optional() })).optional(),
  }),
  answers: {
    200: {
      description: 'the SETs by their `jti`',
      schema: z.looseObject({ sets: z.record(z.string(), z.string()), moreAvailable: z.boolean().optional() }),
    },
  },
});
