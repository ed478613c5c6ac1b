// http: the app on a TCP port. In: an app, host and port (0: any). Out: its address, and a close that ends open
// connections.
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener, RequestError } from '@hono/node-server';
import { Hono } from 'hono';
import type { HostPolicy } from '../../base/hosts.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import type { HttpDeps, MetricsPort } from './deps.ts';
import {
  type Answer,
  Problem,
  problemAnswer,
  problemOf,
  problemResponse,
  SECURITY_HEADERS,
  UNFORESEEN,
} from './problem.ts';
import { addRoutes, demandHost, type Env, noRoute, type Route } from './route.ts';
import { healthRoutes, metricsRoute } from './routes/health.ts';

// How many connections there may be, and what one of them may hold.

interface ConnectionLimits {
  connectionsMax: number;
  /** Requests of one connection that are under way. */
  pipelinedMax: number;
  headersMax: number;
  targetLengthMax: number;
}

const CONNECTION_LIMITS: ConnectionLimits = {
  connectionsMax: 1_000,
  pipelinedMax: 64,
  headersMax: 100,
  targetLengthMax: 8_192,
};

/** Beyond the bound, for health and the stop alone. */
const RESERVED = 100;
const ESSENTIAL =
  /^((GET|HEAD) \/healthz|GET \/readyz|POST (\/api(\/orgs\/[a-z0-9-]+)?|\/orgs\/[a-z0-9-]+\/api)\/stop)$/;

/** @returns the refusal of a request; undefined: it is to be answered. */
function boundConnections(server: Server, limits: ConnectionLimits) {
  const open = new Set<Socket>();
  /** Without a request under way, the longest first. */
  const waiting = new Set<Socket>();
  const underWay = new WeakMap<Socket, number>();
  const beyond = new WeakSet<Socket>();
  // The surplus is refused below. Node would leave it out without a word.
  server.maxHeadersCount = 0;
  server.maxConnections = limits.connectionsMax + RESERVED;
  server.on('connection', (socket: Socket) => {
    const [longest] = open.size >= limits.connectionsMax ? waiting : [];
    if (longest) {
      open.delete(longest);
      waiting.delete(longest);
      longest.destroy();
    } else if (open.size >= limits.connectionsMax) beyond.add(socket);
    open.add(socket);
    waiting.add(socket);
    socket.once('close', () => {
      open.delete(socket);
      waiting.delete(socket);
    });
  });
  return (request: IncomingMessage, response: ServerResponse): Problem | undefined => {
    const { socket } = request;
    const count = (underWay.get(socket) ?? 0) + 1;
    underWay.set(socket, count);
    waiting.delete(socket);
    response.once('close', () => {
      const left = (underWay.get(socket) ?? 1) - 1;
      underWay.set(socket, left);
      if (left === 0 && open.has(socket)) waiting.add(socket);
    });
    const isOver = beyond.has(socket) && open.size > limits.connectionsMax;
    if (isOver && !isEssential(request)) return tooManyConnections(limits);
    return refusalOf(request, count, limits);
  };
}

function isEssential({ method, url = '' }: IncomingMessage): boolean {
  return ESSENTIAL.test(`${method} ${url.split('?', 1)[0]}`);
}

function refusalOf(request: IncomingMessage, count: number, limits: ConnectionLimits): Problem | undefined {
  const { pipelinedMax, headersMax, targetLengthMax } = limits;
  if (count > pipelinedMax) {
    const detail = `${pipelinedMax} requests of this connection are under way: wait for their answers`;
    return new Problem(429, 'too-many-requests', 'Too many at once', detail, { headers: { 'Retry-After': '1' } });
  }
  if ((request.url ?? '').length > targetLengthMax) {
    const detail = `the path and the query are too long: send at most ${targetLengthMax} characters`;
    return new Problem(414, 'long-address', 'The address is too long', detail);
  }
  if (request.rawHeaders.length > 2 * headersMax) {
    const detail = `the request has too many headers: send at most ${headersMax}`;
    return new Problem(431, 'large-headers', 'The headers are too large', detail);
  }
  return undefined;
}

function tooManyConnections({ connectionsMax }: ConnectionLimits): Problem {
  const detail = `${connectionsMax} connections are open: close some, or connect again later`;
  return new Problem(503, 'too-many-connections', 'Too many connections', detail, { headers: { 'Retry-After': '5' } });
}

/** The last answer of its connection. */
function refuse(response: ServerResponse, problem: Problem): void {
  const { status, headers, body } = problemAnswer(problem);
  const length = String(Buffer.byteLength(body));
  response.writeHead(status, { ...headers, 'Content-Length': length, Connection: 'close' }).end(body);
}

/** An answer that its client does not read is cut off after this long without progress; it would be held for ever. */
function limitUnread(response: ServerResponse, unreadMs: number): void {
  response.setTimeout(unreadMs, () => response.destroy());
  // Before the server sets the time that a connection may wait for its next request.
  response.prependOnceListener('finish', () => response.socket?.setTimeout(0));
}

// What is no request that the app could answer: bytes that are not HTTP, headers that are too large or too slow,
// CONNECT.

