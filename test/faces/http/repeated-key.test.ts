// http: bodies that repeat a key.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { repeatedKey } from '../../../src/faces/http/route.ts';
import { openEndpoint } from '../../support/endpoint.ts';

describe('a body that gives a key twice', () => {
  it.each([
    ['{"mode":"dry-run","mode":"enforce"}', 'mode'],
    ['{"mode":"dry-run","\\u006dode":"dry-run"}', 'mode'],
    ['{"mode":"enforce","rules":["a",{"x":1,"y":{"}":[]},"x":2}]}', 'rules[1].x'],
    ['{"__proto__":{"a":1, "a" : 2}}', '__proto__.a'],
  ])('is refused: %s', async (text, place) => {
    const { ask, requests } = openEndpoint();
    const answer = await ask('POST', '/api/runs', { scope: 'admin', text });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      detail: `the body is wrong: \`${place}\` is given more than once`,
      errors: [{ path: place, message: 'is given more than once' }],
    });
    expect(requests).toEqual([]);
  });

  it('is found at any place of any JSON, and nothing else is', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), fc.string(), fc.json(), (json, key, value) => {
        const own = JSON.stringify(JSON.parse(json));
        expect(repeatedKey(own)).toBeUndefined();
        const twice = `{${JSON.stringify(key)}:${value},${JSON.stringify(key)}:${own}}`;
        expect(repeatedKey(`[${own},{"around":${twice}}]`)).toEqual([1, 'around', key]);
      }),
    );
  });

  it('does not overflow the stack when it is deeply nested', () => {
    const deep = 30_000;
    expect(repeatedKey('[{"a":'.repeat(deep) + 1 + '}]'.repeat(deep))).toBeUndefined();
  });
});
