// console: the reference server of the Management API, whole: database, seed, HTTP.
// In: where to listen, a database file, a seed. Out: a running console with its true list of effects. It shares only the
// contract with the engine, and the engine never sees its store.

import { existsSync } from 'node:fs';
import { createServer, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { type HostPolicy, refuseHost } from '../base/hosts.ts';
import { AppError } from '../domain/errors.ts';
import type { Clock, Log } from '../domain/ports.ts';
import {
  EVENTS_RETAINED_MAX,
  EVENTS_RETAINED_MS,
  type EventSeverity,
  type Flag,
  type KeyScope,
  openApiDocument,
  ServiceSpec,
  type TrustLevel,
} from '../platform/contract.ts';
import { type Edition, errorText, jsonResponse, messageBody, Refusal } from './answer.ts';
import {
  addEndpoints,
  addRemainder,
  catchErrors,
  type Doorkeeper,
  isPermitted,
  keepWrites,
  openDoor,
  type WriteLog,
  type WriteRequest,
} from './app.ts';
import { addFaults, FAULT_ADDRESSES, type FaultDesk } from './faults/interception.ts';
import { type LiveOptions, type LivingOrganization, startLife } from './live/life.ts';
import { choicesFrom } from './seed/random.ts';
import { deviceRow, isEmpty, personRow, type SeedOptions, seedOrganization, specOf } from './seed/seed.ts';
import {
  certificatesOf,
  type DeviceColumns,
  type DeviceFields,
  type Effect,
  hasCredentials,
  insertDevice,
  insertEnduser,
  insertMapping,
  issueCredential,
  newCertificate,
  patchDevice,
  pruneEffects,
  readEffects,
  revokeCredential,
  scopeOf,
  updateDevices,
  writeEffect,
} from './store/device-changes.ts';
import { deviceOfId, enduserOfEmail } from './store/devices.ts';
import { type EventDraft, pruneEvents, writeEvent } from './store/events.ts';
import { insertService, readNotifications, serviceOf, switchService } from './store/services.ts';
import {
  type Actor,
  type ConsoleStore,
  makeStore,
  nextNumber,
  nowNs,
  openDatabase,
  type Retention,
  readMeta,
} from './store/store.ts';

// Direct changes of the organization: by administrators in the web page, by MDM reports, and by tests.

interface HandEvent {
  type: string;
  subType: string;
  action: string;
  severity: EventSeverity;
  message?: string;
  createdAtMs?: number;
  deviceId?: string;
  email?: string;
  serviceId?: string;
}

interface Fleet {
  /** Adds a complete, fresh, unremarkable device with these fields; returns its DeviceID. */
  addDevice(fields: DeviceFields, owners?: string[]): string;
  /** Registers a person, new or known, on an existing device. Throws a RangeError for an unknown device. */
  addOwner(deviceId: string, email: string): void;
  /** Writes these fields, as a new report unless they give its time; `mdm_compromised` is an effect of its own. Throws a RangeError for an unknown device. */
  patchDevice(deviceId: string, fields: DeviceFields): void;
  /** An administrator bans or unbans in the page. */
  banByHand(serial: string, banned: Flag): void;
  addUser(email: string, name?: string): void;
  /** Adds a service; returns its ServiceID. */
  addService(name: string, cluster: string): string;
  /** An administrator enables or disables in the page. */
  switchByHand(serviceId: string, enabled: Flag): void;
  /** Writes an event of this device, person and service; returns its id. */
  addEvent(event: HandEvent): string;
}

const HAND: Actor = { name: 'someone@acme.example', via: 'hand' };

/** What MDM or the trust score says comes with the time of a new report. A device that MDM never reported stays so. */
function reportTimesOf(store: ConsoleStore, deviceId: string, fields: DeviceFields): DeviceFields {
  const sql = 'SELECT mdm_timestamp AS mdm, trust_updated AS trust FROM device WHERE device_id = ?';
  const before = store.sql.get<{ mdm: bigint | number; trust: bigint | number }>(sql, deviceId);
  if (!before) return {};
  const after = (time: bigint | number) => {
    const [known, now] = [BigInt(time), nowNs(store)];
    return now > known ? now : known + 1_000_000n;
  };
  const isOfMdm = fields.mdm_compromised !== undefined || fields.mdm_compliant !== undefined;
  return {
    ...(isOfMdm && Number(before.mdm) > 0 && { mdm_timestamp: after(before.mdm) }),
    ...(fields.trust_level !== undefined && { trust_updated: after(before.trust) }),
  };
}

function openFleet(store: ConsoleStore): Fleet {
  return {
    addDevice: (fields, owners = []) => store.sql.atomically(() => addDevice(store, fields, owners)),
    addOwner: (deviceId, email) =>
      store.sql.atomically(() => {
        const device = deviceOfId(store, deviceId);
        if (!device) throw new RangeError(`there is no device ${deviceId}`);
        mapPerson(store, email, device.pk, nowNs(store));
      }),
    patchDevice: (deviceId, fields) =>
      store.sql.atomically(() =>
        patchDevice(store, HAND, deviceId, { ...reportTimesOf(store, deviceId, fields), ...fields }),
      ),
    banByHand(serial, banned) {
      if (updateDevices(store, HAND, serial, { banned }) === 0)
        throw new RangeError(`no device has the serial number ${serial}`);
    },
    addUser: (email, name) => addUser(store, email, name ?? email),
    addService(name, cluster) {
      const spec = specOf(choicesFrom(nextNumber(store.sql, 'hand')), name, cluster);
      return JSON.parse(insertService(store, HAND, ServiceSpec.parse(spec), JSON.stringify(spec))).ServiceID as string;
    },
    switchByHand(serviceId, enabled) {
      if (switchService(store, HAND, serviceId, enabled) === 'no_such_service')
        throw new RangeError(`no service has the id ${serviceId}`);
    },
    addEvent: (event) => writeEvent(store, draftOf(store, event)),
  };
}

function addDevice(store: ConsoleStore, fields: DeviceFields, owners: string[]): string {
  const number = nextNumber(store.sql, 'hand');
  const fresh = nowNs(store);
  const row: DeviceColumns = {
    ...deviceRow(store, choicesFrom(number), -1, number, 'Ada'),
    ownership: 'Corporate Dedicated',
    registered: 'TRUE',
    mdm_compliant: 'TRUE',
    mdm_timestamp: fresh,
    last_login: fresh,
    trust_entity: 90,
    trust_override: 0,
    trust_access: 90,
    override_active: 'FALSE',
    trust_level: 'High' satisfies TrustLevel,
    trust_updated: fresh,
    factors: '[]',
    ...fields,
  };
  const pk = insertDevice(store, row);
  for (const email of owners) mapPerson(store, email, pk, fresh);
  writeEffect(store, HAND, 'device_added', row.device_id, { serial: row.serial });
  return row.device_id;
}

function mapPerson(store: ConsoleStore, email: string, devicePk: number, issuedAtNs: bigint): void {
  addUser(store, email, email);
  const user = enduserOfEmail(store, email);
  if (user) insertMapping(store, user.pk, devicePk, newCertificate(store), issuedAtNs);
}

function addUser(store: ConsoleStore, email: string, name: string): void {
  if (enduserOfEmail(store, email)) return;
  insertEnduser(store, personRow(store, choicesFrom(nextNumber(store.sql, 'hand')), email, name));
  writeEffect(store, HAND, 'user_added', email);
}

function draftOf(store: ConsoleStore, event: HandEvent): EventDraft {
  const service = event.serviceId === undefined ? undefined : serviceOf(store, event.serviceId);
  return {
    type: event.type,
    subType: event.subType,
    action: event.action,
    severity: event.severity,
    message: event.message ?? event.action,
    ...(event.createdAtMs === undefined ? {} : { createdAtMs: event.createdAtMs }),
    devicePk: event.deviceId === undefined ? undefined : deviceOfId(store, event.deviceId)?.pk,
    user: event.email === undefined ? undefined : enduserOfEmail(store, event.email),
    service,
  };
}

/** The time of the console's clock, which need not be that of the machine. Must be called before any route is added. */
function addDate(app: Hono, clock: Clock): void {
  app.use('*', async (context, next) => {
    await next();
    context.header('Date', new Date(clock.nowMs()).toUTCString());
  });
}

/** Must be called before any route is added. */
function addHostCheck(app: Hono, policy: HostPolicy): void {
  app.use('*', async ({ req }, next) => {
    const refusal = refuseHost({ header: req.header('host'), url: req.url }, policy);
    if (!refusal) return next();
    if (refusal.kind === 'malformed')
      return jsonResponse(400, errorText(req.path, 400, 'the Host header is not a host'));
    const message = `\`${refusal.name}\` is not an allowed host: call the console by its own address, or start it with --allowed-hosts`;
    return jsonResponse(421, errorText(req.path, 421, message));
  });
}

// What is no request that the app could answer: bytes that are not HTTP, headers that are too large, a request cut off
// within its body.

const UNREADABLE: [number, string] = [400, 'the request is not HTTP/1.1: check the client'];
const OF_CODE: Record<string, [number, string]> = {
  HPE_HEADER_OVERFLOW: [431, 'the request line and the headers are too large: send at most 16 KiB'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'the chunk extensions of the body are too large: leave them out'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request did not arrive in time: send it again'],
};
/** How long a closing connection is still read: closing it with unread bytes could lose the answer. */
const LINGER_MS = 500;

/** Instead of the app's answer: its target and Host make no URL. */
function responseWithoutApp(): Response {
  const message = 'the request needs one path, and a Host header that names this server';
  return jsonResponse(400, messageBody(message), { Connection: 'close' });
}

function answerMalformed(server: Server): void {
  const ended = new WeakSet<Duplex>();
  const latest = new WeakMap<Duplex, ServerResponse>();
  const end = (socket: Duplex, [status, message]: [number, string]): void => {
    if (ended.has(socket)) return;
    ended.add(socket);
    socket.on('error', () => {}); // the sender is gone: nobody reads the answer
    // An answer that has begun cannot be followed by another one.
    const response = latest.get(socket);
    if (!socket.writable || (response?.headersSent && !response.writableFinished)) socket.destroy();
    else close(socket, status, message);
  };
  server.on('request', (request, response) => latest.set(request.socket, response));
  // An unknown expectation may be ignored. Without this, an answer without a body refuses it.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('connect', (_request, socket) => end(socket, [405, 'CONNECT is not allowed here: this is no proxy']));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET') socket.destroy();
    else end(socket, OF_CODE[error.code ?? ''] ?? UNREADABLE);
  });
}