const BAD_REQUEST = 'The request is wrong';
const UNREADABLE = new Problem(400, 'malformed', BAD_REQUEST, 'the request is not HTTP/1.1: check the client');
const UNADDRESSED = new Problem(
  400,
  'bad-request',
  BAD_REQUEST,
  'the request needs one path, and a Host header that names this endpoint',
  { headers: { Connection: 'close' } },
);
const OF_CODE: Record<string, Problem> = {
  HPE_HEADER_OVERFLOW: new Problem(
    431,
    'large-headers',
    'The headers are too large',
    'the request line and the headers are too large: send at most 16 KiB',
  ),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: new Problem(
    413,
    'too-large',
    'The body is too large',
    'the chunk extensions of the body are too large: leave them out',
  ),
  ERR_HTTP_REQUEST_TIMEOUT: new Problem(
    408,
    'slow-request',
    'The request took too long to arrive',
    'the request did not arrive in time: send it again',
  ),
};
const NO_TUNNEL = new Problem(
  405,
  'method-not-allowed',
  'The method is not allowed',
  'CONNECT is not allowed here: the endpoint is no proxy',
  { headers: { Allow: 'GET, HEAD, POST' } },
);

/** How long a closing connection is still read: closing it with unread bytes could lose the answer. */
const LINGER_MS = 500;

/** Instead of the app's answer: for a request whose target or Host makes no URL, or if even the app's errors fail. */
function responseWithoutApp(error: unknown): Response {
  return problemResponse(error instanceof RequestError ? UNADDRESSED : UNFORESEEN);
}

/** @returns what cuts off the connections that still end: the server does not know those of a CONNECT any more. */
export function answerMalformed(server: Server): () => void {
  const exchanges = new WeakMap<Duplex, Exchange[]>();
  const ending = new Set<Duplex>();
  /** Once: what follows on the same connection fails again. */
  const end = (socket: Duplex, problem: Problem): void => {
    if (ending.has(socket)) return;
    ending.add(socket);
    socket.once('close', () => ending.delete(socket));
    socket.on('error', () => {}); // the sender is gone: nobody reads the answer
    void answerLast(socket, problem, exchanges.get(socket) ?? []);
  };
  server.on('request', (request, response) => {
    const before = exchanges.get(request.socket) ?? [];
    exchanges.set(request.socket, [...before.filter(isOpen), { request, response }]);
  });
  // An unknown expectation may be ignored. Without this, an answer without our headers refuses it.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('connect', (_request, socket) => end(socket, NO_TUNNEL));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET') socket.destroy();
    else end(socket, OF_CODE[error.code ?? ''] ?? UNREADABLE);
  });
  return () => {
    for (const socket of ending) socket.destroy();
  };
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

function isOpen({ response }: Exchange): boolean {
  return !response.writableFinished && !response.destroyed;
}

/** After the answers to the requests that came whole. A request whose body broke off after its answer has had its own. */
async function answerLast(socket: Duplex, problem: Problem, exchanges: readonly Exchange[]): Promise<void> {
  const whole = exchanges.filter((exchange) => exchange.request.complete && isOpen(exchange));
  await Promise.all(whole.map(({ response }) => new Promise((resolve) => response.once('close', resolve))));
  const broken = exchanges.find(({ request }) => !request.complete);
  if (broken?.response.headersSent) socket.destroy();
  else close(socket, problem);
}

function close(socket: Duplex, problem: Problem): void {
  if (!socket.writable) return;
  socket.end(bytesOf(problemAnswer(problem)));
  socket.resume();
  const late = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(late));
}

function bytesOf({ status, headers, body }: Answer): string {
  const all = { ...headers, 'Content-Length': String(Buffer.byteLength(body)), Connection: 'close' };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
}

// Listeners beside the endpoint, without a token, for the hosts that are ours: the metrics of a daemon, and those of a
// worker with its health.

type MetricsDeps = Pick<HttpDeps, 'log'> & { metrics: Pick<MetricsPort, 'contentType' | 'text'> };
type WorkerDeps = MetricsDeps & Pick<HttpDeps, 'readiness'>;

function createMetricsApp(deps: MetricsDeps, hosts: HostPolicy): Hono<Env> {
  return openApp([metricsRoute(deps)], deps, hosts);
}

function createWorkerApp(deps: WorkerDeps, hosts: HostPolicy): Hono<Env> {
  const health = healthRoutes({ demo: false, readiness: () => deps.readiness() });
  return openApp([...health, metricsRoute(deps)], deps, hosts);
}

function openApp(guarded: readonly Route[], { log }: Pick<HttpDeps, 'log'>, hosts: HostPolicy): Hono<Env> {
  const app = new Hono<Env>();
  const routes = guarded.map((route) => ({ ...route, scope: undefined }));
  app.use(async (context, next) => {
    await next();
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) context.res.headers.set(name, value);
  });
  app.use(async (context, next) => {
    demandHost(context, hosts);
    await next();
  });
  addRoutes(app, routes);
  app.notFound(({ req }) => problemResponse(noRoute(routes, req.method, req.path), req.path));
  app.onError((error, { req }) => {
    const problem = problemOf(error);
    if (!problem) log.error({}, `\`${req.path}\` could not be answered: ${lineOf(error)}`);
    return problemResponse(problem ?? UNFORESEEN, req.path);
  });
  return app;
}

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
    close: (drainMs = DRAIN_MS) => closeServer(server, drainMs, cutOffMalformed),
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

function closeServer(server: Server, drainMs: number, cutOffMalformed: () => void): Promise<void> {
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
