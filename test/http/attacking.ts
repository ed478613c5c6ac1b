// test: requests of who belongs to one organization, at another: all operations and pages, with the ids of the other, with each kind of token,
// with sessions, over each form of a path. In: how many. Out: what was read, changed or told. The measure of telling is an organization that
// does not exist: whatever is answered about the other must be answered about it alike, byte for byte.
import fc from 'fast-check';
import type { Hono } from 'hono';
import { listen } from '../../src/http/listen.ts';
import type { Env } from '../../src/http/route.ts';
import { createPages } from '../../src/web/index.ts';
import { type OpenApiRequest, openApiRequests } from '../support/openapi-requests.ts';
import { type Credential, ORIGIN, type Organizations, openOrganizations } from '../support/organizations.ts';
import { dial } from '../support/raw-socket.ts';

const [OWN, OTHER, ABSENT] = ['alpha', 'quokka', 'walrus'] as const;
const HOST = new URL(ORIGIN).host;
/** What the attacker knows of the other organization. */
const KNOWN = ['run', 'dry', 'plan', 'intent', 'held', 'acted', 'decision', 'device', 'SERIAL'].map(
  (id) => `${OTHER}-${id}`,
);
const NAMES = [
  'id',
  'name',
  'run',
  'rule',
  'subject',
  'target',
  'only',
  'of',
  'before',
  'after',
  'kind',
  'Idempotency-Key',
];

export interface Attacked {
  faults: string[];
  /** Answers by what was attacked and status. */
  answers: Map<string, number>;
  requests: number;
}

interface Sent {
  method: string;
  /** `ORG` stands for the name of the organization. */
  path: string;
  headers: Record<string, string>;
  body: string | undefined;
}

export async function attack(count: number, seed: number): Promise<Attacked> {
  const on = await openOrganizations([OWN, OTHER]);
  const victim = on.of(OTHER);
  const own = on.of(OWN);
  // It is open, and somebody is signed in: what could be found is there.
  await ask(on.app, {
    method: 'GET',
    path: `/api/orgs/${OTHER}/runs`,
    headers: bearer(victim.tokens.read),
    body: undefined,
  });
  const theirs = await sessionOf(on, OTHER, victim.tokens.admin);
  const cookie = await sessionOf(on, OWN, own.tokens.admin);
  await keyed(on);
  const before = victim.bytes();
  const result: Attacked = { faults: [], answers: new Map(), requests: 0 };
  for (const sent of await requestsOf(on, cookie, count, seed)) {
    if (result.faults.length >= 20) break;
    await tryOne(on, sent, result, victim.secret);
  }
  if (!victim.bytes().equals(before)) result.faults.push('the database of the other organization has changed');
  const open = await ask(on.app, {
    method: 'GET',
    path: `/orgs/${OTHER}/runs`,
    headers: { cookie: theirs },
    body: undefined,
  });
  if (open.status !== 200) result.faults.push('the session of another person was ended');
  return result;
}

/** Addresses that reach a server only over a socket: no client sends them. */
export async function attackBySocket(): Promise<{ faults: string[]; requests: number }> {
  const on = await openOrganizations([OWN, OTHER]);
  const served = await listen(on.app, { host: '127.0.0.1', port: 0 });
  const { admin } = on.of(OWN).tokens;
  const { host } = new URL(served.url);
  const before = on.of(OTHER).bytes();
  const faults: string[] = [];
  const lines = RAW.flatMap((path) => ['GET', 'POST'].map((method) => `${method} ${path} HTTP/1.1`));
  const told = async (line: string) => {
    const length = line.startsWith('POST') ? 'Content-Length: 2\r\n' : '';
    const body = length === '' ? '' : '{}';
    const head = `${line}\r\nHost: ${host}\r\nAuthorization: Bearer ${admin}\r\nConnection: close\r\n${length}\r\n${body}`;
    return (await receivedFrom(served.url, head)).replace(/^date: .*$/im, '');
  };
  for (const line of lines) {
    const found = await told(inPath(line, OTHER));
    const expected = await told(inPath(line, ABSENT));
    if (found.replaceAll(OTHER, ABSENT) !== expected) faults.push(`${line}: ${found} is not ${expected}`);
    if (found.includes(on.of(OTHER).secret)) faults.push(`${line}: told the content`);
  }
  if (!on.of(OTHER).bytes().equals(before)) faults.push('the database of the other organization has changed');
  await served.close();
  await on.close();
  return { faults, requests: 2 * lines.length };
}

