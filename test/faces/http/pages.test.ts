// http: pages over a real socket: who gets in, where forms may come from, and that nothing secret is shown or logged.
import { type IncomingHttpHeaders, request } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { HttpDeps } from '../../../src/faces/http/deps.ts';
import { listen } from '../../../src/faces/http/listen.ts';
import {
  type Ctx,
  callerIfAny,
  json,
  listField,
  type Pages,
  type Route,
  readForm,
} from '../../../src/faces/http/route.ts';
import { bodyOf, openEndpoint, TOKENS } from '../../support/endpoint.ts';
import { openStream } from '../../support/event-client.ts';

const form = z.strictObject({ reason: z.string().max(10), only: listField(z.string()) });
const html = (text: string) => new Response(text, { headers: { 'Content-Type': 'text/html' } });
const page = (path: string, scope: Route['scope'], handle: Route['handle']): Route => {
  return { method: 'GET', path, scope, handle };
};

const PAGES: Pages = {
  routes: [
    page('/', 'read', ({ var: { caller } }) => html(`first page, ${caller.name}`)),
    page('/sign-in', undefined, () => html('sign in here')),
    page('/asset.js', undefined, () => {
      return new Response('', { headers: { 'Cache-Control': 'max-age=60', 'Content-Security-Policy': 'sandbox' } });
    }),
    page('/plans/:id', 'read', ({ req }) => html(`plan ${req.param('id')}`)),
    page('/broken', 'read', () => {
      throw new Error('secret-canary');
    }),
    {
      ...page('/plans/:id/approve', 'approve', async (context) => json(await readForm(context, form))),
      method: 'POST',
    },
  ],
  problem: (problem, context: Ctx) =>
    new Response(
      `<h1>${problem.status}</h1> ${problem.problemDetail} (for ${callerIfAny(context)?.name ?? 'a stranger'})`,
      {
        status: problem.status,
        headers: { 'Content-Type': 'text/html', ...problem.more.headers },
      },
    ),
};

interface Link {
  url: string;
  expiresAt: string;
}

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

interface Sent {
  cookie?: string | undefined;
  form?: string;
  headers?: Record<string, string | undefined>;
}

async function serving(over: Partial<HttpDeps> = {}) {
  const lines: string[] = [];
  const note = (fields: object, message: string) => lines.push(`${JSON.stringify(fields)} ${message}`);
  const log = { debug: note, info: note, warn: note, error: note };
  const endpoint = openEndpoint({ log, ...over }, () => PAGES);
  const listening = await listen(endpoint.app, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => listening.close(0));
  const { url } = listening;
  endpoint.at.url = url;
  /** Plain node:http: fetch sets Host and Origin itself. A POST is a form from our own page by default. */
  const send = (method: string, path: string, { cookie, form, headers = {} }: Sent = {}): Promise<Answer> => {
    const own = { origin: url, 'content-type': 'application/x-www-form-urlencoded' };
    const all = { ...(method === 'POST' && own), ...(cookie !== undefined && { cookie }), ...headers };
    const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    return new Promise((resolve, reject) => {
      const sent = request(
        new URL(url).origin + path,
        { method, headers: given as Record<string, string> },
        (answer) => {
          let text = '';
          answer.setEncoding('utf8').on('data', (part: string) => {
            text += part;
          });
          answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
        },
      );
      sent.on('error', reject);
      sent.end(form);
    });
  };
  const signedIn = async (scope: keyof typeof TOKENS) =>
    cookieOf(await send('POST', '/sign-in', { form: `token=${TOKENS[scope]}` }));
  return { ...endpoint, url, send, signedIn, lines };
}

function cookieOf({ headers, text }: Answer): string {
  const [line] = headers['set-cookie'] ?? [];
  if (line === undefined) throw new Error(`no cookie: ${text}`);
  return line.split(';')[0] as string;
}

