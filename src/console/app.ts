// console: the HTTP face: routes from the contract's table, admission, checking, and errors in their two shapes.
// In: requests, hostile. Out: responses. No request may crash it, and none is half done: everything is checked before a
// handler changes anything.
import { randomUUID } from 'node:crypto';
import type { Context, Hono } from 'hono';
import type { z } from 'zod';
import { AppError } from '../domain/errors.ts';
import type { Log } from '../domain/ports.ts';
import {
  ENDPOINT_IDS,
  ENDPOINTS,
  type Endpoint,
  type EndpointId,
  parseExact,
  readBody,
  readQuery,
} from '../management/contract.ts';
import { jsonResponse, responseOf } from './answer.ts';
import type { Doorkeeper } from './auth.ts';
import { readLimitedText } from './body.ts';
import type { Edition } from './editions.ts';
import { receivedMs } from './faults/interception.ts';
import { HANDLERS } from './handlers/all.ts';
import type { Call, Handler } from './handlers/call.ts';
import { errorEnvelope, errorText, messageBody, Refusal } from './refusal.ts';
import type { RecordForm } from './store/records.ts';
import type { ConsoleStore } from './store/store.ts';
import type { WriteLog } from './write-log.ts';

export interface AppParts {
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
    parts.writes.add(context.req.method, context.req.url, bodyText, caller.name, receivedMs(context.req.raw));
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
