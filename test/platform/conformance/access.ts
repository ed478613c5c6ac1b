// conformance: authentication, status codes, limits and versions.
// In: the specification's table of status codes. Out: a line for each endpoint and code. A refused request changes nothing.
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { PATHS } from './fleet.ts';
import { type Answer, type As, NotChecked, query, type Rule, type Target } from './target.ts';

interface EndpointTable {
  /** Its number in the specification, or what it is called at. */
  name: number | string;
  /** How its errors come: `Message` alone, or inside the envelope. */
  isEnveloped: boolean;
  method: string;
  /** An address that is refused for what is in it. */
  bad: string;
  body?: unknown;
  codes: number[];
}

const BUNDLE_CODES = [200, 400, 401, 403, 500];

const SPECIFIED: Omit<EndpointTable, 'isEnveloped'>[] = [
  { name: 1, method: 'GET', bad: `${PATHS.endusers}?Skip=x`, codes: [200, 400, 500] },
  { name: 2, method: 'GET', bad: `${PATHS.devices}?Skip=x`, codes: [200, 400, 500] },
  { name: 3, method: 'DELETE', bad: PATHS.deleteDevice, codes: [200, 400, 500] },
  { name: 4, method: 'POST', bad: PATHS.updateDevice, body: [], codes: [200, 400, 500] },
  { name: 5, method: 'GET', bad: `${PATHS.events}?limit=x`, codes: [200, 401, 403, 500] },
  { name: 6, method: 'GET', bad: `${PATHS.countEvents}?before=x`, codes: [200, 401, 403, 500] },
  { name: 7, method: 'GET', bad: `${PATHS.feed}?after=x`, codes: [200] },
  { name: 8, method: 'GET', bad: `${PATHS.services}?DefaultServices=x`, codes: [200] },
  { name: 9, method: 'POST', bad: PATHS.insertService, body: {}, codes: [200, 400, 500] },
  { name: 10, method: 'DELETE', bad: PATHS.deleteService, codes: [200] },
  { name: 11, method: 'POST', bad: PATHS.enableService, codes: [200, 400, 401, 500] },
  { name: 12, method: 'POST', bad: PATHS.disableService, codes: [200, 400, 401, 500] },
  { name: 13, method: 'POST', bad: PATHS.bundle, body: {}, codes: BUNDLE_CODES },
  { name: 14, method: 'POST', bad: `${PATHS.bundle}/x/service`, body: {}, codes: BUNDLE_CODES },
  { name: 15, method: 'PUT', bad: `${PATHS.bundle}/x`, body: {}, codes: BUNDLE_CODES },
  { name: 16, method: 'DELETE', bad: `${PATHS.bundle}/x`, body: {}, codes: BUNDLE_CODES },
  { name: 17, method: 'DELETE', bad: `${PATHS.bundle}/x/service`, body: {}, codes: BUNDLE_CODES },
  { name: 18, method: 'POST', bad: PATHS.serviceBundle, body: {}, codes: BUNDLE_CODES },
  { name: 19, method: 'DELETE', bad: `${PATHS.serviceBundle}/x`, body: {}, codes: BUNDLE_CODES },
];

const MORE_CODES = [200, 400, 401, 403];

/** Those that the specification does not have; what has no 400 is refused for nothing. */
const OTHERS: Omit<EndpointTable, 'codes'>[] = [
  {
    name: '`insert_security_policy`',
    isEnveloped: false,
    method: 'POST',
    bad: PATHS.insertPolicy,
    body: { metadata: { name: 5 } },
  },
  { name: '`delete_security_policy`', isEnveloped: false, method: 'DELETE', bad: PATHS.deletePolicy },
  { name: '`insert_security_attach_policy`', isEnveloped: false, method: 'POST', bad: PATHS.attachPolicy },
  { name: '`delete_security_attach_policy`', isEnveloped: false, method: 'DELETE', bad: PATHS.detachPolicy },
  {
    name: '`POST /api/v2/api_key`',
    isEnveloped: true,
    method: 'POST',
    bad: PATHS.apiKey,
    body: { name: 'x', scope: 'toString' },
  },
  {
    name: '`PUT /api/v2/api_key/{id}`',
    isEnveloped: true,
    method: 'PUT',
    bad: `${PATHS.apiKey}/__proto__`,
    body: { name: 'x' },
  },
  { name: '`DELETE /api/v2/api_key/{id}`', isEnveloped: true, method: 'DELETE', bad: `${PATHS.apiKey}/constructor` },
  { name: '`POST /api/v1/events`', isEnveloped: false, method: 'POST', bad: PATHS.events, body: { data: 'none' } },
];