describe('signing in', () => {
  it('by a link takes a button: looking at the link does not use it up', async () => {
    const { send, ask, url } = await serving();
    const made = await bodyOf<Link>(ask('POST', '/api/sign-in-links', { scope: 'read', body: {} }));
    const code = new URL(made.url).searchParams.get('code') as string;
    expect(made.url).toBe(`${url}/sign-in?code=${code}`);
    expect(Date.parse(made.expiresAt)).toBeGreaterThan(0);
    for (let preview = 0; preview < 3; preview += 1)
      expect((await send('GET', `/sign-in?code=${code}`)).status).toBe(200);
    const answer = await send('POST', '/sign-in', { form: `code=${code}&to=/plans/p1%3Fa%3Db` });
    expect(answer).toMatchObject({ status: 303, headers: { location: '/plans/p1?a=b' } });
    expect((await send('GET', '/', { cookie: cookieOf(answer) })).text).toBe('first page, reader');
    const again = await send('POST', '/sign-in', { form: `code=${code}` });
    expect(again.status).toBe(401);
    expect(again.text).toContain('run `trustward open` for a new one');
    expect(again.headers['set-cookie']).toBeUndefined();
  });

  it('gives the name of the person whom the command line names', async () => {
    const { send, ask } = await serving();
    const headers = { 'Trustward-User': 'ana' };
    const { url } = await bodyOf<Link>(ask('POST', '/api/sign-in-links', { headers, body: {} }));
    const cookie = cookieOf(await send('POST', '/sign-in', { form: new URL(url).search.slice(1) }));
    expect((await send('GET', '/', { cookie })).text).toBe('first page, ana (token adminer)');
  });

  it.each(['token=wrong-token-0123456789', 'code=guess', 'token=', 'code=', '', 'to=/'])(
    'is refused for `%s`',
    async (form) => {
      const { send } = await serving();
      const answer = await send('POST', '/sign-in', { form });
      expect(answer.status).toBe(401);
      expect(answer.headers['set-cookie']).toBeUndefined();
      expect(answer.text).toContain('`trustward open`');
    },
  );

  it.each([
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '\\/evil.example',
    '/\t/evil.example',
    '\t//evil.example',
    '/\r\nSet-Cookie: a=b',
    'javascript:alert(1)',
    'plans',
    ' /plans',
    '/é',
  ])('leads to the first page instead of %j', async (to) => {
    const { send } = await serving();
    const form = `token=${TOKENS.read}&to=${encodeURIComponent(to)}`;
    const answer = await send('POST', '/sign-in', { form });
    expect(answer).toMatchObject({ status: 303, headers: { location: '/' } });
    expect(answer.headers['set-cookie']).toHaveLength(1);
  });

  it('never adopts a cookie that was there before', async () => {
    const { send, at } = await serving();
    const planted = `trustward-${new URL(at.url).port}=${'a'.repeat(43)}`;
    const cookie = cookieOf(await send('POST', '/sign-in', { form: `token=${TOKENS.read}`, cookie: planted }));
    expect(cookie).not.toBe(planted);
    expect((await send('GET', '/', { cookie: planted })).status).toBe(303);
  });

  it('again ends the session before', async () => {
    const { send, signedIn } = await serving();
    const first = await signedIn('read');
    const second = cookieOf(await send('POST', '/sign-in', { form: `token=${TOKENS.admin}`, cookie: first }));
    expect((await send('GET', '/', { cookie: first })).status).toBe(303);
    expect((await send('GET', '/', { cookie: second })).text).toBe('first page, adminer');
  });

  it('at two ports of one host keeps both sessions', async () => {
    const [one, two] = [await serving(), await serving()];
    const both = `${await one.signedIn('read')}; ${await two.signedIn('admin')}`;
    expect((await one.send('GET', '/', { cookie: both })).text).toBe('first page, reader');
    expect((await two.send('GET', '/', { cookie: both })).text).toBe('first page, adminer');
  });

  it('ends by signing out, on the server too', async () => {
    const { send, signedIn } = await serving();
    const cookie = await signedIn('read');
    const answer = await send('POST', '/sign-out', { cookie });
    expect(answer).toMatchObject({ status: 303, headers: { location: '/sign-in' } });
    expect(answer.headers['set-cookie']?.[0]).toMatch(/^trustward-\d+=; .*Max-Age=0$/);
    expect((await send('GET', '/', { cookie })).status).toBe(303);
  });

  it('leaves no code, cookie or token in the log', async () => {
    const { send, ask, signedIn, lines, signIn } = await serving();
    const { code } = await signIn.link({ name: 'ana (page)', scope: 'admin' });
    await send('GET', `/sign-in?code=${code}`);
    await send('GET', `/no-such?code=${code}`);
    const cookies = [await signedIn('admin'), cookieOf(await send('POST', '/sign-in', { form: `code=${code}` }))];
    await send('POST', '/sign-in', { form: `code=${code}` });
    await send('POST', '/sign-in', { form: 'token=wrong-token-0123456789' });
    await send('GET', '/broken', { cookie: cookies[0] });
    await ask('POST', '/api/sign-in-links', { body: {} });
    const logged = lines.join('\n');
    expect(logged).toContain('ana (page) signed in to the page');
    const secrets = [code, TOKENS.admin, 'wrong-token', ...cookies.map((cookie) => cookie.split('=')[1] as string)];
    expect(secrets.filter((secret) => logged.includes(secret))).toEqual([]);
    expect(logged).not.toMatch(/code=|trustward-\d/);
  });
});

