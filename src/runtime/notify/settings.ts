// notify: the configured webhooks. In: configuration names and the file that they name. Out: checked settings, or
// faults that each name the webhook, what is wrong and what to do. It never repeats a secret.

import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { parseDuration } from '../../base/time.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import { EVENT_SCHEMAS, type EventSchema, LIVE_EVENTS, type LiveEvent } from '../../domain/live-event.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import { shownAddress } from '../../domain/secrets.ts';
import { SIGNAL_EVENTS } from '../../domain/signal.ts';
import { SENT_EVENTS, type SignalReceiver } from '../../domain/signal-stream.ts';
import { CHATS, type Chat } from './chat.ts';

// One request over https, only to addresses that were checked, never redirected. In: a destination, a method, headers, a body. Out:
// whether it was accepted. It never throws, and its note never repeats the path, which often holds a secret.

// The addresses that a webhook may reach. In: a host name, resolved here. Out: its addresses, all of them public.
// INVARIANT: exactly these addresses are connected to; resolving the name again could give others.

/** The only public addresses of IPv6. All others are special, or not given to anyone. */
const PUBLIC_V6 = ipaddr.IPv6.parseCIDR('2000::/3');
/** `::1.2.3.4` is not mapped, but the library reads it as if it were. */
const COMPATIBLE = /^::[^:]+\./;
/** A gateway passes these on to the IPv4 address in their last four bytes. */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/**
 * Whether an address is on the public internet. An IPv4 address that is mapped (`::ffff:…`) or behind NAT64 counts as
 * itself. Every other form that leads to an IPv4 address is refused.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text) || COMPATIBLE.test(text)) return false;
  const address = ipaddr.process(text);
  if (address instanceof ipaddr.IPv4) return address.range() === 'unicast';
  if (address.match(NAT64)) return new ipaddr.IPv4(address.toByteArray().slice(12)).range() === 'unicast';
  return address.range() === 'unicast' && address.match(PUBLIC_V6);
}

/** Where clouds give the credentials of a machine to whoever asks from it: no receiver, whatever is allowed. */
function isMetadataAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  return address.range() === 'linkLocal' || METADATA.has(address.toString());
}

const METADATA = new Set(['fd00:ec2::254', '100.100.100.200', '168.63.129.16', '192.0.0.192']);

export type Resolve = (host: string) => Promise<LookupAddress[]>;

const resolveBySystem: Resolve = (host) => lookup(host, { all: true, verbatim: true });

/**
 * All addresses of a host. Errors: AppError `usage` when any of them is not public and that is not allowed, or is one of metadata: a name with
 * one public and one private address is an attack or a mistake, so it is not used.
 */
export async function publicAddressesOf(
  host: string,
  allowPrivate: boolean,
  resolve: Resolve = resolveBySystem,
): Promise<LookupAddress[]> {
  const addresses = await resolve(host.replace(/^\[|\]$/g, ''));
  const isRefused = (address: string) => isMetadataAddress(address) || !(allowPrivate || isPublicAddress(address));
  const refused = addresses.find(({ address }) => isRefused(address));
  if (refused) throw new AppError('usage', `\`${host}\` resolves to ${refused.address}, which is not a public address`);
  if (addresses.length === 0) throw new AppError('usage', `\`${host}\` has no address`);
  return addresses;
}

/** `status`: of an answer that came. */
export type Delivery = { ok: boolean; note: string; status?: number };

export interface Destination {
  url: URL;
  timeoutMs: number;
  /** Loopback and private addresses may be connected to. */
  allowPrivate: boolean;
  /** A private certificate authority, as PEM. */
  ca: string | undefined;
}

interface Sent {
  method: 'GET' | 'POST' | 'PATCH';
  headers: Record<string, string>;
  body?: string;
}

/** The note describes the failure. Only the status of the answer counts. */
export async function sendChecked(
  destination: Destination,
  sent: Sent,
  signal: AbortSignal,
  resolve?: Resolve,
): Promise<Delivery> {
  try {
    const { status } = await askChecked(destination, sent, signal, { resolve });
    if (status >= 200 && status < 300) return { ok: true, note: `status ${status}`, status };
    const redirect = status >= 300 && status < 400 ? ': a redirect, which is not followed' : '';
    return { ok: false, note: `status ${status}${redirect}`, status };
  } catch (error) {
    return { ok: false, note: faultWords(error) };
  }
}

