// console faults: applies faults to a request, before its handler and after. In: a request, the desk. Out: the answer,
// false or late or none. The console's own addresses are never affected.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { createGzip, gzipSync } from 'node:zlib';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { z } from 'zod';
import type { Clock } from '../../domain/ports.ts';
import { parseExact, readBody } from '../../platform/contract.ts';
import { errorText, jsonResponse, messageBody, Refusal, readLimitedText } from '../answer.ts';
import { type Doorkeeper, receivedMs } from '../app.ts';
import { type Choices, choicesFrom } from '../seed/random.ts';
import { type ConsoleStore, copyDatabase, Sql } from '../store/store.ts';

// Malformed bodies.

const JSON_TYPE = { 'Content-Type': 'application/json' };

/** The framing is right: the JSON, or the gzip around it, ends too soon. */
async function cutAnswer(answer: Response, how: 'json' | 'gzip', keep: number): Promise<Response> {
  const whole = Buffer.from(await answer.arrayBuffer());
  const bytes = how === 'gzip' ? gzipSync(whole) : whole;
  const cut = bytes.subarray(0, Math.min(Math.floor(bytes.length * keep), bytes.length - 1));
  const headers = { ...JSON_TYPE, ...(how === 'gzip' ? { 'Content-Encoding': 'gzip' } : {}) };
  return new Response(new Uint8Array(cut), { status: answer.status, headers });
}

/** The same answer, a few bytes at a time. */
async function slowAnswer(answer: Response, pieceBytes: number, everyMs: number, clock: Clock): Promise<Response> {
  const whole = new Uint8Array(await answer.arrayBuffer());
  const ending = new AbortController();
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (sent > 0) await clock.sleep(everyMs, ending.signal);
      controller.enqueue(whole.subarray(sent, sent + pieceBytes));
      sent += pieceBytes;
      if (sent >= whole.length) controller.close();
    },
    cancel: () => ending.abort(),
  });
  return new Response(body, { status: answer.status, headers: answer.headers });
}

function garbageAnswer(body: string | undefined): Response {
  return new Response(body ?? '\u0000<!doctype html><html>{"Message": "Succ\uFFFD', {
    status: 200,
    headers: JSON_TYPE,
  });
}

const MEGABYTE = Buffer.alloc(1_048_576, ' ');

/** A JSON list that is blank for as many megabytes as asked for. */
function bombAnswer(megabytes: number, isPacked: boolean): Response {
  const plain = Readable.from(
    (function* () {
      yield Buffer.from('[');
      for (let each = 0; each < megabytes; each++) yield MEGABYTE;
      yield Buffer.from(']');
    })(),
  );
  const stream = isPacked ? plain.pipe(createGzip({ level: 1 })) : plain;
  // Hanging up on a bomb is right.
  stream.on('error', () => plain.destroy());
  stream.on('close', () => plain.destroy());
  return new Response(Readable.toWeb(stream) as ReadableStream<Uint8Array>, {
    status: 200,
    headers: { ...JSON_TYPE, ...(isPacked ? { 'Content-Encoding': 'gzip' } : {}) },
  });
}

// The faults that can be set.

const match = z.strictObject({
  method: z.enum(['GET', 'POST', 'PUT', 'DELETE']).optional(),
  /** A prefix of the path, such as `/api/v1/devices`; or a regular expression over path and query when it begins with `^`. */
  path: z.string().max(200).refine(isReadable, 'is not a regular expression').optional(),
});

const common = {
  id: z.string().max(100).optional(),
  match: match.default({}),
  /** The share of matching requests that it affects. */
  rate: z.number().min(0).max(1).default(1),
  /** The maximum number of requests that it affects. */
  times: z.int().min(1).optional(),
  /** How many matching requests it lets pass first. */
  skip: z.int().min(0).default(0),
};
const ms = z.number().min(0).max(600_000);
/** Whether the request still has its effect before the false answer. */
const effect = z.boolean().default(false);

