// console: the reference server of the Management API, whole: database, seed, HTTP.
// In: where to listen, a database file, a seed. Out: a running console with its true list of effects. It shares only the
// contract with the engine, and the engine never sees its store.
import { Hono } from 'hono';
import { AppError } from '../domain/errors.ts';
import type { Clock, Log } from '../domain/ports.ts';
import { EVENTS_RETAINED_MAX, EVENTS_RETAINED_MS, type KeyScope } from '../management/contract.ts';
import { addEndpoints, addRemainder, catchErrors } from './app.ts';
import { openDoor } from './auth.ts';
import type { Edition } from './editions.ts';
import { FAULT_ADDRESSES } from './faults/addresses.ts';
import type { FaultDesk } from './faults/desk.ts';
import { addFaults } from './faults/faults.ts';
import { type Fleet, openFleet } from './fleet.ts';
import { addHostCheck } from './hosts.ts';
import { type Listening, listenOn } from './listen.ts';
import { type LiveOptions, type LivingOrganization, startLife } from './live/life.ts';
import { addOwnAddresses, OWN_ADDRESSES } from './own-addresses.ts';
import { isEmpty, type SeedOptions, seedOrganization } from './seed/seed.ts';
import { hasCredentials, issueCredential, revokeCredential, scopeOf } from './store/credentials.ts';
import { openDatabase } from './store/database.ts';
import { type Effect, pruneEffects, readEffects } from './store/effects.ts';
import { pruneEvents } from './store/events.ts';
import { type ConsoleStore, makeStore, type Retention, readMeta } from './store/store.ts';
import { keepWrites, type WriteLog, type WriteRequest } from './write-log.ts';

export type { FaultDesk } from './faults/desk.ts';
export type { FaultInput } from './faults/fault.ts';
export type { LiveOptions } from './live/life.ts';
export type { SeedOptions } from './seed/seed.ts';
export type { Effect, EffectKind } from './store/effects.ts';
export type { WriteRequest } from './write-log.ts';

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
export interface FirstCredentials {
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
    return { ...facesOf(store, writes), address: listening?.address ?? '', credentials, app, faults, close: once(end) };
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
