// http: the app on a TCP port. In: an app, host and port (0: any). Out: its address, and a close that ends open
// connections.
import { createServer as createHttpServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { AppError } from '../domain/errors.ts';
import { boundConnections, CONNECTION_LIMITS, type ConnectionLimits, limitUnread, refuse } from './connections.ts';
import type { HttpDeps } from './deps.ts';
import { answerMalformed, responseWithoutApp } from './malformed.ts';
import { createMetricsApp, createWorkerApp, type WorkerDeps } from './open-app.ts';
import type { Env } from './route.ts';

export interface Listening {
  /** `http://host:port` */
  url: string;
  /** Accepts no new request, waits at most `drainMs` (5 s) for those under way, then cuts them off. */
  close(drainMs?: number): Promise<void>;
}

export interface ListenLimits extends ConnectionLimits {
  /** For the headers, and for the whole request, to arrive. */
  headersMs: number;
  requestMs: number;
  /** A request that is late is noticed within this time. */
  lateWithinMs: number;
  /** Until the next request of a connection. */
  idleMs: number;
  /** An answer of which nothing is read. A stream has its own limit. */
  unreadMs: number;
}

const LIMITS: ListenLimits = {
  ...CONNECTION_LIMITS,
  headersMs: 15_000,
  requestMs: 30_000,
  lateWithinMs: 2_000,
  idleMs: 5_000,
  unreadMs: 60_000,
};
const DRAIN_MS = 5_000;

/** What listens, and the name of the configuration that says where. */
interface Listener {
  what: string;
  name: string;
}
const ENDPOINT: Listener = { what: 'the HTTP endpoint', name: 'TRUSTWARD_LISTEN' };

/** The metrics alone. Errors: as `listen`. */
export function listenForMetrics(
  deps: Pick<HttpDeps, 'metrics' | 'log' | 'hosts'>,
  at: { host: string; port: number },
): Promise<Listening> {
  const hosts = { ...deps.hosts, listenHost: at.host };
  const of = { what: 'the listener of the metrics', name: 'TRUSTWARD_METRICS_LISTEN' };
  return listen(createMetricsApp(deps, hosts), at, {}, of);
}

/** Health and metrics of a worker. Errors: as `listen`. */
export function listenForWorker(
  deps: WorkerDeps & Pick<HttpDeps, 'hosts'>,
  at: { host: string; port: number },
): Promise<Listening> {
  const hosts = { ...deps.hosts, listenHost: at.host };
  const of = { what: 'the port of the worker', name: 'TRUSTWARD_WORKER_LISTEN' };
  return listen(createWorkerApp(deps, hosts), at, {}, of);
}

/** Errors: AppError `port_busy` when the address is taken, `config` when it cannot be used at all. */
export async function listen(
  app: Hono<Env>,
  at: { host: string; port: number },
  given: Partial<ListenLimits> = {},
  of: Listener = ENDPOINT,
): Promise<Listening> {
  const limits = { ...LIMITS, ...given };
  const server = createHttpServer(optionsOf(limits));
  const cutOffMalformed = answerMalformed(server);
  const refusalOf = boundConnections(server, limits);
  const answer = getRequestListener(answering(app, limits), {
    overrideGlobalObjects: false,
    errorHandler: responseWithoutApp,
  });
  server.on('request', (request, response) => {
    const refusal = refusalOf(request, response);
    if (refusal) refuse(response, refusal);
    else void answer(request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(refusal(error, at, of)));
    server.listen(at.port, at.host, resolve);
  });
  return {
    url: urlOf(server.address() as AddressInfo),
    close: (drainMs = DRAIN_MS) => close(server, drainMs, cutOffMalformed),
  };
}

function optionsOf({ headersMs, requestMs, lateWithinMs, idleMs }: ListenLimits) {
  return {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: lateWithinMs,
    keepAliveTimeout: idleMs,
    // Ours refuses it, like any wrong host.
    requireHostHeader: false,
  };
}

function answering(app: Hono<Env>, { unreadMs }: ListenLimits) {
  return async (request: Request, env: { outgoing: unknown }): Promise<Response> => {
    const outgoing = env.outgoing as ServerResponse;
    const response = await app.fetch(request, { ...env, outgoing });
    if (response.headers.get('content-type') !== 'text/event-stream') limitUnread(outgoing, unreadMs);
    return response;
  };
}

/** Whether the address is free now. Errors: as `listen`. */
export async function demandFree(at: { host: string; port: number }): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(refusal(error, at, ENDPOINT)));
    server.listen(at.port, at.host, () => server.close(() => resolve()));
  });
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

function close(server: Server, drainMs: number, cutOffMalformed: () => void): Promise<void> {
  return new Promise((resolve) => {
    const cutOff = setTimeout(() => {
      server.closeAllConnections();
      cutOffMalformed();
    }, drainMs);
    server.close(() => {
      clearTimeout(cutOff);
      resolve();
    });
    server.closeIdleConnections();
  });
}

function refusal(
  error: NodeJS.ErrnoException,
  { host, port }: { host: string; port: number },
  { what, name }: Listener,
): AppError {
  const where = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  switch (error.code) {
    case 'EADDRINUSE':
      return new AppError(
        'port_busy',
        `${what} cannot listen on ${where}: another process uses it; end it, or set ${name} to a free port`,
      );
    case 'EACCES':
      return new AppError(
        'config',
        `${what} may not listen on ${where}: ports under 1024 need more rights; set ${name} to a higher one`,
      );
    default:
      return new AppError(
        'config',
        `${what} cannot listen on ${where} (${error.code ?? error.message}): set ${name} to an address of this machine`,
      );
  }
}