const Fault = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('latency'), ...common, ms }),
  z.strictObject({ kind: z.literal('error'), ...common, effect, status: z.int().min(400).max(599).default(503) }),
  /** The connection breaks before the request has an effect. */
  z.strictObject({ kind: z.literal('reset_before'), ...common }),
  /** The request has its effect, and the connection breaks before the answer. */
  z.strictObject({ kind: z.literal('reset_after'), ...common }),
  /** The request has its effect `ms` later; before that its sender gets no answer, or an error. */
  z.strictObject({
    kind: z.literal('late_effect'),
    ...common,
    ms,
    answer: z.enum(['reset', 'error', 'silence']).default('reset'),
  }),
  /** Reads answer what was true when the fault was set. */
  z.strictObject({ kind: z.literal('stale_read'), ...common }),
  /** The answer ends too soon: the connection breaks, or the framing is right and the JSON or the gzip within is cut. */
  z.strictObject({
    kind: z.literal('truncated'),
    ...common,
    how: z.enum(['connection', 'json', 'gzip']).default('connection'),
    keep: z.number().min(0).max(1).default(0.5),
  }),
  /** 200 with anything: bytes that are not JSON, or the given body. */
  z.strictObject({ kind: z.literal('garbage'), ...common, effect, body: z.string().max(1_000_000).optional() }),
  z.strictObject({ kind: z.literal('unauthorized'), ...common }),
  z.strictObject({ kind: z.literal('rate_limited'), ...common, retryAfterS: z.number().min(0).max(3_600).default(1) }),
  /** Pages after the first begin `by` records later (or earlier): records are missed (or repeated). */
  z.strictObject({ kind: z.literal('shift_pages'), ...common, by: z.int().min(-1_000).max(1_000).default(1) }),
  /** Filters are ignored. */
  z.strictObject({ kind: z.literal('ignore_filter'), ...common }),
  z.strictObject({
    kind: z.literal('slow_body'),
    ...common,
    pieceBytes: z.int().min(1).default(64),
    everyMs: ms.default(50),
  }),
  /** A body that is huge when unpacked, or as sent. */
  z.strictObject({
    kind: z.literal('bomb'),
    ...common,
    megabytes: z.int().min(1).max(4_096).default(256),
    gzip: z.boolean().default(true),
  }),
  z.strictObject({
    kind: z.literal('redirect'),
    ...common,
    status: z.union([z.literal(301), z.literal(302), z.literal(307), z.literal(308)]).default(307),
    location: z.string().max(1_000).default('/elsewhere'),
  }),
]);
type Fault = z.output<typeof Fault>;
export type FaultInput = z.input<typeof Fault>;

/** A list, or a list with the seed that its choices repeat with. */
const FaultPlan = z.union([
  z.array(Fault).max(100),
  z.strictObject({ seed: z.int().default(1), faults: z.array(Fault).max(100) }),
]);
type FaultPlanInput = z.input<typeof FaultPlan>;

function isReadable(path: string): boolean {
  if (!path.startsWith('^')) return true;
  try {
    new RegExp(path);
    return true;
  } catch {
    return false;
  }
}

// Which faults are set, and which of them affect a request.

interface FaultStatus {
  fault: Fault;
  /** How many requests matched, and how many of them it affected. */
  matched: number;
  fired: number;
}

interface ActiveFault extends FaultStatus {
  choices: Choices;
}

export interface FaultDesk {
  /** Replaces the current faults. Throws a ZodError for an invalid plan. */
  set(plan: FaultPlanInput): void;
  clear(): void;
  status(): FaultStatus[];
  /** `address` is path and query. */
  befalling(method: string, address: string): Fault[];
}

/** `onChange` receives whether any active fault makes reads lag behind. */
function openFaultDesk(onChange: (hasStaleReads: boolean) => void): FaultDesk {
  let active: ActiveFault[] = [];

  function set(input: FaultPlanInput): void {
    const plan = FaultPlan.parse(input);
    const { seed, faults } = Array.isArray(plan) ? { seed: 1, faults: plan } : plan;
    active = faults.map((fault, index) => ({
      fault,
      matched: 0,
      fired: 0,
      choices: choicesFrom(seed * 1_009 + index),
    }));
    onChange(faults.some((fault) => fault.kind === 'stale_read'));
  }

  return {
    set,
    clear: () => set([]),
    status: () => active.map(({ fault, matched, fired }) => ({ fault, matched, fired })),
    befalling: (method, address) => active.filter((each) => fires(each, method, address)).map((each) => each.fault),
  };
}

function fires(active: ActiveFault, method: string, address: string): boolean {
  const { fault } = active;
  if (!matches(fault, method, address)) return false;
  active.matched++;
  if (active.matched <= fault.skip) return false;
  if (fault.times !== undefined && active.fired >= fault.times) return false;
  if (!active.choices.chance(fault.rate)) return false;
  active.fired++;
  return true;
}

function matches(fault: Fault, method: string, address: string): boolean {
  const { method: wanted, path } = fault.match;
  if (wanted && wanted !== method) return false;
  if (path === undefined) return true;
  return path.startsWith('^') ? new RegExp(path).test(address) : address.startsWith(path);
}