export interface Answered {
  status: number;
  /** Names in lower case. */
  headers: IncomingMessage['headers'];
  /** Empty where none was asked for. */
  text: string;
}

/**
 * The same request with its answer, in time and whole. `bytesMax`: of its body; 0: it is not read. Errors: AppError `usage` for an address that may not be
 * reached, `api_answer` for a body that is too long, `api_unreachable` for none in time; those of node:https.
 */
export async function askChecked(
  destination: Destination,
  sent: Sent,
  signal: AbortSignal,
  { bytesMax = 0, resolve }: { bytesMax?: number; resolve?: Resolve | undefined } = {},
): Promise<Answered> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(destination.timeoutMs)]);
  try {
    const { hostname } = destination.url;
    const addresses = await within(limit, publicAddressesOf(hostname, destination.allowPrivate, resolve));
    const checked: LookupFunction = (_host, options, done) =>
      options.all ? done(null, addresses) : done(null, addresses[0]?.address ?? '', addresses[0]?.family);
    return await answerOf(destination, sent, checked, { signal: limit, bytesMax });
  } catch (error) {
    if (limit.aborted && !signal.aborted)
      throw new AppError('api_unreachable', `no answer within ${destination.timeoutMs} ms`);
    throw error;
  }
}

/** A name server that does not answer ends the attempt in time. */
function within<T>(limit: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(limit.reason);
    if (limit.aborted) late();
    limit.addEventListener('abort', late, { once: true });
    work.then(resolve, reject).finally(() => limit.removeEventListener('abort', late));
  });
}

function answerOf(
  { url, ca }: Destination,
  { method, headers, body }: Sent,
  lookup: LookupFunction,
  { signal, bytesMax }: { signal: AbortSignal; bytesMax: number },
): Promise<Answered> {
  // A connection of its own: a kept one could lead to an address that was checked long ago. The receiver proves its
  // identity, whatever the environment says of certificates.
  const agent = new Agent({ keepAlive: false, ca, rejectUnauthorized: true });
  const options: RequestOptions = { method, headers, lookup, agent, signal };
  return new Promise((resolve, reject) => {
    const sending = request(url, options, (answer: IncomingMessage) => {
      const { statusCode: status = 0, headers: given } = answer;
      if (bytesMax === 0) {
        answer.on('error', () => {}); // its body is ignored
        resolve({ status, headers: given, text: '' });
        return answer.destroy();
      }
      const parts: Buffer[] = [];
      let bytes = 0;
      answer.on('error', reject);
      answer.on('data', (part: Buffer) => {
        bytes += part.byteLength;
        if (bytes > bytesMax) answer.destroy(new AppError('api_answer', `its answer is longer than ${bytesMax} bytes`));
        else parts.push(part);
      });
      answer.on('end', () => resolve({ status, headers: given, text: Buffer.concat(parts).toString('utf8') }));
    });
    sending.on('error', reject);
    sending.end(body);
  });
}

function faultWords(error: unknown): string {
  if (error instanceof AppError) return error.message;
  const { code } = error as NodeJS.ErrnoException;
  return [code, lineOf(error)].filter(Boolean).join(': ');
}

// Which decisions and outcomes a webhook receives, and how many at once.

export interface FeedSettings {
  events: readonly LiveEvent['event'][];
  /** Undefined: of all rules. */
  rules: readonly string[] | undefined;
  /** Events of one delivery. */
  most: number;
  /** How long the first one of a delivery waits for more. */
  waitMs: number;
  /** Undefined: our own. */
  schema?: EventSchema | undefined;
}

const WAIT_MAX_MS = 3_600_000;

/** Members of an entry. */
const feedFields = {
  events: z.array(z.enum(LIVE_EVENTS)).min(1).optional(),
  rules: z.array(z.string().min(1)).min(1).optional(),
  schema: z.enum(EVENT_SCHEMAS).optional(),
  batch: z.strictObject({ most: z.int().min(1).max(1_000).default(100), wait: z.string().default('10s') }).optional(),
};

type Given = z.infer<z.ZodObject<typeof feedFields>>;