/** All that a server sends until it closes the connection. */
async function receivedFrom(url: string, request: string): Promise<string> {
  const socket = dial(url);
  socket.end(request);
  const parts: Buffer[] = [];
  for await (const part of socket) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}

const RAW = [
  ...[
    '/api/orgs/alpha/../ORG/runs',
    '/api/orgs/alpha/%2e%2e/ORG/runs',
    '/api/orgs/alpha/%2E./ORG/runs',
    '/api/orgs/alpha/..%2fORG/runs',
  ],
  ...[
    '/orgs/alpha/../ORG/api/runs',
    '/orgs/alpha/api/../../ORG/api/runs',
    '//api/orgs/ORG/runs',
    '/api//orgs/ORG/runs',
    '/api/orgs//ORG/runs',
  ],
  ...[
    '/api/orgs/ORG//runs',
    '/api/orgs/ORG%2fruns',
    '/api/orgs/ORG%00/runs',
    '/api/orgs/alpha%00ORG/runs',
    '/api/orgs/alpha;ORG/runs',
  ],
  ...[
    '/api/orgs/alpha\\..\\ORG/runs',
    '/api/orgs/ORG/runs#',
    '/api/orgs/ORG?x=/runs',
    '/API/ORGS/ORG/RUNS',
    '/api/orgs/./ORG/./runs',
  ],
  ...[
    'http://localhost/api/orgs/ORG/runs',
    '/api/orgs/ENC/runs',
    '/orgs/ORG',
    '/orgs/ORG/',
    '/orgs/ORG/../alpha/../ORG/',
  ],
];

async function requestsOf(on: Organizations, cookie: string, count: number, seed: number): Promise<Sent[]> {
  const { deps, tokens } = on.of(OWN);
  const document = await (await on.app.request(`/orgs/${OWN}/openapi.json`, { headers: bearer(tokens.read) })).json();
  const known = Object.fromEntries(NAMES.map((name) => [name, [...KNOWN, '1', '2', '3', 'one-key']]));
  const api = openApiRequests(document, { known }).map(({ method, address, headers, body }: OpenApiRequest): Sent => {
    return { method, path: address, headers, body: method === 'GET' ? undefined : body };
  });
  const patterns = createPages(deps).routes.map(({ method, path }) => ({ method, path }));
  const page = fc.tuple(fc.constantFrom(...patterns), fc.constantFrom(...KNOWN, '1', '2', 'device')).map(
    ([{ method, path }, id]): Sent => ({
      method,
      path: path.replace(/:\w+/g, id),
      headers: { host: HOST, origin: ORIGIN, 'content-type': 'application/x-www-form-urlencoded' },
      body: method === 'POST' ? `reason=a+test&target=${id}&token=${tokens.admin}&code=x&until=1d` : undefined,
    }),
  );
  const credentials = [
    ...(Object.keys(tokens) as Credential[]).map((of) => bearer(tokens[of])),
    {},
    ...cookies(cookie),
  ];
  const made = fc
    .tuple(fc.oneof({ weight: 3, arbitrary: api }, page), fc.constantFrom(...credentials), fc.constantFrom(...PLACES))
    .map(
      ([sent, credential, place]): Sent => ({
        ...sent,
        path: place(sent.path),
        headers: { ...sent.headers, ...credential, 'Last-Event-ID': '1' },
      }),
    );
  return fc.sample(made, { numRuns: count, seed });
}

/** Where an operation is asked. */
const PLACES: ((path: string) => string)[] = [
  (path) => path.replace(/^\/api(?=\/|$)/, '/api/orgs/ORG'),
  (path) => `/orgs/ORG${path}`,
  (path) => `/orgs/ORG${path}`,
  (path) => path.replace(/^\/api(?=\/|$)/, '/api/orgs/ORG'),
  (path) => `/orgs/alpha/../ORG${path}`,
  (path) => `/orgs/alpha/%2e%2e/ORG${path}`,
  (path) => `/orgs/alpha/..%2fORG${path}`,
  (path) => `/orgs//ORG${path}`,
  (path) => `/orgs/ORG/${path}`,
  (path) => `/orgs/ORG%00${path}`,
  (path) => `/orgs/ENC${path}`,
  (path) => `/ORGS/ORG${path}`,
  (path) => `/api/orgs/alpha${path}?org=ORG`,
  // At home, with the ids of the other.
  (path) => `/orgs/${OWN}${path}`,
  (path) => path,
];

