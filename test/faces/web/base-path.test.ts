// web: the pages of one organization among several: whatever they lead to is under its own path, but for the choice of another.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openOrganizations } from '../../support/organizations.ts';

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
      const isPage = answer.headers.get('content-type')?.startsWith('text/html') && !path.includes('/report.');
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
    // The layout leads to the choice of another organization.
    expect(raw).toEqual(['faces/web/layout.tsx']);
  });
});
