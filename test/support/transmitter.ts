// support: a transmitter of signals in this process: it signs SETs with a real key, keeps what is polled until it is acknowledged, and has the management API of a
// stream. In: what a test queues. Out: a transmitter as `signals.yaml` has it, and answers to requests.
import { generateKeyPairSync } from 'node:crypto';
import type { Facts } from '../../src/domain/facts.ts';
import type { Clock } from '../../src/domain/ports.ts';
import { SIGNAL_EVENTS, type SignalBox, type Transmitter } from '../../src/domain/signal.ts';
import type { Asked } from '../../src/signals/poller.ts';
import { Receiver, type ReceiverParts } from '../../src/signals/receiver.ts';
import { readSigningKey, type SigningKey, signSet } from '../../src/signals/set.ts';
import { silent } from './engine-on-platform.ts';

export const IDP = 'https://idp.example.com/acme';
export const US = 'https://trustward.example.com';

export function idp(more: Partial<Transmitter> = {}): Transmitter {
  return {
    ...{ name: 'idp', issuer: IDP, audience: [US], jwks: undefined, events: undefined },
    ...{ pushBearer: undefined, bearer: undefined, stream: undefined },
    delivery: { method: 'push' },
    ...{ heartbeatMs: 60_000, keepsMs: 600_000, oldestMs: 7 * 86_400_000 },
    subjects: { issSub: 'email', opaque: 'map', device: 'serial', map: {} },
    ...more,
  };
}

export interface Idp {
  key: SigningKey;
  /** A signed SET of now. */
  set(jti: string, more?: Facts): Promise<string>;
  /** What is polled: it stays until it is acknowledged. */
  queue: Map<string, string>;
  setErrs: Facts;
  stream: { id?: string; status: string; requested: string[]; verified: string[]; added: Facts[] };
  requests: { path: string; method: string; body: Facts | undefined; authorization: string | undefined }[];
  ask: Asked;
}

export async function startIdp(clock: Pick<Clock, 'nowMs'>): Promise<Idp> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = await readSigningKey(privateKey.export({ type: 'pkcs8', format: 'pem' }) as string);
  const queue = new Map<string, string>();
  const stream: Idp['stream'] = { status: 'enabled', requested: [], verified: [], added: [] };
  const own: Idp = {
    key,
    queue,
    setErrs: {},
    stream,
    requests: [],
    set: (jti, more = {}) =>
      signSet(
        {
          ...{
            iss: IDP,
            aud: US,
            iat: clock.nowMs() / 1_000,
            jti,
            sub_id: { format: 'email', email: 'Ana@Example.com' },
          },
          events: { [SIGNAL_EVENTS.get('session-revoked') as string]: {} },
          ...more,
        },
        key,
      ),
    ask: async (address, { method, headers, body: text }) => {
      const { pathname } = new URL(address);
      const body = text === undefined ? undefined : (JSON.parse(text) as Facts);
      own.requests.push({ path: pathname, method, body, authorization: headers.Authorization });
      const answer = answerOf(own, method, pathname, body);
      return { status: answer === undefined ? 404 : 200, text: answer === '' ? '' : JSON.stringify(answer) };
    },
  };
  return own;
}

function answerOf(
  { queue, setErrs, stream, key }: Idp,
  method: string,
  path: string,
  body: Facts | undefined,
): unknown {
  const shown = () => ({
    ...{
      stream_id: stream.id,
      iss: IDP,
      aud: US,
      events_requested: stream.requested,
      events_delivered: stream.requested,
    },
    delivery: { method: 'urn:ietf:rfc:8936', endpoint_url: 'https://idp.example.com/poll' },
  });
  if (path === '/.well-known/ssf-configuration/acme') {
    const at = (name: string) => `https://idp.example.com/${name}`;
    return {
      ...{ issuer: IDP, jwks_uri: at('jwks'), configuration_endpoint: at('stream'), status_endpoint: at('status') },
      ...{ verification_endpoint: at('verify'), add_subject_endpoint: at('add') },
    };
  }
  if (path === '/jwks') return { keys: [key.publicKey] };
  if (path === '/status') return { stream_id: stream.id, status: stream.status };
  if (path === '/add') {
    stream.added.push(body?.subject as Facts);
    return '';
  }
  if (path === '/verify') {
    stream.verified.push(body?.state as string);
    return '';
  }
  if (path === '/stream') {
    if (method === 'GET') return stream.id === undefined ? [] : [shown()];
    stream.id ??= 'f67e39a0a4d34d56b3aa1bc4cff0069f';
    stream.requested = (body?.events_requested as string[]) ?? [];
    return shown();
  }
  if (path !== '/poll') return undefined;
  for (const jti of (body?.ack as string[] | undefined) ?? []) queue.delete(jti);
  for (const [jti, why] of Object.entries((body?.setErrs as Facts | undefined) ?? {})) {
    setErrs[jti] = why;
    queue.delete(jti);
  }
  const max = body?.maxEvents as number;
  return { sets: Object.fromEntries([...queue].slice(0, max)), moreAvailable: queue.size > max };
}

/** A receiver over a store; `transmitters` may change. */
export function receiverOf(
  store: ReceiverParts['reader'] & { signalBox(): SignalBox },
  own: Idp,
  clock: ReceiverParts['clock'],
  more: Partial<ReceiverParts> & { list: Transmitter[] },
): Receiver {
  return new Receiver({
    transmitters: () => more.list,
    box: store.signalBox(),
    reader: store,
    readKeys: async () => JSON.stringify({ keys: [own.key.publicKey] }),
    secretOf: async () => 'a secret of theirs',
    clock,
    log: silent,
    arrived: () => {},
    ...more,
  });
}