/** Undefined: it receives none, or `fault` was called. */
function feedOf({ events, rules, batch, schema }: Given, fault: (text: string) => undefined): FeedSettings | undefined {
  if (!events) {
    const alone = rules ? 'rules' : batch ? 'batch' : 'schema';
    return rules || batch || schema
      ? fault(`${alone} is set but events is not: add events, such as [decision, outcome]`)
      : undefined;
  }
  const { most = 100, wait = '10s' } = batch ?? {};
  const waitMs = parseDuration(wait);
  if (waitMs === undefined || waitMs > WAIT_MAX_MS)
    return fault(`batch.wait is \`${wait}\`: expected a duration of at most 1h, such as 10s`);
  return { events, rules, most, waitMs, schema };
}

export interface Webhook {
  name: string;
  url: URL;
  /** Replaced when its file changes. Empty: it cannot be read, and nothing is sent. */
  secret: string;
  /** Where it was read from; undefined: an environment variable. */
  secretFile?: string | undefined;
  timeoutMs: number;
  /** Deliveries attempted before a notification is given up. */
  attemptsMax: number;
  /** Loopback and private addresses may be connected to. */
  allowPrivate: boolean;
  /** A private certificate authority, as PEM. */
  ca: string | undefined;
  /** Whose messages it takes; undefined: the signed JSON of ours. */
  chat?: Chat | undefined;
  /** The decisions and outcomes that it receives. */
  feed?: FeedSettings | undefined;
}

export interface NotifySettings {
  webhooks: ReadonlyMap<string, Webhook>;
  /** Names of webhooks that alerts go to. */
  alertsTo: string[];
  /** Messages link to pages under this address; without a slash at its end. */
  publicUrl: string | undefined;
  /** A daemon alerts when it had no trusted snapshot for this long; 0: never. */
  silenceMs: number;
  /** Who may have a stream of signals, by the name of their token. */
  receivers: ReadonlyMap<string, SignalReceiver>;
}

/** Reads names of the configuration; faults are collected, not thrown. */
interface Names {
  text(name: string): string | undefined;
  duration(name: string, fallback: string, least: string): number;
  /** `of`: the settings, the most telling one first. */
  fault(of: string | readonly string[], text: string): void;
  /** What is missing is no fault then. */
  mayLack?: readonly ('secrets' | 'webhook_secrets' | 'webhooks')[];
}

const WEBHOOKS = 'TRUSTWARD_WEBHOOKS';
const PUBLIC_URL = 'TRUSTWARD_PUBLIC_URL';

/** Positions are stored by it. */
const NAME_MAX = 100;

const entry = z.strictObject({
  url: z.string(),
  secretFile: z.string().optional(),
  secretEnv: z.string().optional(),
  timeout: z.string().default('10s'),
  attempts: z.int().min(1).max(100).default(10),
  allowPrivate: z.boolean().default(false),
  caFile: z.string().optional(),
  format: z.enum(['json', ...CHATS]).default('json'),
  ...feedFields,
});
const file = z.record(
  z
    .string()
    .max(NAME_MAX)
    .regex(/^[a-z0-9][a-z0-9_-]*$/i),
  entry,
);
type Entry = z.infer<typeof entry>;

const SECRET_MIN = 16;
const NO_FAULTS = { fault: () => {} };

export function readNotifySettings(names: Names): NotifySettings {
  const { mayLack = [] } = names;
  const { faults, ...read } = readWebhooks(names, mayLack.includes('secrets') || mayLack.includes('webhook_secrets'));
  const areLeftOut = faults.length > 0 && mayLack.includes('webhooks');
  if (!areLeftOut) for (const { of, text } of faults) names.fault(of, text);
  const found = areLeftOut ? { webhooks: new Map(), alertsTo: [] } : read;
  const silenceMs = names.duration('TRUSTWARD_ALERT_SILENCE', '30m', '0s');
  const publicUrl = publicUrlOf(names);
  return { ...found, publicUrl, silenceMs, receivers: readReceivers(names, publicUrl) };
}

/** What is wrong with the webhooks, their secrets included; empty when nothing is. */
export function faultsOfWebhooks(names: Pick<Names, 'text'>): string[] {
  return readWebhooks(names).faults.map(({ text }) => text);
}

interface Fault {
  of: string | readonly string[];
  text: string;
}

type NotingNames = Pick<Names, 'text' | 'fault'>;
type Read = Pick<NotifySettings, 'webhooks' | 'alertsTo'> & { faults: Fault[] };