function close(socket: Duplex, status: number, message: string): void {
  const body = messageBody(message);
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
  socket.resume();
  const late = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(late));
}

// The app on a TCP port.

interface Listening {
  /** `http://host:port` */
  address: string;
  close(): Promise<void>;
}

/** AppError `port_busy` when the address is taken, `config` when it cannot be used. */
async function listenOn(app: Hono, host: string, port: number): Promise<Listening> {
  // The app itself refuses a request without a Host, with a sentence.
  const server = createServer({ requireHostHeader: false });
  answerMalformed(server);
  server.on('request', getRequestListener(app.fetch, { errorHandler: responseWithoutApp }));
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(refusal(error, host, port)));
    server.listen(port, host, () => resolve());
  });
  const bound = server.address() as AddressInfo;
  const name = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
  return {
    address: `http://${name}:${bound.port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function refusal(error: NodeJS.ErrnoException, host: string, port: number): AppError {
  if (error.code === 'EADDRINUSE') {
    return new AppError(
      'port_busy',
      `the console cannot listen on ${host}:${port}: the port is taken, give another one`,
    );
  }
  return new AppError('config', `the console cannot listen on ${host}:${port}: ${error.code ?? error.message}`);
}

// The addresses that only this server has: health, the OpenAPI document, and data for judging a client.

export const OWN_ADDRESSES = [
  { method: 'GET', path: '/healthz' },
  { method: 'GET', path: '/openapi.json' },
  { method: 'GET', path: '/notifications' },
  { method: 'GET', path: '/certificates' },
  { method: 'GET', path: '/effects' },
];

const ROWS_MAX = 10_000;

function addOwnAddresses(app: Hono, store: ConsoleStore, door: Doorkeeper): void {
  app.get('/healthz', () => jsonResponse(200, '{"status":"ok"}'));
  addDocument(app);
  addReading(app, '/notifications', door, (query) => ({
    data: readNotifications(store, numberIn(query, 'after'), ROWS_MAX),
  }));
  addReading(app, '/certificates', door, (query) => ({ data: certificatesOf(store, query.get('SerialNumber') ?? '') }));
  addReading(app, '/effects', door, (query) => ({ data: readEffects(store, numberIn(query, 'after'), ROWS_MAX) }));
}

function addDocument(app: Hono): void {
  let text: string | undefined;
  app.get('/openapi.json', () => {
    text ??= JSON.stringify(openApiDocument());
    return jsonResponse(200, text);
  });
}

function addReading(app: Hono, path: string, door: Doorkeeper, read: (query: URLSearchParams) => unknown): void {
  app.get(path, async (context) => {
    try {
      const caller = await door.admit(context.req.header('authorization'));
      if (!isPermitted(caller.scope, 'list_devices'))
        throw new Refusal(403, 'a credential that reads everything is needed');
      return jsonResponse(200, JSON.stringify(read(new URL(context.req.url).searchParams)));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return jsonResponse(error.status, messageBody(error.message), error.headers);
    }
  });
}

/** Rows after this number are returned; 0 by default. */
function numberIn(query: URLSearchParams, name: string): number {
  const text = query.get(name) ?? '0';
  if (!/^\d{1,15}$/.test(text)) throw new Refusal(400, `\`${name}\` must be a whole number, 0 or more`);
  return Number(text);
}

