// console: the HTTP face: routes from the contract's table, admission, checking, and errors in their two shapes.
// In: requests, hostile. Out: responses. No request may crash it, and none is half done: everything is checked before a
// handler changes anything.
import { randomBytes, randomUUID } from 'node:crypto';
import type { Context, Hono } from 'hono';
import { jwtVerify, SignJWT } from 'jose';
import type { z } from 'zod';
import { AppError } from '../domain/errors.ts';
import type { Clock, Log } from '../domain/ports.ts';
import {
  ENDPOINT_IDS,
  ENDPOINTS,
  type Endpoint,
  type EndpointId,
  type KeyScope,
  parseExact,
  readBody,
  readQuery,
} from '../platform/contract.ts';
import {
  type Edition,
  errorEnvelope,
  errorText,
  jsonResponse,
  messageBody,
  Refusal,
  readLimitedText,
  responseOf,
} from './answer.ts';
import { type Call, HANDLERS, type Handler } from './handlers.ts';
import {
  CREDENTIAL_KINDS,
  type Credential,
  credentialId,
  credentialOf,
  credentialOfId,
  hashOf,
} from './store/device-changes.ts';
import type { RecordForm } from './store/devices.ts';
import { type ConsoleStore, keepMeta, nextNumber } from './store/store.ts';

// Who calls, and what they may.

export interface Doorkeeper {
  /** The caller of an endpoint: an API key, an access token or an admin token; 401 when it is none of them. */
  admit(authorization: string | undefined): Promise<Credential>;
  /** Refuses (403) a caller whose scope does not permit the endpoint. */
  permit(caller: Credential, endpoint: EndpointId): void;
  /** A new access token for a refresh token or an API key; 401 for anything else. */
  exchange(authorization: string | undefined): Promise<string>;
}

const READS_OF: Partial<Record<KeyScope, readonly EndpointId[]>> = {
  ServiceAuthor: ['list_services', 'list_policies', 'list_service_policies', 'shield_config'],
  PolicyAuthor: ['list_services', 'list_policies', 'list_service_policies', 'shield_config'],
  read_logs: ['list_events', 'count_events', 'feed_events', 'list_event_types'],
};
const WRITES_OF: Partial<Record<KeyScope, readonly EndpointId[]>> = {
  ServiceAuthor: ['insert_service', 'delete_service', 'enable_service', 'disable_service'],
  PolicyAuthor: ['insert_policy', 'delete_policy', 'attach_policy', 'detach_policy'],
  EventWriter: ['submit_events'],
};

export function isPermitted(scope: KeyScope, endpoint: EndpointId): boolean {
  if (scope === 'Admin') return true;
  if (!ENDPOINTS[endpoint].writes && scope === 'ReadOnly') return true;
  return (READS_OF[scope]?.includes(endpoint) || WRITES_OF[scope]?.includes(endpoint)) ?? false;
}

/** `lifetimeMs`: the lifetime of the access tokens. */
export function openDoor(store: ConsoleStore, lifetimeMs: number): Doorkeeper {
  const key = Buffer.from(
    keepMeta(store.sql, 'jwt_key', () => randomBytes(32).toString('base64url')),
    'base64url',
  );

  async function fromAccessToken(token: string): Promise<Credential | undefined> {
    const verified = await jwtVerify(token, key, {
      algorithms: ['HS256'],
      issuer: store.org.id,
      currentDate: new Date(store.clock.nowMs()),
    }).catch(() => undefined);
    const { kind, scope, key: id } = verified?.payload ?? {};
    const known = CREDENTIAL_KINDS.find((each) => each === kind);
    if (!known || typeof id !== 'string') return undefined;
    // A key that is revoked, or has another scope now, takes its access tokens with it; a new one of its name does not bring them back.
    const credential = credentialOfId(store, known, id);
    return credential?.scope === scope ? credential : undefined;
  }

  return {
    async admit(authorization) {
      const { secret, hasScheme } = secretOf(authorization);
      const stored = credentialOf(store, secret);
      if (stored?.kind === 'admin_token') return stored;
      if (!hasScheme) throw refused('the credential must be sent as `Authorization: Bearer …`');
      if (stored?.kind === 'api_key') return stored;
      if (stored) throw refused('a refresh token is not an access token: exchange it at `/api/v1/refresh_token`');
      const caller = await fromAccessToken(secret);
      if (!caller) throw refused('the credential is unknown, expired or revoked');
      return caller;
    },

    permit(caller, endpoint) {
      if (isPermitted(caller.scope, endpoint)) return;
      throw new Refusal(403, `the scope \`${caller.scope}\` does not permit this: use a credential of another scope`);
    },

    async exchange(authorization) {
      const { secret } = secretOf(authorization);
      const stored = credentialOf(store, secret);
      if (!stored || stored.kind === 'admin_token') throw refused('the refresh token is unknown or revoked');
      const nowS = store.clock.nowMs() / 1_000;
      return new SignJWT({ kind: stored.kind, scope: stored.scope, key: credentialId(store, hashOf(secret)) })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .setIssuer(store.org.id)
        .setSubject(stored.name)
        .setJti(String(nextNumber(store.sql, 'access-token')))
        .setIssuedAt(Math.floor(nowS))
        .setExpirationTime(Math.floor(nowS + lifetimeMs / 1_000))
        .sign(key);
    },
  };
}