function readWebhooks(given: Pick<Names, 'text'>, mayLackSecrets = false): Read {
  const faults: Fault[] = [];
  const names: NotingNames = {
    text: (name) => given.text(name),
    fault: (of, text) => void faults.push({ of, text }),
  };
  const hosts = allowedHosts(names);
  const path = names.text(WEBHOOKS);
  const entries = path === undefined ? {} : readFile(WEBHOOKS, path, file, names);
  const webhooks = Object.entries(entries).flatMap(([name, one]) => {
    const webhook = webhookOf(name, one, hosts, names, mayLackSecrets);
    return webhook ? [[name, webhook] as const] : [];
  });
  const alertsTo = listOf(names.text('TRUSTWARD_ALERTS_TO'));
  const unknown = alertsTo.find((name) => !Object.hasOwn(entries, name));
  if (unknown !== undefined)
    names.fault(
      ['TRUSTWARD_ALERTS_TO', WEBHOOKS],
      `TRUSTWARD_ALERTS_TO names \`${unknown}\`, and ${WEBHOOKS} has no webhook of that name`,
    );
  return { webhooks: new Map(webhooks), alertsTo, faults };
}

/** The only hosts that a message may go to. */
function allowedHosts(names: Pick<Names, 'text'>): string[] {
  return listOf(names.text('TRUSTWARD_WEBHOOK_HOSTS')).map((host) => host.toLowerCase());
}

export function publicUrlOf(names: Pick<Names, 'text' | 'fault'>, name = PUBLIC_URL): string | undefined {
  const text = names.text(name);
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // The address is not repeated where it holds a password.
  if (url?.username || url?.password) names.fault(name, `${name} holds a user name or password: leave them out`);
  else if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash)
    names.fault(
      name,
      `${name} is \`${shownAddress(text)}\`: expected an address such as https://trustward.example.com, without query or fragment`,
    );
  return url && `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}

function listOf(text: string | undefined): string[] {
  return (text ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);
}

function readFile<T>(
  setting: string,
  path: string,
  schema: z.ZodType<Record<string, T>>,
  names: Pick<Names, 'fault'>,
): Record<string, T> {
  const where = `${setting}: \`${path}\``;
  const text = readText(path, setting, where, names);
  if (text === undefined) return {};
  let value: unknown;
  try {
    value = path.endsWith('.json') ? JSON.parse(text) : parseYaml(text);
  } catch {
    names.fault(setting, `${where} is not valid ${path.endsWith('.json') ? 'JSON' : 'YAML'}`);
    return {};
  }
  const parsed = schema.safeParse(value ?? {});
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues)
    names.fault(setting, `${where}: ${issue.path.join('.') || 'the file'}: ${issue.message}`);
  return {};
}

/** `setting`: which led to the file; `where`: what a fault begins with. */
export function readText(
  path: string,
  setting: string,
  where: string,
  names: Pick<Names, 'fault'>,
): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    names.fault(setting, `${where} cannot be read (${(error as NodeJS.ErrnoException).code})`);
    return undefined;
  }
}

function webhookOf(
  name: string,
  given: Entry,
  hosts: readonly string[],
  names: NotingNames,
  mayLackSecrets: boolean,
): Webhook | undefined {
  const fault = (text: string): undefined => names.fault(WEBHOOKS, `webhook \`${name}\`: ${text}`) as undefined;
  const url = urlOf(given, hosts, fault);
  const timeoutMs = parseDuration(given.timeout);
  if (timeoutMs === undefined || timeoutMs < 100 || timeoutMs > 60_000)
    return fault(`timeout is \`${given.timeout}\`: expected a duration of at most 60s, such as 10s`);
  const feed = feedOf(given, fault);
  if (feed && given.format !== 'json')
    return fault(
      `events is set, and format is ${given.format}: a chat takes no stream of events; leave events out, or give another webhook for them`,
    );
  const secret = secretOf(name, given, fault, names, mayLackSecrets);
  const ca =
    given.caFile === undefined ? undefined : readText(given.caFile, WEBHOOKS, `webhook \`${name}\`: caFile`, names);
  if (!url || secret === undefined) return undefined;
  const { secretFile } = given;
  return {
    name,
    url,
    secret,
    secretFile,
    timeoutMs,
    attemptsMax: given.attempts,
    allowPrivate: given.allowPrivate,
    ca,
    chat: given.format === 'json' ? undefined : given.format,
    feed,
  };
}