export interface ConsoleOptions {
  /** `port` 0 takes any; undefined: no listening, for tests that call `app` in the process. */
  listen?: { host: string; port: number } | undefined;
  /** Host names that it serves besides its own. */
  allowedHosts?: readonly string[] | undefined;
  /** A file, or ':memory:'. */
  dbFile: string;
  /** Only an empty database is seeded. */
  seed?: SeedOptions | undefined;
  /** A database that is not empty is refused instead of left as it is: a person asked for this seed now. */
  demandsEmpty?: boolean | undefined;
  /** The organization changes over time (see live/life.ts). */
  live?: boolean | LiveOptions | undefined;
  /** Faults can be set, in the process and at `/faults`. */
  faults?: boolean | undefined;
  clock: Clock;
  log: Log;
  /** Of access tokens; 10 minutes by default. */
  tokenLifetimeMs?: number | undefined;
  /** Records of pages have no logins, as the specification describes; by default they have them. */
  strictPages?: boolean | undefined;
  /** `basic` answers 403 for events and services. */
  edition?: Edition | undefined;
  retention?: Partial<Retention> | undefined;
  /** The last part of the ServiceID of new services; kept in the database. */
  serviceSuffix?: string | undefined;
}

/** Returned once: the console itself keeps only their hashes. */
interface FirstCredentials {
  apiKey: string;
  refreshToken: string;
  adminToken: string;
}

