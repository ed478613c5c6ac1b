// console faults: applies faults to a request, before its handler and after. In: a request, the desk. Out: the answer,
// false or late or none. The console's own addresses are never affected.
import type { Context, Hono, MiddlewareHandler } from 'hono';
import type { Clock } from '../../domain/ports.ts';
import { jsonResponse } from '../answer.ts';
import { errorText } from '../refusal.ts';
import type { ConsoleStore } from '../store/store.ts';
import { bombAnswer, cutAnswer, garbageAnswer, slowAnswer } from './bodies.ts';
import type { FaultDesk } from './desk.ts';
import type { Fault } from './fault.ts';
import { breakConnection, breakWithin } from './wire.ts';

export interface FaultParts {
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

const received = new WeakMap<Request, number>();

/** When a request came that a fault holds back; undefined: none does. */
export function receivedMs(request: Request): number | undefined {
  return received.get(request);
}

export function interceptRequests(app: Hono, parts: FaultParts): MiddlewareHandler {
  return async (context, next) => {
    const { pathname, search } = new URL(context.req.url);
    if (OWN.test(pathname) || (context.env as Record<string, unknown> | undefined)?.[SPARED]) return next();
    const faults = parts.desk.befalling(context.req.method, pathname + search);
    if (faults.length === 0) return next();
    received.set(context.req.raw, parts.clock.nowMs());
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
    const cameMs = received.get(context.req.raw);
    if (cameMs !== undefined) received.set(later, cameMs);
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
