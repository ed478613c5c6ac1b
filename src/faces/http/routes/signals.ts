// http: where transmitters push signals to (RFC 8935). In: a body that is one SET, from whoever may be anybody. Out: 202 once it is committed, an error as the RFC
// has it, or 503: it can be sent again. No session and no token of ours counts here.
import type { SignalReceiving } from '../../../domain/signal.ts';
import { networkOf } from '../deps.ts';
import { type Ctx, param, type Route, readBodyText } from '../route.ts';

/** A path of one transmitter, as apps know it. */
export const SIGNAL_PATH = /^\/signals\/[^/]+$/;

export function signalRoute(receiving: SignalReceiving): Route {
  return {
    method: 'POST',
    path: '/signals/:name',
    scope: undefined,
    handle: (context) => answered(context, receiving),
  };
}

async function answered(context: Ctx, receiving: SignalReceiving): Promise<Response> {
  const text = await readBodyText(context);
  const { req } = context;
  const address = networkOf(context.env?.incoming?.socket?.remoteAddress ?? '');
  const from = { authorization: req.header('authorization'), type: req.header('content-type'), address };
  const answer = await receiving.receive(param(context, 'name'), text, from);
  const headers: Record<string, string> = { 'Cache-Control': 'no-store' };
  if (answer.status === 202) return new Response(null, { status: 202, headers });
  if (answer.status === 503)
    return new Response(null, { status: 503, headers: { ...headers, 'Retry-After': String(answer.retryAfterS) } });
  return refused(answer.status, answer, headers);
}

function refused(
  status: number,
  { err, description }: { err: string; description: string },
  headers: Record<string, string> = {},
): Response {
  const challenge: Record<string, string> = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {};
  return new Response(JSON.stringify({ err, description }), {
    status,
    headers: { 'Content-Type': 'application/json', 'Content-Language': 'en', ...challenge, ...headers },
  });
}
