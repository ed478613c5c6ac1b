// test console: the bodies of errors: each has a `Message`, whatever the endpoint, the path and the reason. In: every address of the contract and
// every way to be refused, within the process and over a raw socket. Out: tests. Clients take a body without `Message` for a success.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OWN_ADDRESSES } from '../../src/console/console.ts';
import { ENDPOINT_IDS, ENDPOINTS, type Endpoint } from '../../src/platform/contract.ts';
import { type Answered, type Organization, openOrganization } from '../support/console-organization.ts';
import { exchange } from '../support/raw-socket.ts';

const HUGE = ' '.repeat(5 * 1_048_576);

let org: Organization;
let limited: string;
beforeAll(async () => {
  org = await openOrganization({ listen: { host: '127.0.0.1', port: 0 }, faults: true });
  limited = `Bearer ${org.console.issueApiKey('limited', 'satellite')}`;
});
afterAll(() => org.console.close());

const ADDRESSES = ENDPOINT_IDS.flatMap((id) => {
  const endpoint: Endpoint = ENDPOINTS[id];
  return [endpoint.path, ...endpoint.aliases].map((path) => ({
    endpoint,
    path: path.replace(/\{\w+\}/g, 'no-such-one'),
    title: `${endpoint.method} ${path}`,
  }));
});

function expectMessage(answer: Pick<Answered, 'status' | 'json' | 'text'>, status: number): void {
  expect(answer.status, answer.text).toBe(status);
  expect(answer.json?.Message, answer.text).toEqual(expect.stringMatching(/\w/));
}

function expectShape({ json }: Answered, endpoint: Endpoint): void {
  if (endpoint.errors === 'message') {
    expect(Object.keys(json)).toEqual(['Message']);
    return;
  }
  expect(json).toMatchObject({ error_description: json.Message, request_id: expect.stringMatching(/./) });
  expect(json.error_code).toBeGreaterThan(0);
}

describe.each(ADDRESSES)('$title', ({ endpoint, path }) => {
  const { method } = endpoint;

  it('without a credential, and with a wrong one, is 401 with a Message', async () => {
    for (const authorization of [null, 'Bearer nobody', 'Basic eDp5', 'Bearer ']) {
      const answer = await org.call(method, path, undefined, authorization);
      expectMessage(answer, 401);
      expectShape(answer, endpoint);
    }
  });

  if (endpoint.auth !== 'refresh')
    it('beyond the scope of its credential is 403 with a Message', async () => {
      const answer = await org.call(method, path, undefined, limited);
      expectMessage(answer, 403);
      expectShape(answer, endpoint);
    });

  if (endpoint.body !== undefined)
    it('with a body that is wrong or too large is 400 or 413 with a Message', async () => {
      const bodies: [string, number][] = [
        ['{"half', 400],
        ['7', 400],
        ['"text"', 400],
        ['\uD800', 400],
        [HUGE, 413],
      ];
      for (const [body, status] of bodies) {
        const answer = await org.call(method, `${path}?SerialNumber=x`, body, org.adminToken);
        expectMessage(answer, status);
        expectShape(answer, endpoint);
      }
    });

  // Where nothing is required and any text is a value, none is wrong.
  const hasWrongValues = Object.values(endpoint.query.shape).some(
    (schema) => !schema.safeParse(undefined).success || !schema.safeParse('no-such-value').success,
  );
  if (hasWrongValues)
    it('with a wrong value of a parameter is 400 with a Message', async () => {
      const [name = ''] = Object.entries(endpoint.query.shape).flatMap(([each, schema]) =>
        schema.safeParse('no-such-value').success ? [] : [each],
      );
      const required = endpoint.method !== 'GET';
      const answer = await org.call(
        method,
        name === '' ? path : `${path}?${name}=no-such-value`,
        undefined,
        org.adminToken,
      );
      expectMessage(answer, name === '' && !required ? 200 : 400);
      expectShape(answer, endpoint);
    });

  it('by another method is 405 with a Message and the methods that are allowed', async () => {
    for (const other of ['PATCH', 'OPTIONS', 'FROB']) {
      const answer = await org.call(other, path);
      expectMessage(answer, 405);
      expect(answer.headers.get('allow')).toContain(method);
      expectShape(answer, endpoint);
    }
  });

  it('that fails, is refused by a limit or by the host is answered with a Message', async () => {
    for (const [fault, status] of [
      [{ kind: 'error', status: 500 }, 500],
      [{ kind: 'error', status: 503 }, 503],
      [{ kind: 'rate_limited', retryAfterS: 1 }, 429],
    ] as const) {
      org.console.faults?.set([{ ...fault, times: 1 }]);
      const answer = await org.call(method, path);
      expectMessage(answer, status);
      expectShape(answer, endpoint);
    }
    const foreign = await org.call(method, `http://evil.example${path}`);
    expectMessage(foreign, 421);
    expectShape(foreign, endpoint);
  });
});

describe('an address that does not exist', () => {
  const PATHS = ['/', '/api', '/api/v1/', '/api/v1/nothing', '/api/v2/nothing', '/api/v2/devices/1', '/api/v3/devices'];
  const ENVELOPED = ['/experimental/v2', '/experimental/v2/nothing', '/api/experimental/v2/nothing', '/api/v2/bundles'];
  it.each([...PATHS, ...ENVELOPED, '/%zz', '/%00', '//', '/api//v1/devices'])(
    '%s is 404 with a Message that leads to the document of those that exist',
    async (path) => {
      for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS']) {
        const answer = await org.call(method, `http://localhost${path}`);
        expectMessage(answer, 404);
        expect(answer.json.Message).toContain('/openapi.json');
      }
    },
  );

  it.each(ENVELOPED)('%s has the envelope too', async (path) => {
    expect((await org.call('GET', path)).json).toMatchObject({ error_code: 404, error_description: /openapi/ });
  });
});

describe("the console's own addresses", () => {
  it.each([...OWN_ADDRESSES.map(({ path }) => path), '/faults'])('%s refuses with a Message', async (path) => {
    expectMessage(await org.call('PATCH', path), 405);
    if (path === '/healthz' || path === '/openapi.json') return;
    expectMessage(await org.call('GET', path, undefined, null), 401);
    expectMessage(await org.call('GET', path, undefined, limited), 403);
  });
});

describe('what is hardly HTTP', () => {
  const HOST = 'Host: 127.0.0.1\r\n';
  it.each([
    ['no HTTP', 'hello\r\n\r\n', 400],
    ['an unknown version', `GET / HTTP/3.7\r\n${HOST}\r\n`, 400],
    ['no host', 'GET /api/v1/devices HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['two lengths', `POST /api/v1/events HTTP/1.1\r\n${HOST}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx`, 400],
    ['large headers', `GET / HTTP/1.1\r\n${HOST}X: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['a tunnel', `CONNECT evil.example:443 HTTP/1.1\r\n${HOST}\r\n`, 405],
    ['a target that is no path', `GET http:// HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`, 400],
    ['a host that is none', 'GET / HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n', 400],
    ['an expectation', `GET /nothing HTTP/1.1\r\n${HOST}Expect: miracles\r\nConnection: close\r\n\r\n`, 404],
  ])('%s is answered with a Message', async (_, bytes, status) => {
    const [answer] = await exchange(org.console.address, bytes);
    expect(answer?.status).toBe(status);
    expect(JSON.parse(answer?.body ?? '')).toEqual({ Message: expect.stringMatching(/\w/) });
    expect(answer?.headers.get('content-type')).toContain('application/json');
  });
});