/** Undefined for an address that must not be used; `fault` is given the reason, which never repeats the address. */
function urlOf(
  given: Pick<Entry, 'url' | 'allowPrivate'>,
  hosts: readonly string[],
  fault: (text: string) => undefined,
): URL | undefined {
  const url = URL.canParse(given.url) ? new URL(given.url) : undefined;
  // The address is not repeated: many receivers have a token in the path.
  if (url?.protocol !== 'https:') return fault('its url must be an address that begins with https://');
  if (url.username || url.password) return fault('its url holds a user name or password: leave them out');
  if (!hosts.includes(url.hostname) && !hosts.includes(url.host))
    return fault(`\`${url.hostname}\` is not among TRUSTWARD_WEBHOOK_HOSTS: add it there, or correct the url`);
  const literal = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(literal) && !given.allowPrivate && !isPublicAddress(literal))
    return fault(`${literal} is not a public address`);
  return url;
}

// Who may have a stream of signals: an entry for each receiver, by the name of its token.

const RECEIVERS = 'TRUSTWARD_SIGNAL_RECEIVERS';

const receiverFile = z.record(
  z.string().min(1).max(NAME_MAX),
  z.strictObject({
    audience: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]),
    events: z.partialRecord(z.enum(SENT_EVENTS), z.union([z.literal('all'), z.array(z.string().min(1)).min(1)])),
    device: z.enum(['serial', 'device_id']).default('serial'),
    format: z.enum(['iss_sub', 'opaque']).default('iss_sub'),
    timeout: z.string().default('10s'),
    allowPrivate: z.boolean().default(false),
    caFile: z.string().optional(),
  }),
);

function readReceivers(names: Names, publicUrl: string | undefined): Map<string, SignalReceiver> {
  const path = names.text(RECEIVERS);
  const entries = path === undefined ? {} : readFile(RECEIVERS, path, receiverFile, names);
  if (path !== undefined && publicUrl === undefined)
    names.fault(
      [RECEIVERS, PUBLIC_URL],
      `${RECEIVERS} is set and ${PUBLIC_URL} is not: receivers know Trustward by that address, so set it`,
    );
  const hosts = allowedHosts(names);
  const read = Object.entries(entries).map(([name, one]): [string, SignalReceiver] => {
    const where = `receiver \`${name}\``;
    const timeoutMs = parseDuration(one.timeout) ?? 0;
    if (timeoutMs < 100 || timeoutMs > 60_000)
      names.fault(
        RECEIVERS,
        `${where}: timeout is \`${one.timeout}\`: expected a duration of at most 60s, such as 10s`,
      );
    const ca = one.caFile === undefined ? undefined : readText(one.caFile, RECEIVERS, `${where}: caFile`, names);
    const events = new Map(
      Object.entries(one.events).map(([event, rules]) => [
        SIGNAL_EVENTS.get(event) ?? event,
        rules === 'all' ? undefined : rules,
      ]),
    );
    const device = { by: one.device, format: one.format };
    return [
      name,
      { name, hosts, audience: [one.audience].flat(), events, device, timeoutMs, allowPrivate: one.allowPrivate, ca },
    ];
  });
  return new Map(read);
}

/** Where SETs are pushed to, or why they cannot be. */
export function endpointOf(
  url: string,
  { hosts, allowPrivate }: Pick<SignalReceiver, 'hosts' | 'allowPrivate'>,
): URL | string {
  let why = '';
  const found = urlOf({ url, allowPrivate }, hosts, (text) => {
    why = text;
    return undefined;
  });
  return found ?? why;
}

/** What is wrong with a webhook's secret; undefined when nothing is. */
export function secretFault(secret: string): string | undefined {
  return secret.length < SECRET_MIN ? `is shorter than ${SECRET_MIN} characters` : undefined;
}

