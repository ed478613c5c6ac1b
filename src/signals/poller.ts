// signals: what asks transmitters: polls of SETs (RFC 8936), and the management of streams (SSF 1.0): set-up, status, verification. In: the transmitters of the rules in
// force. Out: SETs for the receiver, and proofs that nothing is missing. INVARIANT: a SET is acknowledged after its commit; an address is asked through the guard.
import { AppError, lineOf } from '../domain/errors.ts';
import { type Fact, type Facts, isFacts, own, ownText, ownTexts } from '../domain/facts.ts';
import type { Clock, Log } from '../domain/ports.ts';
import type { SecretPlace } from '../domain/secrets.ts';
import {
  type SignalBox,
  STREAM_UPDATED_EVENT,
  type StreamState,
  type Transmitter,
  VERIFICATION_EVENT,
} from '../domain/signal.ts';
import { parseExact } from '../platform/contract/exact-json.ts';
import { digestOfState, type Receiver } from './receiver.ts';

interface Request {
  method: 'GET' | 'POST' | 'PATCH';
  headers: Record<string, string>;
  body?: string;
  /** It may take a while. */
  isLong?: boolean;
}

/** Through the network guard. Errors: AppError. */
export type Asked = (address: string, request: Request) => Promise<{ status: number; text: string }>;

export interface PollerParts {
  transmitters(): readonly Transmitter[];
  receiving: Receiver;
  box: SignalBox;
  ask: Asked;
  secretOf(place: SecretPlace): Promise<string | undefined>;
  newState(): string;
  clock: Pick<Clock, 'nowMs' | 'sleep'>;
  log: Log;
}

/** What its configuration document says. */
interface Configuration {
  jwks_uri: string | undefined;
  configuration_endpoint: string | undefined;
  status_endpoint: string | undefined;
  verification_endpoint: string | undefined;
  add_subject_endpoint: string | undefined;
}

const PUSH = 'urn:ietf:rfc:8935';
const POLL = 'urn:ietf:rfc:8936';
const SETS_MAX = 200;
/** One round of polls ends then, however much there is: others come next. */
const POLLS_MAX = 50;
/** Between rounds, and after one that failed. */
const EVERY_MS = 5_000;
/** A long poll proves nothing until it is answered: with less between two proofs they are short ones. */
const LONG_FROM_MS = 120_000;
const FAILED_MS = { first: 5_000, most: 300_000 };

export class Poller {
  /** Those that gave something in this round. */
  private readonly gave = new Set<string>();

  constructor(private readonly parts: PollerParts) {}

  /** Each transmitter by itself, until the process ends: a slow one holds up no other. Never rejects. */
  async untilEnding(ending: AbortSignal): Promise<void> {
    const running = new Map<string, Promise<void>>();
    while (!ending.aborted) {
      for (const { name } of this.asking())
        if (!running.has(name))
          running.set(
            name,
            this.loop(name, ending).finally(() => running.delete(name)),
          );
      await this.parts.clock.sleep(EVERY_MS, ending).catch(() => {});
    }
    await Promise.all(running.values());
  }

  /** Of a process that asks now and then. Never rejects. */
  async once(): Promise<void> {
    await Promise.all(this.asking().map((one) => this.round(one, false)));
  }

  private asking(): Transmitter[] {
    return this.parts.transmitters().filter(({ delivery, stream }) => delivery.method === 'poll' || stream);
  }

  private async loop(name: string, ending: AbortSignal): Promise<void> {
    let failedMs = 0;
    while (!ending.aborted) {
      const one = this.asking().find((each) => each.name === name);
      if (!one) return;
      this.gave.delete(name);
      const isGood = await this.round(one, failedMs === 0 && one.heartbeatMs >= LONG_FROM_MS);
      // Of a long queue some polls fail: who gets on waits no longer each time.
      const longer = this.gave.has(name) ? 0 : failedMs * 2;
      failedMs = isGood ? 0 : Math.min(Math.max(longer, FAILED_MS.first), FAILED_MS.most);
      await this.parts.clock.sleep(failedMs || EVERY_MS, ending).catch(() => {});
    }
  }

