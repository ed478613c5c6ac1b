// test: requests of who belongs to one organization, at another: all operations and pages by each verb, with the ids of the other, with each kind
// of token, with sessions, over each form of a path. In: an endpoint, how many. Out: what was read, changed or told. The measure of telling is an
// organization that does not exist: whatever is answered about the other must be answered about it alike, byte for byte and by the same steps.
import fc from 'fast-check';
import { createPages } from '../../../src/faces/web/index.ts';
import type { Attacked } from '../../support/attacked.ts';
import { openEndpoint } from '../../support/endpoint.ts';
import { type OpenApiRequest, openApiRequests } from '../../support/openapi-requests.ts';
import type { Credential } from '../../support/organizations.ts';
import { type Answered, ask, bearer, keyed, type Sent, sessionOf, streamed } from './attack-requests.ts';

export const [OWN, OTHER, ABSENT] = ['alpha', 'quokka', 'walrus'] as const;
/** What the attacker knows of the other organization. */
const KNOWN = ['run', 'dry', 'plan', 'intent', 'held', 'acted', 'decision', 'device', 'SERIAL'].map(
  (id) => `${OTHER}-${id}`,
);
const KEY = 'one-key';
const VERBS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** A difference that is of something else is not there again. */
const TRIES = 3;
const FAULTS_MAX = 20;

export interface Result {
  faults: string[];
  /** Answers by what was attacked and status. */
  answers: Map<string, number>;
  requests: number;
  /** Names of the other that this one has written at home itself, such as the reason of a stop. */
  given: Set<string>;
}

export async function attack(on: Attacked, count: number, seed: number): Promise<Result> {
  const result: Result = { faults: [], answers: new Map(), requests: 0, given: new Set() };
  const [own, victim] = [on.of(OWN), on.of(OTHER)];
  // It is open, somebody is signed in, and a key is used: what could be found is there.
  const theirs = await sessionOf(on.url, OTHER, victim.tokens.admin);
  const cookie = await sessionOf(on.url, OWN, own.tokens.admin);
  await keyed(on.url, OTHER, victim.tokens.admin, KEY);
  result.faults.push(...(await eventsOfOthers(on)));
  await on.untilStill();
  const before = await on.contents(OTHER);
  result.faults.push(...(await keyOfOther(on)));
  const sent = [...(await everyRoute(on, cookie)), ...(await requestsOf(on, cookie, count, seed))];
  for (const each of sent) {
    if (result.faults.length >= FAULTS_MAX) break;
    await tryOne(on, each, result);
  }
  await on.untilStill();
  if ((await on.contents(OTHER)) !== before) result.faults.push('what the other organization has was changed');
  const open = await ask(on.url, { method: 'GET', path: `/orgs/${OTHER}/runs`, headers: { cookie: theirs } });
  if (open.status !== 200) result.faults.push('the session of another person was ended');
  return result;
}

/** A key of the other organization is a new key here. */
async function keyOfOther(on: Attacked): Promise<string[]> {
  const { location, isReplayed } = await keyed(on.url, OWN, on.of(OWN).tokens.admin, KEY);
  return isReplayed || !location.startsWith(`/api/orgs/${OWN}/`)
    ? [`a key of another organization led to ${location}`]
    : [];
}

/** What happens in the other organization while a stream is open is not in it. */
async function eventsOfOthers(on: Attacked): Promise<string[]> {
  const post = async (id: string, path: string, body: object) => {
    const headers = { ...bearer(on.of(id).tokens.admin), 'content-type': 'application/json' };
    const answer = await ask(on.url, {
      method: 'POST',
      path: `/api/orgs/${id}${path}`,
      headers,
      body: JSON.stringify(body),
    });
    if (answer.status >= 300) throw new Error(`${id}${path}: ${answer.whole}`);
  };
  const text = await streamed(on.url, OWN, on.of(OWN).tokens.admin, 'token.added', async () => {
    await post(OTHER, '/stop', { reason: on.of(OTHER).secret });
    await post(OTHER, '/resume', { reason: on.of(OTHER).secret });
    await post(OWN, '/tokens', { name: 'made-meanwhile', scope: 'read' });
  });
  const isTold = text.includes('stop.') || text.includes(OTHER);
  return isTold ? [`a stream shows what happens in another organization: ${text}`] : [];
}

