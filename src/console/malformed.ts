// console: what is no request that the app could answer: bytes that are not HTTP, headers that are too large, a request cut off within its
// body. In: a server before it listens. Out: each gets a `Message` as every other error does, and its connection is closed.
import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { jsonResponse } from './answer.ts';
import { messageBody } from './refusal.ts';

const UNREADABLE: [number, string] = [400, 'the request is not HTTP/1.1: check the client'];
const OF_CODE: Record<string, [number, string]> = {
  HPE_HEADER_OVERFLOW: [431, 'the request line and the headers are too large: send at most 16 KiB'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'the chunk extensions of the body are too large: leave them out'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request did not arrive in time: send it again'],
};
/** How long a closing connection is still read: closing it with unread bytes could lose the answer. */
const LINGER_MS = 500;

/** Instead of the app's answer: its target and Host make no URL. */
export function responseWithoutApp(): Response {
  const message = 'the request needs one path, and a Host header that names this server';
  return jsonResponse(400, messageBody(message), { Connection: 'close' });
}

export function answerMalformed(server: Server): void {
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