function secretOf(authorization: string | undefined): { secret: string; hasScheme: boolean } {
  if (!authorization) throw refused('the header `Authorization` is missing');
  const match = /^Bearer +(\S+) *$/i.exec(authorization);
  return { secret: match?.[1] ?? authorization.trim(), hasScheme: match !== null };
}

function refused(message: string): Refusal {
  return new Refusal(401, message, { 'WWW-Authenticate': 'Bearer' });
}

// The admitted writing requests, newest last, for judging a client: a repeated request has no effect, but it has a line
// here.

export interface WriteRequest {
  /** When it was carried out: a fault may do that long after it was received. */
  atMs: number;
  receivedMs: number;
  method: string;
  /** Path and query. */
  address: string;
  body: string;
  caller: string;
}

export interface WriteLog {
  /** `receivedMs`: absent: now. */
  add(method: string, url: string, body: string, caller: string, receivedMs?: number): void;
  all(): readonly WriteRequest[];
}

const KEPT_MAX = 20_000;
const BODY_KEPT_MAX = 4_096;

export function keepWrites(clock: Clock): WriteLog {
  const kept: WriteRequest[] = [];
  return {
    add(method, url, body, caller, receivedMs) {
      const atMs = clock.nowMs();
      const { pathname, search } = new URL(url);
      kept.push({
        atMs,
        receivedMs: receivedMs ?? atMs,
        method,
        address: pathname + search,
        body: body.slice(0, BODY_KEPT_MAX),
        caller,
      });
      if (kept.length > KEPT_MAX) kept.splice(0, KEPT_MAX / 10);
    },
    all: () => kept,
  };
}

/** When a request came that a fault holds back. */
export const receivedMs = new WeakMap<Request, number>();

interface AppParts {
  store: ConsoleStore;
  door: Doorkeeper;
  log: Log;
  writes: WriteLog;
  pageForm: RecordForm;
  /** `basic` has no events and no services: they are answered with 403. */
  edition: Edition;
  /** Called after each writing request. */
  afterWrite(): void;
}

/** Adds the endpoints of the contract. */
export function addEndpoints(app: Hono, parts: AppParts): void {
  for (const id of ENDPOINT_IDS) {
    const endpoint: Endpoint = ENDPOINTS[id];
    for (const path of [endpoint.path, ...endpoint.aliases]) {
      app.on(endpoint.method, routeOf(path), (context) => answerCall(parts, id, context));
    }
  }
}

/** An error that no handler caught: logged, and answered with a 500 without its reason. */
export function catchErrors(app: Hono, log: Log): void {
  app.onError((error) => {
    const refusal = refusalOf(error);
    if (refusal.status === 500) log.error({ error: String(error) }, 'a request failed');
    return jsonResponse(refusal.status, messageBody(refusal.message), refusal.headers);
  });
}