export interface Console {
  /** `http://host:port`; empty when it does not listen. */
  address: string;
  /** Only at the first start of a database. */
  credentials: FirstCredentials | undefined;
  app: Hono;
  /** Every change of state that really happened, in order; all, or those after a number. */
  effects(afterSeq?: number): Effect[];
  /** The writing requests that were admitted, in order, with or without an effect. */
  writes(): readonly WriteRequest[];
  /** A fresh API key; a former one of this name is revoked. */
  issueApiKey(name: string, scope: KeyScope): string;
  /**
   * Its secret when it is made now; undefined when one of this name and scope exists. One of another scope is replaced.
   */
  keepApiKey(name: string, scope: KeyScope): string | undefined;
  revokeApiKey(name: string): void;
  /** The organization, changed by an administrator or MDM, without the API. */
  fleet: Fleet;
  /** Only when the console was started with faults. */
  faults: FaultDesk | undefined;
  /** Only when it was started `live`. */
  life: LivingOrganization | undefined;
  close(): Promise<void>;
}

/** The name of the API key that the first start prints. */
export const FIRST_KEY = 'first-key';
const TOKEN_LIFETIME_MS = 10 * 60_000;

/** Starts it. AppError: `store_failed` (the database), `port_busy`, `config` (the address), `usage` (`demandsEmpty`). Nothing stays open when it throws. */
export async function startConsole(options: ConsoleOptions): Promise<Console> {
  const db = openDatabase(options.dbFile);
  const ending = new AbortController();
  let listening: Listening | undefined;
  let life: LivingOrganization | undefined;
  const end = async (): Promise<void> => {
    ending.abort();
    await life?.stop();
    await listening?.close();
    db.close();
  };
  try {
    const store = makeStore(db, options.clock, retentionOf(options), options.seed?.seed, options.serviceSuffix);
    prepare(store, options);
    const writes = keepWrites(options.clock);
    const { app, faults } = makeApp(store, options, writes, ending.signal);
    listening = options.listen && (await listenOn(app, options.listen.host, options.listen.port));
    life = options.live ? begin(store, options) : undefined;
    // Last: a start that fails must not leave credentials behind that were never shown.
    const credentials = firstCredentials(store);
    const address = listening?.address ?? '';
    return { ...facesOf(store, writes), address, credentials, app, faults, life, close: once(end) };
  } catch (error) {
    await end();
    throw error;
  }
}

function facesOf(store: ConsoleStore, writes: WriteLog) {
  return {
    effects: (afterSeq?: number) => readEffects(store, afterSeq),
    writes: () => writes.all(),
    issueApiKey: (name: string, scope: KeyScope) => issueCredential(store, 'api_key', name, scope),
    keepApiKey: (name: string, scope: KeyScope) =>
      scopeOf(store, 'api_key', name) === scope ? undefined : issueCredential(store, 'api_key', name, scope),
    revokeApiKey: (name: string) => revokeCredential(store, 'api_key', name),
    fleet: openFleet(store),
  };
}