function secretOf(
  name: string,
  given: Entry,
  fault: (text: string) => undefined,
  names: NotingNames,
  mayLackSecrets: boolean,
): string | undefined {
  if ((given.secretFile === undefined) === (given.secretEnv === undefined))
    return fault('give its secret in secretFile or in secretEnv, one of them');
  const mayLack = mayLackSecrets && given.secretFile !== undefined;
  const secret =
    given.secretEnv !== undefined
      ? names.text(given.secretEnv)
      : readText(given.secretFile as string, WEBHOOKS, `webhook \`${name}\`: secretFile`, mayLack ? NO_FAULTS : names)
          ?.split('\n')[0]
          ?.trim();
  if (mayLack) return secret === undefined || secretFault(secret) !== undefined ? '' : secret;
  if (secret === undefined) return given.secretEnv === undefined ? undefined : fault(`${given.secretEnv} is not set`);
  const wrong = secretFault(secret);
  if (wrong !== undefined) return fault(`its secret ${wrong}`);
  return secret;
}

// The heartbeat: one GET to an address after each completed whole run, so that its absence alerts elsewhere.

export interface HeartbeatState {
  /** When the last one was accepted, epoch ms. */
  acceptedAt: number | undefined;
  /** Since when none is; undefined while all is well. */
  failingSince: number | undefined;
}

/** Between the attempts for one run. The next run sends its own. */
const PAUSES_MS = [5_000, 15_000];

export class Heartbeat {
  readonly state: HeartbeatState = { acceptedAt: undefined, failingSince: undefined };
  private latest = new AbortController();
  private underWay: Promise<void> = Promise.resolve();

  constructor(
    private readonly parts: {
      destination: Destination;
      clock: Clock;
      log: Log;
      send?: typeof sendChecked;
    },
  ) {}

  /** A whole run has completed. Returns at once; a heartbeat that is still being tried gives way to this one. */
  beat(): void {
    this.latest.abort();
    this.latest = new AbortController();
    this.underWay = this.try(this.latest.signal);
  }

  /** Resolves when the last heartbeat has ended, or been cut. Never rejects. */
  async end(cut: AbortSignal): Promise<void> {
    const stop = () => this.latest.abort();
    if (cut.aborted) stop();
    cut.addEventListener('abort', stop, { once: true });
    await this.underWay;
    cut.removeEventListener('abort', stop);
  }

  private async try(signal: AbortSignal): Promise<void> {
    const { destination, clock, log, send = sendChecked } = this.parts;
    const { host } = destination.url;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const sent = { method: 'GET', headers: { 'User-Agent': 'trustward' } } as const;
      const { ok, note } = await send(destination, sent, signal).catch((error: unknown) => ({
        ok: false,
        note: lineOf(error),
      }));
      if (ok) return this.accepted();
      if (signal.aborted) return;
      this.state.failingSince ??= clock.nowMs();
      const pauseMs = PAUSES_MS[attempt];
      if (pauseMs === undefined) return log.warn({}, `the heartbeat to ${host} is not accepted: ${note}`);
      await clock.sleep(pauseMs, signal).catch(() => {}); // the next one, or the end
    }
  }

  private accepted(): void {
    const { destination, clock, log } = this.parts;
    if (this.state.failingSince !== undefined)
      log.info({}, `the heartbeat to ${destination.url.host} is accepted again`);
    this.state.acceptedAt = clock.nowMs();
    this.state.failingSince = undefined;
  }
}

interface HeartbeatNames extends Pick<Names, 'text' | 'fault'> {
  secret(name: string): string | undefined;
  choice<const T extends string>(name: string, choices: readonly T[], fallback: T): T;
}

const NAME = 'TRUSTWARD_HEARTBEAT_URL';
const CA = 'TRUSTWARD_HEARTBEAT_CA';
/** The receiver is asked for nothing: a slow one is not waited for. */
const TIMEOUT_MS = 10_000;

/** Undefined: none is sent. */
export function readHeartbeat(names: HeartbeatNames): Destination | undefined {
  const text = names.secret(NAME);
  const caFile = names.text(CA);
  const allowPrivate = names.choice('TRUSTWARD_HEARTBEAT_PRIVATE', ['yes', 'no'], 'no') === 'yes';
  const hosts = allowedHosts(names);
  if (text === undefined) return undefined;
  const fault = (why: string) => names.fault(NAME, `${NAME}: ${why}`) as undefined;
  const url = urlOf({ url: text, allowPrivate }, hosts, fault);
  const ca = caFile === undefined ? undefined : readText(caFile, CA, CA, names);
  return url && { url, timeoutMs: TIMEOUT_MS, allowPrivate, ca };
}
