// web: how pages are sent: compressed, in time or late and truly, below their organization's path; and the documentation, open to anybody.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { Waiting } from '../../../src/faces/web/address.ts';
import { InTime } from '../../../src/faces/web/answer.tsx';
import { createPages } from '../../../src/faces/web/index.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { openEndpoint } from '../../support/endpoint.ts';
import { START_MS } from '../../support/filled-store.ts';
import { type OpenApi, operationsOf } from '../../support/openapi-document.ts';
import { openOrganizations } from '../../support/organizations.ts';
import { openPages, textOf } from '../../support/pages.ts';

describe('How a page is sent', () => {
  async function sent(path: string, encodings: string | undefined) {
    const headers = { host: '127.0.0.1:8080', ...(encodings !== undefined && { 'accept-encoding': encodings }) };
    const answer = await openPages().app.request(path, { headers });
    return { headers: answer.headers, body: Buffer.from(await answer.arrayBuffer()) };
  }

  it.each(['/sign-in', '/no-such-page'])('a page is compressed for a browser that accepts gzip: %s', async (path) => {
    const plain = await sent(path, undefined);
    const zipped = await sent(path, 'gzip, deflate, br');
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    expect(textOf(gunzipSync(zipped.body).toString())).toBe(textOf(plain.body.toString()));
    for (const { headers } of [plain, zipped]) expect(headers.get('vary')).toContain('Accept-Encoding');
  });

  it.each(['identity', 'gzip;q=0', 'gzip; q=0, br'])(
    'a page is plain for a browser that sends %s',
    async (encodings) => {
      expect((await sent('/sign-in', encodings)).headers.get('content-encoding')).toBeNull();
    },
  );
});

describe('A wrong token', () => {
  it('is named in place: the form stays, and leads where it was to lead', async () => {
    const { post } = openPages();
    const sent = await post('/sign-in', { token: 'wrong-token-0123456789', to: '/runs?x=1' }, 'none');
    expect(sent).toMatchObject({
      status: 401,
      text: expect.stringContaining('he token is unknown, revoked or expired'),
    });
    expect(sent.html).toMatch(/<input type="password" name="token" [^>]*aria-invalid="true"/);
    expect(sent.html).toContain('<input type="hidden" name="to" value="/runs?x=1"/>');
    expect(sent.html).not.toContain('wrong-token');
    const used = await post('/sign-in', { code: 'x'.repeat(43), to: '/runs' }, 'none');
    expect(used).toMatchObject({ status: 401, html: expect.stringContaining('name="token"') });
  });
});

describe('A page waits for the platform only so long; who asks again for the same joins what is under way', () => {
  const waiting = (sleep: Waiting['clock']['sleep'], ending = new AbortController().signal): Waiting => ({
    clock: { sleep },
    stream: { ending },
  });

  it('answers undefined when the wait is over, and joins the work that is under way when it is asked again', async () => {
    let isOver = () => {};
    const inTime = new InTime(waiting(() => new Promise<void>((resolve) => (isOver = resolve))));
    let begun = 0;
    let answer: (text: string) => void = () => {};
    const work = () => {
      begun += 1;
      return new Promise<string>((resolve) => (answer = resolve));
    };
    const first = inTime.of('d1', work, 1);
    isOver();
    expect(await first).toBeUndefined();
    const second = inTime.of('d1', work, 1);
    answer('done');
    expect(await second).toBe('done');
    expect(begun).toBe(1);
  });

  it('fails as the work does, and leaves nothing to fail when nobody waits any more', async () => {
    const inTime = new InTime(waiting(async () => {}));
    let fail: (error: Error) => void = () => {};
    const late = () => new Promise<string>((_, reject) => (fail = reject));
    expect(await inTime.of('d1', late, 1)).toBeUndefined();
    fail(new Error('nobody waits'));
    const broken = new InTime(waiting(() => new Promise(() => {})));
    await expect(broken.of('d2', () => Promise.reject(new Error('broken')), 1)).rejects.toThrow('broken');
  });

  it('waits no longer when the process is to end, and leaves no timer that keeps it alive', async () => {
    const ending = new AbortController();
    const inTime = new InTime(waiting(systemClock.sleep, ending.signal));
    const asked = inTime.of('d1', () => new Promise<string>(() => {}), 60_000);
    ending.abort();
    expect(await asked).toBeUndefined();
    expect(await inTime.of('d1', () => new Promise<string>(() => {}), 60_000)).toBeUndefined();
  });
});

describe('What a form answers when what it asks for takes long, as with PostgreSQL when no worker runs', () => {
  const NO_TIME = { nowMs: () => START_MS, monotonicMs: () => 0, sleep: async () => {} };

  describe('a run that nobody begins', () => {
    it('is answered before a browser gives up, and its failure is logged when it comes', async () => {
      const { promise, reject } = Promise.withResolvers<never>();
      const pages = openPages({ clock: NO_TIME, trigger: () => promise });
      const { status, text } = await pages.post('/runs', { mode: 'dry-run' });
      expect(status).toBe(503);
      expect(text).toContain('There is no answer yet It was asked for, and is done in its turn');
      reject(new AppError('busy', 'no worker has begun the run'));
      const message = expect.stringContaining('no worker has begun the run');
      await expect.poll(() => pages.complaints).toMatchObject([{ message }]);
    });

    it('is refused at once when it is refused, whatever time there is', async () => {
      const pages = openPages({ trigger: () => Promise.reject(new AppError('busy', 'too many wait')) });
      const { status, text } = await pages.post('/runs', { mode: 'dry-run' });
      expect([status, text.includes('Too many wait')]).toEqual([429, true]);
    });
  });

  it('an endpoint beside workers names the tokens that it does not list', async () => {
    const beside = await openPages({ isDaemon: false }).get('/tokens');
    expect(beside.text).toContain(
      'tokens of all organizations ( trustward tokens list --all-organizations ), open this one, too',
    );
    expect(beside.text).not.toContain('The token of the configuration, admin , is not listed');
  });
});