// What happens on the connection itself.

interface NodeBindings {
  incoming?: IncomingMessage;
  outgoing?: ServerResponse;
}

/** Breaks the connection at once, with a TCP reset. */
function breakConnection(context: Context): Response {
  const { incoming } = (context.env ?? {}) as NodeBindings;
  if (!incoming) return Response.error();
  incoming.socket.resetAndDestroy();
  return RESPONSE_ALREADY_SENT;
}

/** Sends the beginning of an answer that announces its whole length, then breaks the connection. */
async function breakWithin(context: Context, answer: Response, keep: number): Promise<Response> {
  const bytes = Buffer.from(await answer.arrayBuffer());
  const { outgoing } = (context.env ?? {}) as NodeBindings;
  if (!outgoing) return new Response(bytes.subarray(0, Math.floor(bytes.length * keep)), answer);
  outgoing.writeHead(answer.status, {
    ...Object.fromEntries(answer.headers),
    'content-length': String(Math.max(1, bytes.length)),
  });
  await new Promise<void>((resolve) => {
    outgoing.write(bytes.subarray(0, Math.min(Math.floor(bytes.length * keep), bytes.length - 1)), () => resolve());
  });
  outgoing.socket?.destroySoon();
  return RESPONSE_ALREADY_SENT;
}

interface FaultParts {
  desk: FaultDesk;
  clock: Clock;
  /** The state from when a stale read was set. */
  staleStore(): ConsoleStore | undefined;
  /** Aborted when the console closes: late effects then never happen. */
  closing: AbortSignal;
}

const OWN = /^\/(faults|healthz|openapi\.json|effects|notifications|certificates)/;
/** Requests that come back late: no fault affects them a second time. */
const SPARED = 'fault-spared';
const SILENCE_MS = 600_000;

function interceptRequests(app: Hono, parts: FaultParts): MiddlewareHandler {
  return async (context, next) => {
    const { pathname, search } = new URL(context.req.url);
    if (OWN.test(pathname) || (context.env as Record<string, unknown> | undefined)?.[SPARED]) return next();
    const faults = parts.desk.befalling(context.req.method, pathname + search);
    if (faults.length === 0) return next();
    receivedMs.set(context.req.raw, parts.clock.nowMs());
    for (const fault of faults) if (fault.kind === 'latency') await parts.clock.sleep(fault.ms, parts.closing);
    for (const fault of faults) {
      const instead = await answerInstead(app, parts, context, fault);
      if (instead) return instead;
    }
    for (const fault of faults) changeRequest(parts, context, fault);
    await next();
    for (const fault of faults) {
      const changed = await changeAnswer(parts, context, fault);
      // Set twice: an answer set over another one would take over its headers.
      context.res = undefined;
      context.res = changed;
    }
  };
}

/** The answer of a fault that bypasses the handler. */
async function answerInstead(
  app: Hono,
  parts: FaultParts,
  context: Context,
  fault: Fault,
): Promise<Response | undefined> {
  switch (fault.kind) {
    case 'reset_before':
      return breakConnection(context);
    case 'error':
      return fault.effect ? undefined : errorAnswer(context, fault.status);
    case 'garbage':
      return fault.effect ? undefined : garbageAnswer(fault.body);
    case 'unauthorized':
      return errorAnswer(context, 401);
    case 'rate_limited':
      return errorAnswer(context, 429, { 'Retry-After': String(fault.retryAfterS) });
    case 'redirect':
      return new Response(null, { status: fault.status, headers: { Location: fault.location } });
    case 'bomb':
      return bombAnswer(fault.megabytes, fault.gzip);
    case 'late_effect':
      return happenLater(app, parts, context, fault);
    default:
      return undefined;
  }
}

async function happenLater(
  app: Hono,
  parts: FaultParts,
  context: Context,
  fault: Extract<Fault, { kind: 'late_effect' }>,
): Promise<Response> {
  const { method, url, headers } = context.req.raw;
  const body = method === 'GET' || method === 'HEAD' ? undefined : await context.req.raw.text();
  const later = new Request(url, { method, headers: new Headers(headers), ...(body === undefined ? {} : { body }) });
  const happen = async (): Promise<void> => {
    await parts.clock.sleep(fault.ms, parts.closing);
    const cameMs = receivedMs.get(context.req.raw);
    if (cameMs !== undefined) receivedMs.set(later, cameMs);
    if (!parts.closing.aborted) await app.fetch(later, { [SPARED]: true });
  };
  // It ends with the console: a pending effect then never comes.
  void happen().catch(() => undefined);
  if (fault.answer === 'error') return errorAnswer(context, 504);
  if (fault.answer === 'silence') await parts.clock.sleep(SILENCE_MS, parts.closing).catch(() => undefined);
  return breakConnection(context);
}