  /** Whether all went well. What fails is shown with the transmitter. */
  private async round(transmitter: Transmitter, isLong: boolean): Promise<boolean> {
    const { box, receiving, clock, log } = this.parts;
    const { name } = transmitter;
    let state: StreamState | undefined;
    try {
      state = (await box.states()).find((one) => one.name === name)?.stream;
      if (transmitter.stream) state = await this.tended(transmitter, state);
      if (transmitter.delivery.method === 'poll') await this.polled(transmitter, state, isLong);
      if (state?.fault)
        await receiving.contact(transmitter, { proven: undefined, stream: { ...state, fault: undefined } });
      return true;
    } catch (error) {
      const text = lineOf(error);
      if (error instanceof AppError && error.code === 'stopped') return false;
      if (state?.fault?.text === text) return false;
      log.warn({ transmitter: name }, `the transmitter \`${name}\` cannot be asked: ${text}`);
      const fault = { text, sinceMs: state?.fault?.sinceMs ?? clock.nowMs() };
      const stream: StreamState = { status: 'unknown', ...state, fault };
      await receiving.contact(transmitter, { proven: undefined, stream }).catch(() => {});
      return false;
    }
  }

  // Polls.

  private async polled(transmitter: Transmitter, state: StreamState | undefined, isLong: boolean): Promise<void> {
    const { clock, receiving } = this.parts;
    const { delivery, keepsMs } = transmitter;
    const address = (delivery.method === 'poll' ? delivery.url : undefined) ?? state?.pollAt;
    if (address === undefined) throw new AppError('api_answer', 'its stream names no address to poll');
    let answers: { ack: string[]; setErrs: Facts } = { ack: [], setErrs: {} };
    let acknowledged = new Set<string>();
    for (let polls = 0; polls < POLLS_MAX; polls += 1) {
      const askedMs = clock.nowMs();
      const hasAnswers = answers.ack.length + Object.keys(answers.setErrs).length > 0;
      // What was committed is acknowledged at once, and not when something new comes.
      const returnImmediately = !isLong || hasAnswers;
      const { sets, more } = await this.poll(transmitter, address, { ...answers, returnImmediately });
      if (sets.length === 0 && !more) {
        const isOff = state?.status === 'paused' || state?.status === 'disabled';
        if (!isOff) await receiving.contact(transmitter, { proven: { fromMs: askedMs - keepsMs, toMs: askedMs } });
        return;
      }
      if (sets.length > 0 && sets.every(([jti]) => acknowledged.has(jti)))
        throw new AppError('api_answer', 'it sends again what was acknowledged, so that nothing shows what is new');
      answers = await this.takenOf(transmitter, sets);
      acknowledged = new Set(answers.ack);
      // What is to be sent again is not asked for in a circle.
      if (answers.ack.length + Object.keys(answers.setErrs).length === 0 && sets.length > 0) return;
    }
  }

  private async poll(
    transmitter: Transmitter,
    address: string,
    { ack, setErrs, returnImmediately }: { ack: string[]; setErrs: Facts; returnImmediately: boolean },
  ): Promise<{ sets: [jti: string, text: string][]; more: boolean }> {
    const body = {
      maxEvents: SETS_MAX,
      returnImmediately,
      ...(ack.length > 0 && { ack }),
      ...(Object.keys(setErrs).length > 0 && { setErrs }),
    };
    const answer = await this.asked(transmitter, address, { method: 'POST', body, isLong: !returnImmediately });
    const sets = own(answer, 'sets');
    const more = own(answer, 'moreAvailable') === true;
    if (sets !== undefined && !isFacts(sets)) throw new AppError('api_answer', 'its answer to a poll has no `sets`');
    const all = Object.entries(sets ?? {}).slice(0, SETS_MAX);
    return { sets: all.map(([jti, text]) => [jti, typeof text === 'string' ? text : '']), more };
  }

