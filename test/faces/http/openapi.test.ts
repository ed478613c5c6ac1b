// http: the OpenAPI document has every route and no other, is well-formed, and is in the docs as it is served.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openEndpoint } from '../../support/endpoint.ts';
import { faultsOf, type OpenApi, openApiSchema, operationsOf } from '../../support/openapi-document.ts';

const ROOT = new URL('../../..', import.meta.url).pathname;
const TABLE = readFileSync(join(ROOT, 'docs/http.md'), 'utf8');

async function served() {
  const { app, ask } = openEndpoint();
  const answer = await ask('GET', '/openapi.json', { scope: 'none' });
  expect(answer.status).toBe(200);
  return { app, document: (await answer.json()) as OpenApi };
}

describe('the OpenAPI document', () => {
  it('is in the docs as it is served (`npm run docs:openapi` writes it)', async () => {
    const { document } = await served();
    await expect(`${JSON.stringify(document, null, 1)}\n`).toMatchFileSnapshot(join(ROOT, 'docs/openapi.json'));
  });

  it('has every route of the endpoint, and none more', async () => {
    const { app, document } = await served();
    const routes = app.routes
      .filter(({ method, path }) => method !== 'ALL' && path !== '/')
      .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);
    expect(
      operationsOf(document)
        .map(({ method, path }) => `${method} ${path}`)
        .sort(),
    ).toEqual([...new Set(routes)].sort());
  });

  it('is made of schemas that are equal to the types of what is shown', () => {});

  it('is OpenAPI 3.1: its structure, its references, its names and its parameters', async () => {
    const { document } = await served();
    openApiSchema.parse(document);
    expect(faultsOf(document)).toEqual([]);
  });

  it('names for each operation the scope that docs/http.md names', async () => {
    const { document } = await served();
    const rows = [...TABLE.matchAll(/^\| `(GET|POST|PUT|PATCH|DELETE) (\/(?:api\/[^`]*|metrics))` \| `(\w+)`/gm)].map(
      ([, method, path, scope]) => `${method} ${path?.replace(/:(\w+)/g, '{$1}')} ${scope}`,
    );
    const scoped = operationsOf(document).filter(({ security }) => security.length > 0);
    expect(scoped.map(({ method, path, security }) => `${method} ${path} ${security[0]?.token}`).sort()).toEqual(
      rows.sort(),
    );
  });

  it('names the refusals of each operation', async () => {
    const { document } = await served();
    for (const { operationId, method, answers, security, parameters } of operationsOf(document)) {
      const statuses = Object.keys(answers);
      const isScoped = security.length > 0;
      const named = (status: string) => statuses.includes(status);
      expect([operationId, named('400'), named('413'), named('421')]).toEqual([operationId, true, true, true]);
      // What signs in is open, and refuses all the same.
      const [isBegin, isPoll] = [operationId === 'beginLogin', operationId === 'pollLogin'];
      const isLogin = isBegin || isPoll;
      expect([operationId, named('401'), named('429')]).toEqual([operationId, isScoped || isPoll, isScoped || isLogin]);
      expect([operationId, named('503')]).toEqual([operationId, isScoped || isLogin || operationId === 'readyz']);
      expect([operationId, named('403')]).toEqual([operationId, isScoped || isPoll]);
      if (parameters.some((one) => one.in === 'path')) expect(statuses, operationId).toContain('404');
      expect(
        statuses.some((status) => status < '300'),
        `${method} ${operationId}`,
      ).toBe(true);
    }
  });

  it('is asked for by anybody', async () => {
    const { ask } = openEndpoint();
    const answer = await ask('GET', '/openapi.json', { scope: 'none' });
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect((await ask('POST', '/openapi.json', { scope: 'none' })).status).toBe(405);
  });
});