/** Each path of the endpoint by each verb, also those that only the process has. */
async function everyRoute(on: Attacked, cookie: string): Promise<Sent[]> {
  const { paths } = await documentOf(on);
  const [run = ''] = KNOWN;
  const known = [
    ...Object.keys(paths),
    '/sign-in',
    '/sign-out',
    ...pagePatterns().map(({ path }) => path.replace(/:(\w+)/g, '{$1}')),
  ];
  const within = [...new Set(known)].map((path) => path.replace(/\{\w+\}|\*$/g, run));
  const headers = { ...bearer(on.of(OWN).tokens.admin), cookie };
  const each = within.flatMap((path) =>
    VERBS.flatMap((method) => [
      { method, path: path.replace(/^\/api(?=\/|$)/, '/api/orgs/ORG'), headers },
      { method, path: `/orgs/ORG${path}`, headers },
    ]),
  );
  const ofProcess = PROCESS.flatMap((path) =>
    ['', '?q=ORG', '?after=ORG', '?to=/orgs/ORG/', '?org=ORG', '?code=ORG'].flatMap((query) =>
      [{}, headers, bearer(on.of(OWN).tokens.read)].map((who) => ({
        method: 'GET',
        path: `${path}${query}`,
        headers: who,
      })),
    ),
  );
  const forwarded = FORWARDED.map((names) => ({
    method: 'GET',
    path: `/api/orgs/${OWN}/runs`,
    headers: { ...headers, ...names },
  }));
  return [...new Map([...each, ...ofProcess, ...forwarded].map((one) => [JSON.stringify(one), one])).values()];
}

/** What the process answers for no organization. */
const PROCESS = [
  '/',
  '/orgs',
  '/orgs/',
  '/api',
  '/api/orgs',
  '/api/orgs/',
  '/metrics',
  '/readyz',
  '/healthz',
  '/openapi.json',
  '/sign-in',
];

/** What a proxy may be asked with. */
const FORWARDED: Record<string, string>[] = [
  { 'x-original-url': '/api/orgs/ORG/runs' },
  { 'x-rewrite-url': '/api/orgs/ORG/runs' },
  { 'x-forwarded-prefix': '/api/orgs/ORG' },
  { 'x-forwarded-host': 'ORG', forwarded: 'host=ORG' },
  { 'x-http-method-override': 'POST' },
  { 'x-organization': 'ORG', 'x-org': 'ORG' },
];

// biome-ignore lint/suspicious/noExplicitAny: a document is walked here, not typed
async function documentOf(on: Attacked): Promise<any> {
  const headers = bearer(on.of(OWN).tokens.read);
  return JSON.parse((await ask(on.url, { method: 'GET', path: `/orgs/${OWN}/openapi.json`, headers })).body);
}

function pagePatterns(): { method: string; path: string }[] {
  return createPages(openEndpoint().deps).routes.map(({ method, path }) => ({ method, path }));
}