  private async takenOf(
    transmitter: Transmitter,
    sets: [string, string][],
  ): Promise<{ ack: string[]; setErrs: Facts }> {
    const [ack, setErrs]: [string[], Facts] = [[], {}];
    await Promise.all(
      sets.map(async ([jti, text]) => {
        const taken = await this.parts.receiving.take(transmitter, text);
        if (taken === 'committed') ack.push(jti);
        else if ('refused' in taken) {
          const { err, description } = taken.refused;
          Object.defineProperty(setErrs, jti, { value: { err, description }, enumerable: true, configurable: true });
        }
      }),
    );
    if (ack.length > 0) this.gave.add(transmitter.name);
    return { ack, setErrs };
  }

  // The stream.

  private async tended(transmitter: Transmitter, before: StreamState | undefined): Promise<StreamState> {
    const { receiving, clock } = this.parts;
    const { issuer, heartbeatMs } = transmitter;
    const known: StreamState = before ?? { status: 'unknown' };
    const isDue = known.id === undefined || clock.nowMs() - (known.asked?.atMs ?? known.tendedAt ?? 0) >= heartbeatMs;
    if (!isDue) return known;
    const at = await this.configurationOf(issuer);
    const stream = await this.streamOf(transmitter, at, known);
    const status = (await this.statusOf(transmitter, at, stream.id)) ?? known.status;
    const wasOff = known.status === 'paused' || known.status === 'disabled';
    const nowMs = clock.nowMs();
    const proven = status === 'enabled' && wasOff ? { fromMs: nowMs, toMs: nowMs, isAnew: true } : undefined;
    const next: StreamState = { ...known, ...stream, status, tendedAt: nowMs };
    if (at.verification_endpoint === undefined) {
      await receiving.contact(transmitter, { proven, stream: next });
      return next;
    }
    const state = this.parts.newState();
    const asking = { ...next, asked: { state: digestOfState(state), atMs: nowMs } };
    // Before it is asked for: the event may come before the answer.
    await receiving.contact(transmitter, { proven, stream: asking });
    const body = { stream_id: stream.id, state };
    await this.asked(transmitter, at.verification_endpoint, { method: 'POST', body });
    return asking;
  }

  /** Errors: AppError. */
  async configurationOf(issuer: string): Promise<Configuration> {
    const url = new URL(issuer);
    const path = url.pathname.replace(/\/+$/, '');
    const address = `${url.origin}/.well-known/ssf-configuration${path}`;
    const { status, text } = await this.parts.ask(address, { method: 'GET', headers: {} });
    if (status !== 200)
      throw new AppError('api_answer', `its configuration document is answered with status ${status}`);
    const found = parsed(text);
    if (ownText(found, 'issuer') !== issuer)
      throw new AppError('api_answer', 'its configuration document names another issuer');
    const endpoint = (name: string) => ownText(found, name);
    return {
      jwks_uri: endpoint('jwks_uri'),
      configuration_endpoint: endpoint('configuration_endpoint'),
      status_endpoint: endpoint('status_endpoint'),
      verification_endpoint: endpoint('verification_endpoint'),
      add_subject_endpoint: endpoint('add_subject_endpoint'),
    };
  }