/** What remains after all routes: a known path with a wrong method is 405, an unknown path 404. */
export function addRemainder(app: Hono, others: { method: string; path: string }[]): void {
  const methods = new Map<string, Set<string>>();
  const all = ENDPOINT_IDS.flatMap((id) => {
    const endpoint: Endpoint = ENDPOINTS[id];
    return [endpoint.path, ...endpoint.aliases].map((path) => ({ method: endpoint.method as string, path }));
  });
  for (const { method, path } of [...all, ...others]) {
    methods.set(routeOf(path), (methods.get(routeOf(path)) ?? new Set()).add(method));
  }
  for (const [route, allowed] of methods) {
    if (allowed.has('GET')) allowed.add('HEAD');
    app.all(route, (context) => {
      const message = `${context.req.method.slice(0, 20)} is not allowed here: use ${[...allowed].join(' or ')}`;
      return jsonResponse(405, errorText(context.req.path, 405, message), { Allow: [...allowed].join(', ') });
    });
  }
  const unknown = 'there is no such address: see /openapi.json for those that exist';
  app.notFound((context) => jsonResponse(404, errorText(context.req.path, 404, unknown)));
}

function routeOf(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

async function answerCall(parts: AppParts, id: EndpointId, context: Context): Promise<Response> {
  const endpoint: Endpoint = ENDPOINTS[id];
  try {
    return await admitAndHandle(parts, id, endpoint, context);
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal.status === 500) parts.log.error({ endpoint: id, error: String(error) }, 'a request failed');
    const text =
      endpoint.errors === 'envelope' ? errorEnvelope(refusal.status, refusal.message) : messageBody(refusal.message);
    return jsonResponse(refusal.status, text, refusal.headers);
  }
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  // The contract's reader and the handlers report faults of an input as `api_answer` or `usage`.
  if (error instanceof AppError && error.code !== 'internal' && error.code !== 'store_failed') {
    return new Refusal(400, error.message);
  }
  return new Refusal(500, 'the console failed on this request: see its log');
}

async function admitAndHandle(
  parts: AppParts,
  id: EndpointId,
  endpoint: Endpoint,
  context: Context,
): Promise<Response> {
  const authorization = context.req.header('authorization');
  if (id === 'refresh_token') {
    return jsonResponse(200, messageBody(await parts.door.exchange(authorization)));
  }
  const caller = await parts.door.admit(authorization);
  parts.door.permit(caller, id);
  refuseByEdition(parts.edition, endpoint);
  const params = new URL(context.req.url).searchParams;
  const bodyText = endpoint.body || endpoint.takesForm ? await readLimitedText(context.req.raw) : '';
  const form = endpoint.takesForm ? new URLSearchParams(bodyText) : [];
  const query = checked(readQuery(endpoint.query, [...params, ...form]));
  const body = endpoint.body ? checked(readBody(endpoint.body, parseBody(bodyText, endpoint.body))) : undefined;
  // A fault can make a read lag behind: it is then answered from another store.
  const store = (context.get('store') as ConsoleStore | undefined) ?? parts.store;
  const call = {
    store,
    actor: { name: caller.name, via: 'api' },
    query,
    body,
    bodyText,
    params: context.req.param(),
    requestId: endpoint.errors === 'envelope' ? randomUUID() : '',
    pageForm: parts.pageForm,
  } as unknown as Call<never>;
  if (endpoint.writes)
    parts.writes.add(context.req.method, context.req.url, bodyText, caller.name, receivedMs.get(context.req.raw));
  const answer = (HANDLERS[id] as unknown as Handler<never>)(call);
  if (endpoint.writes) parts.afterWrite();
  return responseOf(answer);
}

function refuseByEdition(edition: Edition, endpoint: Endpoint): void {
  if (edition === 'full' || !/event|service/.test(endpoint.path)) return;
  throw new Refusal(403, 'this edition has no events and no services');
}

function checked<T>(reading: { ok: true; value: T } | { ok: false; message: string }): T {
  if (reading.ok) return reading.value;
  throw new Refusal(400, reading.message);
}

/** An absent body is an empty object where nothing is required in it; Content-Type is ignored: clients leave it out. */
function parseBody(text: string, schema: z.ZodType): unknown {
  if (text.trim() !== '') return parseJson(text);
  return schema.safeParse({}).success ? {} : undefined;
}

function parseJson(text: string): unknown {
  try {
    return parseExact(text);
  } catch (error) {
    const why = error instanceof AppError ? error.message : 'it is not valid JSON';
    throw new Refusal(400, `the body can't be read: ${why}`);
  }
}
