// The documentation of the endpoint on the page: open to anybody, whole, and small.
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createPages } from '../../../src/faces/web/index.ts';
import { openEndpoint } from '../../support/endpoint.ts';
import { type OpenApi, operationsOf } from '../../support/openapi-document.ts';

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