  /** The one that there is, changed where it is not as configured, or a new one. */
  private async streamOf(
    transmitter: Transmitter,
    { configuration_endpoint: at, add_subject_endpoint: addAt }: Configuration,
    known: StreamState,
  ): Promise<Pick<StreamState, 'id' | 'pollAt'>> {
    if (at === undefined)
      throw new AppError('api_answer', 'its configuration document names no configuration endpoint');
    const wanted = await this.wantedOf(transmitter);
    const all = await this.asked(transmitter, at, { method: 'GET' });
    const streams = (Array.isArray(all) ? all : [all]).filter(isFacts);
    const isOurs = (one: Facts) =>
      known.id === undefined
        ? ownText(own(one, 'delivery'), 'method') === wanted.delivery.method &&
          (wanted.delivery.endpoint_url === undefined ||
            ownText(own(one, 'delivery'), 'endpoint_url') === wanted.delivery.endpoint_url)
        : ownText(one, 'stream_id') === known.id;
    const found = streams.find(isOurs);
    const stream = found
      ? await this.updated(transmitter, at, found, wanted)
      : await this.asked(transmitter, at, { method: 'POST', body: wanted });
    const id = ownText(stream, 'stream_id');
    if (id === undefined) throw new AppError('api_answer', 'its stream has no `stream_id`');
    if (ownText(stream, 'iss') !== transmitter.issuer)
      throw new AppError('api_answer', 'its stream is of another issuer');
    const audience = ownTexts(stream, 'aud') ?? [ownText(stream, 'aud')];
    if (!audience.some((one) => one !== undefined && transmitter.audience.includes(one)))
      throw new AppError('api_answer', 'its stream is for another audience than signals.yaml has');
    for (const subject of found || addAt === undefined ? [] : (transmitter.stream?.subjects ?? []))
      await this.asked(transmitter, addAt as string, {
        method: 'POST',
        body: { stream_id: id, subject, verified: true },
      });
    return { id, pollAt: ownText(own(stream, 'delivery'), 'endpoint_url') };
  }

  private async wantedOf({ delivery, stream, events, pushBearer }: Transmitter) {
    const secret = pushBearer && (await this.parts.secretOf(pushBearer));
    return {
      delivery:
        delivery.method === 'poll'
          ? { method: POLL, endpoint_url: undefined }
          : {
              method: PUSH,
              endpoint_url: stream?.endpoint,
              ...(secret !== undefined && { authorization_header: `Bearer ${secret}` }),
            },
      ...(events && { events_requested: [...events, VERIFICATION_EVENT, STREAM_UPDATED_EVENT] }),
      description: 'Trustward',
    };
  }

  private async updated(
    transmitter: Transmitter,
    at: string,
    found: Facts,
    { events_requested: wanted }: { events_requested?: string[] | undefined },
  ): Promise<Fact | undefined> {
    const asked = new Set(ownTexts(found, 'events_requested'));
    if (!wanted || wanted.every((type) => asked.has(type))) return found;
    const body = { stream_id: own(found, 'stream_id') as string, events_requested: wanted };
    return this.asked(transmitter, at, { method: 'PATCH', body });
  }

  private async statusOf(
    transmitter: Transmitter,
    { status_endpoint: at }: Configuration,
    id: string | undefined,
  ): Promise<StreamState['status'] | undefined> {
    if (at === undefined || id === undefined) return undefined;
    const url = new URL(at);
    url.searchParams.set('stream_id', id);
    const status = ownText(await this.asked(transmitter, url.href, { method: 'GET' }), 'status');
    return status === 'enabled' || status === 'paused' || status === 'disabled' ? status : undefined;
  }

  /** Undefined for an empty answer. Errors: AppError. */
  private async asked(
    { bearer }: Transmitter,
    address: string,
    { method, body, isLong = false }: { method: Request['method']; body?: object; isLong?: boolean },
  ): Promise<Fact | undefined> {
    const secret = bearer && (await this.parts.secretOf(bearer));
    if (bearer && !secret) {
      const place = 'env' in bearer ? bearer.env : `${bearer.file} in TRUSTWARD_SIGNALS`;
      throw new AppError('config', `its credential cannot be read: ${place}`);
    }
    const { status, text } = await this.parts.ask(address, {
      method,
      headers: {
        ...(body && { 'Content-Type': 'application/json', 'Content-Language': 'en' }),
        ...(secret && { Authorization: `Bearer ${secret}` }),
      },
      ...(body && { body: JSON.stringify(body) }),
      isLong,
    });
    if (status < 200 || status >= 300)
      throw new AppError('api_answer', `\`${new URL(address).host}\` answers with status ${status}`);
    return text.trim() === '' ? undefined : parsed(text);
  }
}

function parsed(text: string): Fact {
  const value = parseExact(text);
  if (typeof value !== 'object' || value === null) throw new AppError('api_answer', 'its answer is no JSON object');
  return value as Fact;
}