describe('a page', () => {
  it('leads a stranger to the sign-in page, and remembers the way', async () => {
    const { send } = await serving();
    expect(await send('GET', '/')).toMatchObject({ status: 303, headers: { location: '/sign-in' } });
    const answer = await send('GET', '/plans/p1?show=all&x=%2F');
    expect(answer.headers.location).toBe(`/sign-in?to=${encodeURIComponent('/plans/p1?show=all&x=%2F')}`);
  });

  it('leads a stranger to the sign-in page, also from an address that is too long to remember', async () => {
    const { send } = await serving();
    const { status, headers } = await send('GET', `/?q=${'a'.repeat(3_000)}`);
    expect([status, headers.location]).toEqual([303, '/sign-in']);
  });

  it('asks again by itself after a link of another site, which brings no cookie', async () => {
    const { send } = await serving();
    const followed = await send('GET', '/plans/p1?x="><script>&y=1', { headers: { 'sec-fetch-site': 'cross-site' } });
    expect(followed).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    expect(followed.text).toContain('content="0;url=/plans/p1?x=%22%3E%3Cscript%3E&amp;y=1"');
    expect((await send('GET', '/plans/p1', { headers: { 'sec-fetch-site': 'same-origin' } })).status).toBe(303);
  });

  it('takes no bearer token, and the API takes no cookie', async () => {
    const { send, signedIn } = await serving();
    const headers = { authorization: `Bearer ${TOKENS.admin}` };
    expect((await send('GET', '/', { headers })).status).toBe(303);
    const cookie = await signedIn('admin');
    expect((await send('GET', '/api/runs', { cookie })).status).toBe(401);
    expect((await send('POST', '/api/stop', { cookie, form: '{"reason":"x"}' })).status).toBe(401);
  });

  it('may follow the stream with its session, and a program with its token', async () => {
    const { url, lines, signedIn } = await serving();
    const stream = async (token: string | undefined, cookie = '') => {
      const client = await openStream(url, { token, headers: { cookie } });
      client.cut();
      return client.status;
    };
    expect(await stream(undefined, await signedIn('read'))).toBe(200);
    expect(await stream(TOKENS.admin, await signedIn('read'))).toBe(200);
    expect(await stream(undefined)).toBe(401);
    const asked = lines.filter((line) => line.endsWith(' GET /api/stream: 200'));
    expect(asked.map((line) => /"by":"(\w+)"/.exec(line)?.[1])).toEqual(['reader', 'adminer']);
  });

  it('ends for everybody who came with a token when it is revoked', async () => {
    const { send, signedIn, revoke } = await serving();
    const [reader, admin] = [await signedIn('read'), await signedIn('admin')];
    revoke('read');
    expect((await send('GET', '/', { cookie: reader })).status).toBe(303);
    expect((await send('GET', '/', { cookie: admin })).status).toBe(200);
  });

  it('lets run only our own scripts and styles, unless an answer says otherwise', async () => {
    const { send, signedIn } = await serving();
    const { headers } = await send('GET', '/', { cookie: await signedIn('read') });
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    );
    expect(headers).toMatchObject({
      'referrer-policy': 'same-origin',
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
    });
    const asset = (await send('GET', '/asset.js')).headers;
    expect(asset).toMatchObject({ 'content-security-policy': 'sandbox', 'cache-control': 'max-age=60' });
    const api = (await send('GET', '/api/runs')).headers;
    expect(api['content-security-policy']).toBe("default-src 'none'; frame-ancestors 'none'");
  });

  it('shows every error for people, and leaves those for programs as they are', async () => {
    const { send, signedIn } = await serving();
    const cookie = await signedIn('read');
    const shown = async (method: string, path: string, sent: Sent = {}) =>
      (await send(method, path, { cookie, ...sent })).text;
    expect(await shown('GET', '/no-such')).toMatch(/^<h1>404<\/h1> .* \(for reader\)$/);
    expect(await shown('POST', '/plans/p1')).toContain('<h1>405</h1>');
    expect(await shown('GET', '/', { headers: { host: 'evil.example' } })).toMatch(
      /^<h1>421<\/h1> .* \(for a stranger\)$/,
    );
    expect(await shown('GET', '/broken')).toContain('<h1>500</h1>');
    expect(await shown('GET', '/broken')).not.toContain('canary');
    for (const path of ['/api', '/api/no-such', '/healthz/x', '/readyz/x', '/metrics/x'])
      expect((await send('GET', path, { cookie })).headers['content-type']).toBe('application/problem+json');
  });

  it('that cannot even show an error gives problem details', async () => {
    const broken: Pages = {
      ...PAGES,
      problem: () => {
        throw new Error('secret-canary');
      },
    };
    const { app, complaints } = openEndpoint({}, () => broken);
    const answer = await app.request('/no-such');
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(await answer.text()).not.toContain('canary');
    expect(complaints).toHaveLength(1);
  });
});