/** A session as it is, and as one of the other organization or of all. */
function cookies(cookie: string): Record<string, string>[] {
  const value = cookie.slice(cookie.indexOf('=') + 1);
  const names = [`trustward-8080-${OTHER}`, 'trustward-8080', `trustward-8080-${OTHER.toUpperCase()}`];
  return [{ cookie }, { cookie: names.map((name) => `${name}=${value}`).join('; ') }];
}

async function tryOne({ app }: Organizations, sent: Sent, result: Attacked, secret: string): Promise<void> {
  const at = (id: string) => ask(app, { ...sent, path: inPath(sent.path, id) });
  const found = await at(OTHER);
  result.requests += 1;
  const what = /ORG|ENC/.test(sent.path) ? 'the other' : 'its own';
  const key = `${what} ${found.status}`;
  result.answers.set(key, (result.answers.get(key) ?? 0) + 1);
  const describe = (text: string) =>
    `${text}\n  ${sent.method} ${sent.path.slice(0, 200)} ${sent.headers.authorization ?? sent.headers.cookie ?? 'nobody'}`;
  if (found.text.includes(secret)) result.faults.push(describe('told what the other organization has'));
  if (found.status >= 500) result.faults.push(describe(`answered ${found.status}: ${found.text.slice(0, 200)}`));
  if (what === 'its own') return;
  const expected = await at(ABSENT);
  result.requests += 1;
  if (found.whole.replaceAll(OTHER, ABSENT) !== expected.whole.replaceAll(OTHER, ABSENT))
    result.faults.push(
      describe(`told that it exists:\n  ${found.whole.slice(0, 400)}\n  ${expected.whole.slice(0, 400)}`),
    );
}

/** `ORG` is the name as it is, and `ENC` with its first letter percent-encoded. */
function inPath(path: string, id: string): string {
  const encoded = `%${id.charCodeAt(0).toString(16)}${id.slice(1)}`;
  return path.replaceAll('ORG', id).replaceAll('ENC', encoded);
}

interface Answered {
  status: number;
  text: string;
  /** Status, headers and body. */
  whole: string;
}

async function ask(app: Hono<Env>, { method, path, headers, body }: Sent): Promise<Answered> {
  const answer = await app.request(path, { method, headers, ...(body !== undefined && { body }) });
  const isStream = answer.headers.get('content-type') === 'text/event-stream';
  const text = isStream ? await firstOf(answer) : await answer.text();
  const whole = JSON.stringify([answer.status, [...answer.headers].sort(), text]);
  return { status: answer.status, text: `${text}${[...answer.headers].join('\n')}`, whole };
}

/** What a stream sends at first, and then no more. */
async function firstOf(answer: Response): Promise<string> {
  const reader = answer.body?.getReader();
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, 20, undefined));
  const piece = await Promise.race([reader?.read(), late]);
  await reader?.cancel();
  return piece?.value ? Buffer.from(piece.value).toString() : '';
}

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

async function sessionOf({ app }: Organizations, id: string, token: string): Promise<string> {
  const answer = await app.request(`/orgs/${id}/sign-in`, {
    method: 'POST',
    headers: { host: HOST, origin: ORIGIN, 'content-type': 'application/x-www-form-urlencoded' },
    body: `token=${token}`,
  });
  const cookie = answer.headers.get('set-cookie')?.split(';')[0];
  if (cookie === undefined) throw new Error(`nobody can sign in to ${id}`);
  return cookie;
}

/** A key that the other organization has used already, with the same request and another. */
async function keyed({ app, of }: Organizations): Promise<void> {
  const body = JSON.stringify({ mode: 'dry-run' });
  const headers = { ...bearer(of(OTHER).tokens.admin), 'Idempotency-Key': 'one-key' };
  const { status } = await app.request(`/api/orgs/${OTHER}/runs`, { method: 'POST', headers, body });
  if (status !== 202) throw new Error(`the other organization could not begin a run: ${status}`);
}
