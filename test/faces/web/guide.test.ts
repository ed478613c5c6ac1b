// The guide: every page of the docs is rendered, its links lead somewhere, and the endpoint serves it, or says how to get it.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { guidePages } from '../../../src/faces/web/pages/guide.tsx';
import { ROOT } from '../../support/built.ts';
import { openEndpoint } from '../../support/endpoint.ts';

const folder = mkdtempSync(join(tmpdir(), 'trustward-guide-'));
beforeAll(() => void execFileSync(process.execPath, [join(ROOT, '.ci/guide.mjs'), folder]));
afterAll(() => rmSync(folder, { recursive: true }));

const files = () => readdirSync(folder, { recursive: true, encoding: 'utf8' });
const pages = () => files().filter((name) => name.endsWith('.html'));
const read = (name: string) => readFileSync(join(folder, name), 'utf8');
const all = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map((match) => match[1] as string);

function serve(from: string) {
  const given: Partial<Parameters<typeof guidePages>[0]> = {};
  const routes = guidePages(given as Parameters<typeof guidePages>[0], from);
  const { app, deps } = openEndpoint({}, () => ({ routes, problem: () => new Response('', { status: 404 }) }));
  Object.assign(given, deps);
  return (path: string) => app.request(`http://127.0.0.1${path}`);
}

describe('the guide', () => {
  it('has a page for each text of docs/, all of them reached from the first one', () => {
    const texts = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
    const linked = all(read('index.html'), /href="\.\/([\w/.-]+\.html)"/g);
    expect(linked).toEqual(expect.arrayContaining(texts.map((name) => name.replace('.md', '.html'))));
  });

  it('has no link, image, script or style that leads nowhere, and none from elsewhere', () => {
    const there = new Set(files());
    const ids = new Map(pages().map((name) => [name, new Set(all(read(name), / id="([^"]+)"/g))]));
    const broken = pages().flatMap((name) =>
      all(read(name), /(?:href|src)="([^"]+)"/g)
        .filter((link) => !/^https:/.test(link))
        .filter((link) => {
          const [path = '', anchor] = link.split('#');
          const target = path === '' ? name : posix.join(posix.dirname(name), path);
          return !there.has(target) || (anchor !== undefined && !ids.get(target)?.has(decodeURIComponent(anchor)));
        })
        .map((link) => `${name}: ${link}`),
    );
    expect(broken).toEqual([]);
    expect(pages().flatMap((name) => all(read(name), /<(?:script|link|img)[^>]*(https?:[^"]+)/g))).toEqual([]);
  });

  it('has no script or style within a page, and no page that weighs more than 150 kB', () => {
    const inline = pages().filter((name) => /<style|<script>|<script(?![^>]* src=)| style="| on\w+="/.test(read(name)));
    expect(inline).toEqual([]);
    expect(pages().filter((name) => name !== 'changelog.html' && read(name).length > 150_000)).toEqual([]);
  });

  it('has a search that knows the sections by where they are', () => {
    const sections = JSON.parse(read('search.json')) as [string, string, string, string][];
    const undone = sections.filter(([, , , text]) => text.includes('claims release --rule'));
    expect(undone.map(([address]) => address)).toContain('undo.html#4-or-undo-it-now');
    const known = (address: string) => {
      const [page = '', id = ''] = address.split('#');
      return read(page).includes(`id="${id}"`);
    };
    expect(sections.filter(([address]) => !known(address)).map(([address]) => address)).toEqual([]);
  });

  it('is served to anybody, with the policy of all pages', async () => {
    const ask = serve(folder);
    expect((await ask('/guide')).headers.get('location')).toBe('/guide/');
    const first = await ask('/guide/');
    expect(first.status).toBe(200);
    expect(first.headers.get('content-security-policy')).toContain("script-src 'self'");
    expect(await first.text()).toBe(read('index.html'));
    expect(await (await ask('/guide/decisions/index.html')).text()).toContain('0070');
    expect((await ask('/guide/guide.css')).headers.get('content-type')).toBe('text/css; charset=utf-8');
    for (const path of ['/guide/nothing.html', '/guide/%2e%2e/package.json', '/guide/..%2fmain.js'])
      expect([path, (await ask(path)).status]).toEqual([path, 404]);
  });

  it('that was not rendered says how to get it', async () => {
    const answer = await serve(join(folder, 'missing'))('/guide/');
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain('npm run docs');
  });
});