/** Every other parameter of a list is a filter. */
const NO_FILTER = /^(skip|limit|order|order_?by|before|after|start_time|end_time)$/i;

/** Changes what the handler will see. Only reads are changed. */
function changeRequest(parts: FaultParts, context: Context, fault: Fault): void {
  if (context.req.method !== 'GET') return;
  const url = new URL(context.req.url);
  switch (fault.kind) {
    case 'stale_read': {
      const stale = parts.staleStore();
      if (stale) context.set('store', stale);
      return;
    }
    case 'shift_pages':
      for (const [name, value] of [...url.searchParams]) {
        if (name.toLowerCase() === 'skip' && Number(value) > 0) {
          url.searchParams.set(name, String(Math.max(0, Number(value) + fault.by)));
        }
      }
      break;
    case 'ignore_filter':
      for (const name of [...url.searchParams.keys()]) if (!NO_FILTER.test(name)) url.searchParams.delete(name);
      break;
    default:
      return;
  }
  context.req.raw = new Request(url, { method: 'GET', headers: new Headers(context.req.raw.headers) });
}

async function changeAnswer(parts: FaultParts, context: Context, fault: Fault): Promise<Response> {
  const answer = context.res;
  switch (fault.kind) {
    case 'reset_after':
      await answer.arrayBuffer();
      return breakConnection(context);
    case 'error':
      return errorAnswer(context, fault.status);
    case 'garbage':
      return garbageAnswer(fault.body);
    case 'truncated':
      return fault.how === 'connection'
        ? breakWithin(context, answer, fault.keep)
        : cutAnswer(answer, fault.how, fault.keep);
    case 'slow_body':
      return slowAnswer(answer, fault.pieceBytes, fault.everyMs, parts.clock);
    default:
      return answer;
  }
}

function errorAnswer(context: Context, status: number, headers: Record<string, string> = {}): Response {
  const message = 'this fault was requested';
  return jsonResponse(status, errorText(context.req.path, status, message), headers);
}

// The desk, its address and its interception, put together. In: an app before its routes. Out: the
// desk. While a stale read is set, it keeps a copy of the database from when it was set.

// The address `/faults`: setting, reading and clearing them over HTTP.

export const FAULT_ADDRESSES = ['GET', 'PUT', 'DELETE'].map((method) => ({ method, path: '/faults' }));

function addFaultAddresses(app: Hono, desk: FaultDesk, door: Doorkeeper): void {
  app.on(['GET', 'PUT', 'DELETE'], '/faults', async (context) => {
    try {
      const caller = await door.admit(context.req.header('authorization'));
      if (caller.kind !== 'admin_token') throw new Refusal(403, 'faults need the admin token');
      if (context.req.method === 'DELETE') desk.clear();
      if (context.req.method === 'PUT') desk.set(await readPlan(context.req.raw));
      return jsonResponse(200, JSON.stringify({ data: desk.status() }));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return jsonResponse(error.status, messageBody(error.message), error.headers);
    }
  });
}

async function readPlan(request: Request): Promise<FaultPlanInput> {
  let body: unknown;
  try {
    body = parseExact(await readLimitedText(request));
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal(400, 'the body must be a JSON list of faults');
  }
  const reading = readBody(FaultPlan, body);
  if (!reading.ok) throw new Refusal(400, reading.message);
  return body as FaultPlanInput;
}

/** Must be called before any route is added: interception comes first. */
export function addFaults(app: Hono, store: ConsoleStore, door: Doorkeeper, closing: AbortSignal): FaultDesk {
  let stale: ConsoleStore | undefined;
  const forget = (): void => {
    stale?.sql.db.close();
    stale = undefined;
  };
  const desk = openFaultDesk((hasStaleReads) => {
    forget();
    if (hasStaleReads) stale = { ...store, sql: new Sql(copyDatabase(store.sql.db)) };
  });
  closing.addEventListener('abort', forget, { once: true });
  app.use('*', interceptRequests(app, { desk, clock: store.clock, staleStore: () => stale, closing }));
  addFaultAddresses(app, desk, door);
  return desk;
}
