// http: how many connections there may be, and what one of them may hold. In: a server before it listens. Out: the refusal of a request
// that is beyond a bound. A new connection takes the place of the one that waits longest without a request, so that idle and slow
// clients keep nobody out; health and the stop are answered even when none waits.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Problem, problemAnswer } from './problem.ts';

export interface ConnectionLimits {
  connectionsMax: number;
  /** Requests of one connection that are under way. */
  pipelinedMax: number;
  headersMax: number;
  targetLengthMax: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
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
export function boundConnections(server: Server, limits: ConnectionLimits) {
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
export function refuse(response: ServerResponse, problem: Problem): void {
  const { status, headers, body } = problemAnswer(problem);
  const length = String(Buffer.byteLength(body));
  response.writeHead(status, { ...headers, 'Content-Length': length, Connection: 'close' }).end(body);
}

/** An answer that its client does not read is cut off after this long without progress; it would be held for ever. */
export function limitUnread(response: ServerResponse, unreadMs: number): void {
  response.setTimeout(unreadMs, () => response.destroy());
  // Before the server sets the time that a connection may wait for its next request.
  response.prependOnceListener('finish', () => response.socket?.setTimeout(0));
}