const BASE = '/orgs/alpha';
const CHOOSER = '/orgs';
const ADDRESS = /\s(href|action|src|hx-get|data-stream|formaction|hx-post|content)="([^"]*)"/g;
const PAGES_MAX = 400;

/** The addresses that a page has, as a browser reads them. */
function addressesIn(html: string): string[] {
  return [...html.matchAll(ADDRESS)]
    .filter(([, name, value = '']) => name !== 'content' || value.includes('url='))
    .map(([, , value = '']) => value.replaceAll('&amp;', '&'));
}

function isBeyond(address: string): boolean {
  const isWithin = address.startsWith(`${BASE}/`) && !address.startsWith(`${BASE}/orgs`);
  return !isWithin && address !== CHOOSER && !/^(#|data:)/.test(address);
}

describe('the pages of an organization among several', () => {
  it('lead nowhere beyond it, but to the choice of another', async () => {
    const on = await openOrganizations(['alpha', 'beta']);
    const signedIn = await on.app.request(`${BASE}/sign-in`, {
      method: 'POST',
      headers: {
        host: '127.0.0.1:8080',
        origin: 'http://127.0.0.1:8080',
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: `token=${on.of('alpha').tokens.admin}&to=/`,
    });
    const cookie = (signedIn.headers.get('set-cookie') ?? '').split(';')[0] as string;
    expect(signedIn.headers.get('location')).toBe(`${BASE}/`);
    const waiting = [
      `${BASE}/`,
      `${BASE}/docs`,
      `${BASE}/nothing`,
      `${BASE}/runs/2`,
      `${BASE}/search?q=nothing`,
      `${BASE}/search?q=alpha-plan`,
    ];
    const seen = new Map<string, number>();
    const beyond: string[] = [];
    for (const path of waiting) {
      if (seen.size >= PAGES_MAX || seen.has(path)) continue;
      const answer = await on.app.request(path, { headers: { cookie } });
      seen.set(path, answer.status);
      const location = answer.headers.get('location');
      // The guide has relative addresses, which its own test follows.
      const isOther = path.includes('/report.') || path.startsWith(`${BASE}/guide/`);
      const isPage = answer.headers.get('content-type')?.startsWith('text/html') && !isOther;
      const found = [...(location === null ? [] : [location]), ...(isPage ? addressesIn(await answer.text()) : [])];
      beyond.push(...found.filter(isBeyond).map((address) => `${path}: ${address}`));
      waiting.push(
        ...found.filter((address) => address.startsWith(`${BASE}/`)).map((address) => address.split('#')[0] as string),
      );
    }
    expect(beyond).toEqual([]);
    expect(seen.size).toBeGreaterThan(55);
  });

  it('write no address by themselves', () => {
    const root = new URL('../../../src', import.meta.url).pathname;
    const files = ['faces/web', 'faces/report/html'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.tsx') && name !== 'link.tsx')
        .map((name) => join(folder, name)),
    );
    const raw = files.filter((name) =>
      /<(a|form)[\s>]|hx-(get|post)=(\{(?!at\(|href)|")|req\.(url|path)/.test(readFileSync(join(root, name), 'utf8')),
    );
    // The layout leads to the choice of another organization, and signing in to the address that the identity provider leads back to.
    expect(raw).toEqual(['faces/web/layout.tsx', 'faces/web/pages/sign-in.tsx']);
  });
});

async function read() {
  const { ask } = openEndpoint({}, createPages);
  const page = await ask('GET', '/docs', { scope: 'none' });
  const document = (await (await ask('GET', '/openapi.json', { scope: 'none' })).json()) as OpenApi;
  return { page, html: await page.text(), document };
}

describe('the documentation of the endpoint', () => {
  it('is open to anybody, as the document is', async () => {
    const { page } = await read();
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  });

  it('has every operation and every schema, each link leads to a place on it, and no script is needed', async () => {
    const { html, document } = await read();
    const ids = new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
    for (const { operationId } of operationsOf(document)) expect(ids).toContain(operationId);
    for (const name of Object.keys(document.components.schemas ?? {})) expect(ids).toContain(`schema-${name}`);
    for (const [, target] of html.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(target);
    expect(html).not.toMatch(/<script>|https?:\/\/(?!www\.w3\.org)/);
  });

  it('has a line to copy for each operation, with its scope', async () => {
    const { html, document } = await read();
    expect([...html.matchAll(/<pre>curl /g)]).toHaveLength(operationsOf(document).length);
    expect(html).toContain('Needs a token of scope <b>approve</b>');
  });

  it('is sent with at most 150 kB', async () => {
    const { html } = await read();
    expect(gzipSync(html).length).toBeLessThan(150_000);
  });
});