describe('a form', () => {
  const APPROVE = '/plans/p1/approve';

  it('of somebody with too small a scope is refused', async () => {
    const { send, signedIn } = await serving();
    const answer = await send('POST', APPROVE, { cookie: await signedIn('read'), form: 'reason=x' });
    expect(answer.status).toBe(403);
    expect(answer.text).toContain('scope `approve` is needed');
    expect((await send('POST', APPROVE, { cookie: await signedIn('approve'), form: 'reason=x' })).status).toBe(200);
  });

  it('without a session is refused, and shows that nothing was done', async () => {
    const { send } = await serving();
    const answer = await send('POST', APPROVE, {
      form: 'reason=x',
      headers: { authorization: `Bearer ${TOKENS.admin}` },
    });
    expect(answer.status).toBe(401);
    expect(answer.text).toContain('nothing was done');
  });

  it.each([
    ['no Origin', { origin: undefined }],
    ['the Origin `null`', { origin: 'null' }],
    ['the Origin of a stranger', { origin: 'https://evil.example' }],
    ['the Origin of another port', { origin: 'http://127.0.0.1:1' }],
    ['https on our port', { origin: 'https:' }],
    ['our Origin as the beginning of another', { origin: 'own.evil.example' }],
    ['a stranger’s fetch', { 'sec-fetch-site': 'cross-site' }],
    ['the fetch of another port', { 'sec-fetch-site': 'same-site' }],
  ])(
    'with %s is refused, with a session too, and whatever it does',
    async (_, given: Record<string, string | undefined>) => {
      const { send, signedIn, url } = await serving();
      const cookie = await signedIn('admin');
      const origin =
        given.origin === 'https:'
          ? url.replace('http:', 'https:')
          : given.origin === 'own.evil.example'
            ? `${url}.evil.example`
            : given.origin;
      const headers = 'origin' in given ? { origin } : given;
      for (const path of [APPROVE, '/sign-in', '/sign-out']) {
        const answer = await send('POST', path, { cookie, headers, form: 'reason=x' });
        expect(answer.status, path).toBe(403);
        expect(answer.text).toContain(`\`${url}\` was expected`);
      }
      expect((await send('GET', '/', { cookie })).status).toBe(200);
    },
  );

  it('from a name that a stranger pointed at us is refused before anything else', async () => {
    const { send } = await serving();
    const headers = { host: 'evil.example', origin: 'http://evil.example' };
    expect((await send('POST', '/sign-in', { headers, form: `token=${TOKENS.admin}` })).status).toBe(421);
  });

  it('from the public address is accepted behind a proxy', async () => {
    const publicUrl = 'https://trust.example.com/trustward';
    const { send } = await serving({ publicUrl });
    const origin = 'https://trust.example.com';
    const answer = await send('POST', '/sign-in', {
      headers: { origin, 'sec-fetch-site': 'same-origin' },
      form: `token=${TOKENS.read}`,
    });
    expect(answer.status).toBe(303);
    expect(answer.headers['set-cookie']?.[0]).toMatch(/; Secure$/);
    const plain = await send('POST', '/sign-in', { headers: { origin: 'http://trust.example.com' }, form: '' });
    expect(plain.status).toBe(403);
    expect(plain.text).toContain('or `https://trust.example.com` was expected');
  });

  it('has fields and lists, in UTF-8, and empty fields count as not sent', async () => {
    const { send, signedIn } = await serving();
    const cookie = await signedIn('approve');
    const fields = async (form: string) => JSON.parse((await send('POST', APPROVE, { cookie, form })).text);
    expect(await fields('reason=a+b%26%C3%A9%3D=&only=')).toEqual({ reason: 'a b&é==', only: [] });
    expect(await fields('reason=x&only=one')).toEqual({ reason: 'x', only: ['one'] });
    expect(await fields('only=one&reason=x&&only=two')).toEqual({ reason: 'x', only: ['one', 'two'] });
  });

  it.each([
    ['', '`reason` is required'],
    ['reason=', '`reason` is required'],
    ['reason=a&reason=b', '`reason` is given more than once'],
    [`reason=${'x'.repeat(11)}`, '`reason` must be at most 10 characters long'],
    ['reason=x&__proto__=y', 'has an unknown member: `__proto__`'],
    ['reason=%FF', 'percent-encoded UTF-8'],
    ['reason=%', 'percent-encoded UTF-8'],
  ])('`%s` is refused with what is wrong', async (form, words) => {
    const { send, signedIn } = await serving();
    const answer = await send('POST', APPROVE, { cookie: await signedIn('approve'), form });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(words);
  });

  it.each(['application/json', 'multipart/form-data; boundary=x', 'text/plain', undefined])(
    'of the type %s is refused',
    async (type) => {
      const { send, signedIn } = await serving();
      const headers = { 'content-type': type };
      const answer = await send('POST', APPROVE, { cookie: await signedIn('approve'), form: 'reason=x', headers });
      expect(answer.status).toBe(415);
    },
  );

  it.each([
    ['empty fields', '&'.repeat(20_000)],
    ['one field', 'only=x&'.repeat(20_000)],
    ['unknown fields', Array.from({ length: 20_000 }, (_, index) => `f${index}=x`).join('&')],
  ])('of 20,000 %s is refused before they are read', async (_, form) => {
    const { send, signedIn } = await serving();
    const { status, text } = await send('POST', APPROVE, { cookie: await signedIn('approve'), form });
    expect([status, text.includes('more than 15000 fields')]).toEqual([400, true]);
  });

  it('with thousands of unknown fields is refused in a few words', async () => {
    const { send, signedIn } = await serving();
    const form = Array.from({ length: 10_000 }, (_, index) => `f${index}=x`).join('&');
    const { status, text } = await send('POST', APPROVE, { cookie: await signedIn('approve'), form });
    expect([status, text.includes('`f0`'), text.includes('and 9980 more')]).toEqual([400, true, true]);
    expect(text.length).toBeLessThan(10_000);
  });

  it('that names 10,000 targets fits, and a stranger’s is refused at 64 KiB', async () => {
    const { send, signedIn } = await serving();
    const cookie = await signedIn('approve');
    const targets = Array.from(
      { length: 10_000 },
      (_, index) => `only=${encodeURIComponent(`ban-compromised-device device:01m7ysajkq8n3v5x7z9b${index}/ü`)}`,
    );
    const form = `reason=x&${targets.join('&')}`;
    const { status, text } = await send('POST', APPROVE, { cookie, form });
    expect(status).toBe(200);
    expect(JSON.parse(text).only).toHaveLength(10_000);
    expect((await send('POST', '/sign-in', { form })).status).toBe(413);
    expect((await send('POST', APPROVE, { cookie, form: 'x'.repeat(3 * 1024 * 1024) })).status).toBe(413);
  });
});
