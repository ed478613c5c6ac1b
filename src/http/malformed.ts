// http: what is no request that the app could answer: bytes that are not HTTP, headers that are too large or too slow,
// CONNECT. In: a server before it listens. Out: each gets a problem document with the headers of all other answers, and
// its connection is closed. It must never cut off, or answer instead of, a request that came whole.
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { RequestError } from '@hono/node-server';
import { type Answer, Problem, problemAnswer, problemResponse, UNFORESEEN } from './problem.ts';

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
    'The request came too slowly',
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
export function responseWithoutApp(error: unknown): Response {
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
