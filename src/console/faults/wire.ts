// console faults: what happens on the connection itself.
// In: a request's context. Out: a broken connection, or an answer cut short. Without a socket (a call within the process) a broken
// connection is `Response.error()`.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context } from 'hono';

interface NodeBindings {
  incoming?: IncomingMessage;
  outgoing?: ServerResponse;
}

/** Breaks the connection at once, with a TCP reset. */
export function breakConnection(context: Context): Response {
  const { incoming } = (context.env ?? {}) as NodeBindings;
  if (!incoming) return Response.error();
  incoming.socket.resetAndDestroy();
  return RESPONSE_ALREADY_SENT;
}

/** Sends the beginning of an answer that announces its whole length, then breaks the connection. */
export async function breakWithin(context: Context, answer: Response, keep: number): Promise<Response> {
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
