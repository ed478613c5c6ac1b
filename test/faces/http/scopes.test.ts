// http: every route needs the scope that docs/http.md names, and no lesser one is enough.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { SCOPES, type Scope } from '../../../src/domain/endpoint-token.ts';
import { openEndpoint } from '../../support/endpoint.ts';

const TABLE = readFileSync(new URL('../../../docs/http.md', import.meta.url), 'utf8');
const ROWS = [
  ...TABLE.matchAll(/^\| `(GET|POST|PUT|PATCH|DELETE) (\/[^`]*)` \| `?(signals|read|trigger|approve|admin)`? \|/gm),
].map(([, method, path, scope]) => ({ method: method as string, path: path as string, scope: scope as string }));

describe('a route', () => {
  it('of the endpoint is in the table of these tests', () => {
    const served = openEndpoint().app.routes.filter(
      ({ method, path }) => method !== 'ALL' && /^\/(api\/|metrics$)/.test(path),
    );
    expect(ROWS.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(
      [...new Set(served.map(({ method, path }) => `${method} ${path}`))].sort(),
    );
  });

  it.each(ROWS)('$method $path refuses a token below scope $scope', async ({ method, path, scope }) => {
    const { ask, requests, store } = openEndpoint();
    const place = path.replace(/:\w+/g, 'x');
    expect((await ask(method, place, { scope: 'none' })).status).toBe(401);
    const needed = SCOPES.indexOf(scope as Scope);
    for (const less of SCOPES.slice(0, needed)) {
      const answer = await ask(method, place, { scope: less });
      expect(answer.status, less).toBe(403);
      expect(answer.headers.get('www-authenticate')).toContain(`scope="${scope}"`);
    }
    for (const enough of SCOPES.slice(needed))
      expect([401, 403], enough).not.toContain((await ask(method, place, { scope: enough })).status);
    expect(requests).toEqual([]);
    expect((await store.auditHead()).seq).toBe(0);
  });
});
