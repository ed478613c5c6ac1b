// test: single requests at an attacked endpoint, over its socket and as they are: no client makes a path of theirs another one. In: an address, a
// request. Out: the whole answer.
import { type IncomingMessage, request } from 'node:http';

export interface Sent {
  method: string;
  /** `ORG` stands for the name of the organization. */
  path: string;
  headers: Record<string, string>;
  body?: string | undefined;
}

export interface Answered {
  status: number;
  headers: IncomingMessage['headers'];
  body: string;
  /** Status, headers and body, without the time. */
  whole: string;
}

export const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

export async function ask(url: string, sent: Sent): Promise<Answered> {
  const answer = await begun(url, sent);
  const isStream = answer.headers['content-type'] === 'text/event-stream';
  const body = isStream ? await firstOf(answer) : await wholeOf(answer);
  const { date: _, ...headers } = answer.headers;
  const status = answer.statusCode ?? 0;
  return { status, headers, body, whole: JSON.stringify([status, Object.entries(headers).sort(), body]) };
}

/** All that a stream sends while `work` happens, until `last` is in it. */
export async function streamed(
  url: string,
  id: string,
  token: string,
  last: string,
  work: () => Promise<void>,
): Promise<string> {
  const answer = await begun(url, { method: 'GET', path: `/api/orgs/${id}/stream`, headers: bearer(token) });
  let text = '';
  const ended = (async () => {
    for await (const piece of answer) {
      text += piece;
      if (text.includes(last)) break;
    }
  })();
  await work();
  await ended;
  return text;
}

export async function sessionOf(url: string, id: string, token: string): Promise<string> {
  const { origin } = new URL(url);
  const headers = { origin, 'content-type': 'application/x-www-form-urlencoded' };
  const { headers: got } = await ask(url, {
    method: 'POST',
    path: `/orgs/${id}/sign-in`,
    headers,
    body: `token=${token}`,
  });
  const cookie = got['set-cookie']?.[0]?.split(';')[0];
  if (cookie === undefined) throw new Error(`nobody can sign in to ${id}`);
  return cookie;
}

/** Begins a run with a key. */
export async function keyed(
  url: string,
  id: string,
  token: string,
  key: string,
): Promise<{ location: string; isReplayed: boolean }> {
  const headers = { ...bearer(token), 'content-type': 'application/json', 'Idempotency-Key': key };
  const body = JSON.stringify({ mode: 'dry-run' });
  const answer = await ask(url, { method: 'POST', path: `/api/orgs/${id}/runs`, headers, body });
  if (answer.status !== 202) throw new Error(`${id} could not begin a run: ${answer.whole}`);
  return { location: answer.headers.location ?? '', isReplayed: answer.headers['idempotency-replayed'] !== undefined };
}

function begun(url: string, { method, path, headers, body }: Sent): Promise<IncomingMessage> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    // A connection of its own: one that is used again may be closed meanwhile.
    const made = request({ hostname, port, method, path, headers: { ...headers, ...length }, agent: false }, resolve);
    made.on('error', reject);
    made.end(body);
  });
}

async function wholeOf(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of answer) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}

/** What a stream sends at first, and then no more. */
async function firstOf(answer: IncomingMessage): Promise<string> {
  for await (const piece of answer) return String(piece);
  return '';
}