const ENDPOINTS: EndpointTable[] = [
  ...SPECIFIED.map((each) => ({ ...each, isEnveloped: Number(each.name) >= 13 })),
  ...OTHERS.map((each) => ({ ...each, codes: MORE_CODES })),
];

/** Reads that take nothing which could be bad. */
const PLAIN_READS: [path: string, isEnveloped: boolean][] = [
  [PATHS.policies, false],
  [`${PATHS.servicePolicies}/no.such.service`, false],
  [PATHS.shieldConfig, true],
  [PATHS.apiKey, true],
  ['/api/v1/event_types', true],
];

const PLAIN_RULES: Rule[] = PLAIN_READS.map(([path, isEnveloped]) => ({
  section: 'Errors',
  line: `\`GET ${path.replace('no.such.service', '{ServiceID}')}\`: a missing or wrong credential is 401 with ${isEnveloped ? 'the envelope and a Message' : 'a Message'}`,
  async check(target) {
    for (const as of ['nobody', 'wrong'] as const) {
      const answer = await target.get(path, as);
      equal(answer.status, 401, answer.text);
      ok(sentence(isEnveloped, answer).length > 0);
    }
  },
}));

const ERRORS = 'Errors';

function sentence(isEnveloped: boolean, answer: Answer): string {
  if (!isEnveloped) return answer.json.Message;
  ok(Number.isInteger(answer.json.error_code) && answer.json.error_code !== 0);
  ok(typeof answer.json.request_id === 'string' && answer.json.request_id !== '');
  equal(answer.json.Message, answer.json.error_description);
  return answer.json.error_description;
}

function statusRules(endpoint: EndpointTable): Rule[] {
  const { name, isEnveloped, method, bad, body, codes } = endpoint;
  // Even a request that must be refused is not sent to a server that nothing may be written to.
  const rule = (line: string, check: Rule['check'], writes = method !== 'GET'): Rule => ({
    section: ERRORS,
    line: `${name}: ${line}`,
    writes,
    check,
  });
  const refused = async (target: Target, status: number, as?: As) => {
    const answer = await target.call(method, bad, body, as);
    equal(answer.status, status, answer.text);
    ok(sentence(isEnveloped, answer).length > 0);
  };
  const shape = isEnveloped ? 'the envelope and a Message' : 'a Message';
  return [
    rule(`a bad value is 400 with ${shape}`, (target) => refused(target, 400)),
    rule(`a missing credential is 401 with ${shape}`, (target) => refused(target, 401, 'nobody')),
    rule(`a wrong credential is 401 with ${shape}`, (target) => refused(target, 401, 'wrong')),
    ...(codes.includes(403)
      ? [rule(`a scope that does not permit it is 403 with ${shape}`, (target) => refused(target, 403, 'limited'))]
      : []),
    ...(codes.includes(500) ? [rule(`500 comes with ${shape}`, (target) => failing(target, endpoint), true)] : []),
  ];
}

/** A failure can't be provoked from outside, unless the server takes faults. */
async function failing(target: Target, { isEnveloped, method, bad, body }: EndpointTable): Promise<void> {
  const path = bad.split('?')[0] as string;
  const plan = [{ kind: 'error', status: 500, times: 1, match: { method, path } }];
  if ((await target.call('PUT', '/faults', plan, 'admin')).status !== 200)
    throw new NotChecked('a failure cannot be provoked');
  try {
    const answer = await target.call(method, bad, body);
    equal(answer.status, 500);
    ok(sentence(isEnveloped, answer).length > 0);
  } finally {
    await target.call('DELETE', '/faults', undefined, 'admin');
  }
}

const AUTH = 'Authentication';
const auth = (line: string, check: Rule['check'], section = AUTH): Rule => ({ section, line, check });

async function exchange(target: Target, as: As): Promise<string> {
  const answer = await target.call('POST', PATHS.refreshToken, undefined, as);
  equal(answer.status, 200, answer.text);
  return answer.json.Message;
}