async function requestsOf(on: Attacked, cookie: string, count: number, seed: number): Promise<Sent[]> {
  const { tokens } = on.of(OWN);
  const { origin, host } = new URL(on.url);
  const everywhere = [...KNOWN, '1', '2', '3', KEY];
  const api = openApiRequests(await documentOf(on), { everywhere }).map(
    ({ method, address, headers, body }: OpenApiRequest): Sent => ({
      ...{ method, path: address, headers: { ...headers, 'content-type': 'application/json' } },
      body: method === 'GET' ? undefined : body,
    }),
  );
  const page = fc.tuple(fc.constantFrom(...pagePatterns()), fc.constantFrom(...KNOWN, '1', '2', 'device')).map(
    ([{ method, path }, id]): Sent => ({
      method,
      path: path.replace(/:\w+/g, id),
      headers: { host, origin, 'content-type': 'application/x-www-form-urlencoded' },
      body: method === 'POST' ? `reason=a+test&target=${id}&token=${tokens.admin}&code=x&until=1d` : undefined,
    }),
  );
  const { port } = new URL(on.url);
  const credentials = [
    ...(Object.keys(tokens) as Credential[]).map((of) => bearer(tokens[of])),
    {},
    ...cookies(cookie, port),
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
function cookies(cookie: string, port: string): Record<string, string>[] {
  const value = cookie.slice(cookie.indexOf('=') + 1);
  const names = ['ORG', OTHER.toUpperCase()].map((id) => `trustward-${port}-${id}`);
  return [{ cookie }, { cookie: [...names, `trustward-${port}`].map((name) => `${name}=${value}`).join('; ') }];
}

const NAMES = new RegExp(`${OTHER}[\\w-]*`, 'g');

async function tryOne(on: Attacked, sent: Sent, result: Result): Promise<void> {
  const isAbout = /ORG|ENC/.test(JSON.stringify(sent));
  const [found, told] = isAbout ? await compared(on, sent, result) : [await at(on, sent, OTHER), undefined];
  result.requests += 1;
  const what = isAbout ? 'the other' : 'its own';
  const key = `${what} ${found.status}`;
  result.answers.set(key, (result.answers.get(key) ?? 0) + 1);
  const fault = (text: string) => {
    const who = sent.headers.authorization ?? sent.headers.cookie ?? 'nobody';
    result.faults.push(`${text}\n  ${sent.method} ${sent.path.slice(0, 200)} ${who} ${sent.body?.slice(0, 200) ?? ''}`);
  };
  const { secret } = on.of(OTHER);
  if (found.whole.includes(secret)) fault('told what the other organization has');
  const isNaming = JSON.stringify(sent).includes(OTHER);
  if (!isAbout && isNaming && sent.method !== 'GET' && found.status < 400)
    for (const [name] of `${sent.path} ${sent.body}`.matchAll(NAMES)) result.given.add(name);
  const unknown = found.whole.replace(NAMES, (name) => (result.given.has(name) ? '' : name));
  if (!isAbout && !isNaming && unknown.includes(OTHER))
    fault(`named the other: ${unknown.slice(unknown.indexOf(OTHER) - 100).slice(0, 200)}`);
  if (found.status >= 500) fault(`answered ${found.status}: ${found.body.slice(0, 200)}`);
  if (told !== undefined) fault(told);
  if (!isAbout && sent.method === 'GET') {
    // At home an id of the other is as unknown as one of nobody.
    const { status } = await at(on, { ...sent, path: sent.path.replaceAll(OTHER, ABSENT) }, OTHER);
    result.requests += 1;
    if (status !== found.status)
      fault(`answered ${found.status} for an id of the other, and ${status} for one of nobody`);
  }
}

/** The answer, and what differs between it and the answer about an organization that does not exist, or between what the two took. */
async function compared(on: Attacked, sent: Sent, result: Result): Promise<[Answered, string | undefined]> {
  for (let time = 1; ; time += 1) {
    const found = await measured(on, sent, OTHER);
    const expected = await measured(on, sent, ABSENT);
    result.requests += 1;
    const isSame = found.text === expected.text;
    if (isSame && found.steps === expected.steps) return [found.answer, undefined];
    const [what, one, other] = isSame
      ? ['told by its steps', found.steps, expected.steps]
      : ['told that it exists', found.text, expected.text];
    if (time === TRIES) return [found.answer, `${what}:\n  ${one.slice(0, 500)}\n  ${other.slice(0, 500)}`];
  }
}

async function measured(on: Attacked, sent: Sent, id: string) {
  on.steps();
  const answer = await at(on, sent, id);
  const [text, steps] = [answer.whole, on.steps().join('\n')].map((each) => each.replaceAll(OTHER, ABSENT));
  return { answer, text: text as string, steps: steps as string };
}

function at(on: Attacked, sent: Sent, id: string): Promise<Answered> {
  const headers = Object.entries(sent.headers).map(([name, value]) => [name, inPath(value, id)]);
  return ask(on.url, { ...sent, path: inPath(sent.path, id), headers: Object.fromEntries(headers) });
}

/** `ORG` is the name as it is, and `ENC` with its first letter percent-encoded. */
export function inPath(path: string, id: string): string {
  const encoded = `%${id.charCodeAt(0).toString(16)}${id.slice(1)}`;
  return path.replaceAll('ORG', id).replaceAll('ENC', encoded);
}