/** Closing twice is closing once. */
function once(end: () => Promise<void>): () => Promise<void> {
  let ended: Promise<void> | undefined;
  return () => {
    ended ??= end();
    return ended;
  };
}

function retentionOf(options: ConsoleOptions): Retention {
  return { eventsMax: EVENTS_RETAINED_MAX, eventsMs: EVENTS_RETAINED_MS, ...options.retention };
}

/** Seeds an empty database, and deletes what is past its retention. */
function prepare(store: ConsoleStore, options: ConsoleOptions): void {
  store.sql.run(
    "INSERT INTO agent VALUES ('access-tier-eu', 'eu-west'), ('access-tier-us', 'us-east'), ('edge-1', 'global-edge') ON CONFLICT DO NOTHING",
  );
  if (options.seed && isEmpty(store)) seedOrganization(store, options.seed);
  else if (options.seed && options.demandsEmpty) throw notEmpty(store, options.dbFile);
  pruneEvents(store);
  pruneEffects(store);
}

function notEmpty(store: ConsoleStore, file: string): AppError {
  const seed = readMeta(store.sql, 'seed');
  const found = seed === undefined ? 'an organization' : `the organization of seed ${seed}`;
  const text = `database \`${file}\` has ${found} already: start without --seed and counts to use it, or give another --db`;
  return new AppError('usage', text);
}

function firstCredentials(store: ConsoleStore): FirstCredentials | undefined {
  if (hasCredentials(store)) return undefined;
  const admin = `admin@${store.org.name}.example`;
  return store.sql.atomically(() => ({
    apiKey: issueCredential(store, 'api_key', FIRST_KEY, 'Admin'),
    refreshToken: issueCredential(store, 'refresh_token', admin, 'Admin'),
    adminToken: issueCredential(store, 'admin_token', admin, 'Admin'),
  }));
}

function begin(store: ConsoleStore, options: ConsoleOptions): LivingOrganization {
  const live = typeof options.live === 'object' ? options.live : {};
  return startLife(store, options.clock, options.log, live, Number(readMeta(store.sql, 'seed') ?? 1));
}

function makeApp(
  store: ConsoleStore,
  options: ConsoleOptions,
  writes: WriteLog,
  closing: AbortSignal,
): { app: Hono; faults: FaultDesk | undefined } {
  const app = new Hono();
  catchErrors(app, options.log);
  addDate(app, options.clock);
  addHostCheck(app, { listenHost: options.listen?.host ?? 'localhost', allowed: options.allowedHosts ?? [] });
  const door = openDoor(store, options.tokenLifetimeMs ?? TOKEN_LIFETIME_MS);
  const faults = options.faults ? addFaults(app, store, door, closing) : undefined;
  addOwnAddresses(app, store, door);
  addEndpoints(app, {
    store,
    door,
    log: options.log,
    writes,
    pageForm: options.strictPages ? 'strict' : 'paged',
    edition: options.edition ?? 'full',
    afterWrite: everyHundredth(() => pruneEvents(store)),
  });
  addRemainder(app, [...OWN_ADDRESSES, ...(faults ? FAULT_ADDRESSES : [])]);
  return { app, faults };
}

/** Retention is applied as the log grows, but not at each event. */
function everyHundredth(work: () => void): () => void {
  let count = 0;
  return () => {
    count++;
    if (count % 100 === 0) work();
  };
}

interface NewKey {
  name: string;
  scope: KeyScope;
}

/** The secrets, in the order of the keys; all of them are made or none. AppError: `usage` for a name that is taken, `store_failed`. */
export function addApiKeys(dbFile: string, keys: readonly NewKey[], clock: Clock): string[] {
  if (!existsSync(dbFile))
    throw new AppError('usage', `there is no database \`${dbFile}\`: name that of the console by --db`);
  const db = openDatabase(dbFile);
  try {
    const store = makeStore(db, clock, { eventsMax: 0, eventsMs: 0 }, undefined);
    return store.sql.atomically(() =>
      keys.map(({ name, scope }) => {
        if (scopeOf(store, 'api_key', name) !== undefined) {
          throw new AppError('usage', `the console has an API key \`${name}\` already: give another name`);
        }
        return issueCredential(store, 'api_key', name, scope);
      }),
    );
  } finally {
    db.close();
  }
}