const AUTH_RULES: Rule[] = [
  auth('a refresh token is exchanged for an access token in `Message`', async (target) => {
    ok((await exchange(target, 'refresh')).length > 0);
  }),
  auth('the access token is a JSON Web Token that says when it expires', async (target) => {
    const [, payload] = (await exchange(target, 'refresh')).split('.');
    const claims = JSON.parse(Buffer.from(payload ?? '', 'base64url').toString());
    ok(Number.isInteger(claims.iat) && Number.isInteger(claims.exp), 'times are whole seconds');
    ok(claims.exp > claims.iat);
  }),
  auth('the access token is sent as `Authorization: Bearer`', async (target) => {
    const authorization = `Bearer ${await exchange(target, 'refresh')}`;
    equal((await target.get(`${PATHS.devices}?Limit=1`, { authorization })).status, 200);
  }),
  auth('an API key is sent as `Authorization: Bearer`', async (target) => {
    equal((await target.get(`${PATHS.devices}?Limit=1`)).status, 200);
  }),
  auth('an API key posted as a refresh token is exchanged too', async (target) => {
    const authorization = `Bearer ${await exchange(target, 'key')}`;
    equal((await target.get(`${PATHS.devices}?Limit=1`, { authorization })).status, 200);
  }),
  auth('a wrong refresh token is 401', async (target) => {
    equal((await target.call('POST', PATHS.refreshToken, undefined, 'wrong')).status, 401);
  }),
  auth('a refresh token is no access token: 401', async (target) => {
    equal((await target.get(PATHS.devices, 'refresh')).status, 401);
  }),
  auth('a changed access token is 401', async (target) => {
    const token = await exchange(target, 'refresh');
    const changed = `${token.slice(0, -6)}AAAAAA`;
    equal((await target.get(PATHS.devices, { authorization: `Bearer ${changed}` })).status, 401);
  }),
  auth('an API key has the privilege level of its scope', async (target) => {
    equal((await target.get(PATHS.events, 'limited')).status, 403);
  }),
  auth('bundles take an admin token, with and without the scheme word', async (target) => {
    const token = target.credentials.adminToken;
    if (!token) throw new NotChecked('needs an admin token');
    for (const authorization of [token, `Bearer ${token}`]) {
      equal((await target.get(PATHS.bundle, { authorization })).status, 200);
    }
  }),
];

const OTHER_RULES: Rule[] = [
  auth(
    'an unknown path is 404 with a Message, below the addresses of bundles and v2 too',
    async (target) => {
      for (const path of [
        '/api/v1/no_such_endpoint',
        '/experimental/v2/no_such_endpoint',
        '/api/v2/no_such',
        '/nothing',
      ]) {
        const answer = await target.get(path, 'key');
        equal(answer.status, 404, path);
        ok(answer.json.Message.length > 0, path);
      }
    },
    ERRORS,
  ),
  auth(
    'a wrong method is 405 with a Message, and `Allow` tells the right ones',
    async (target) => {
      const answer = await target.call('PUT', PATHS.devices, {});
      equal(answer.status, 405);
      match(answer.headers.get('allow') ?? '', /GET/);
      ok(answer.json.Message.length > 0);
    },
    ERRORS,
  ),
  {
    section: ERRORS,
    line: 'a body that is too large, or no JSON, is refused with a Message',
    writes: true,
    async check(target) {
      for (const path of [PATHS.insertService, PATHS.insertPolicy, PATHS.events, PATHS.apiKey, PATHS.bundle]) {
        for (const body of ['{"half', ' '.repeat(5_000_000)]) {
          const answer = await target.call('POST', path, body);
          ok([400, 413].includes(answer.status), `${path}: ${answer.status}`);
          ok(answer.json.Message.length > 0, path);
        }
      }
    },
  },
  auth(
    'payloads are JSON',
    async (target) => {
      match((await target.get(`${PATHS.devices}?Limit=1`)).headers.get('content-type') ?? '', /application\/json/);
    },
    'Versioning',
  ),
  auth(
    'everything outside bundles is served under `/api/v1/`',
    async (target) => {
      for (const path of [PATHS.endusers, PATHS.devices, PATHS.events, PATHS.services]) {
        equal((await target.get(path)).status, 200, path);
      }
    },
    'Versioning',
  ),
  auth(
    'the event list gives 10 events unless asked for more',
    async (target) => {
      deepEqual(
        (await target.get(PATHS.events)).json.data.length,
        Math.min(10, (await target.get(PATHS.countEvents)).json.data),
      );
    },
    'Limits',
  ),
  auth(
    'sending Skip and Limit changes the shape of the answer',
    async (target) => {
      for (const path of [PATHS.endusers, PATHS.devices]) {
        equal(Array.isArray((await target.get(path)).json), true);
        equal(Array.isArray((await target.get(path + query({ Skip: 0, Limit: 1 }))).json), false);
      }
    },
    'Limits',
  ),
];

export const ACCESS_RULES: Rule[] = [...AUTH_RULES, ...ENDPOINTS.flatMap(statusRules), ...PLAIN_RULES, ...OTHER_RULES];
