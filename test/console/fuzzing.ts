// test console: generated and mutated requests over every endpoint, and what must hold for each of them.
// In: how many. Out: nothing, or the smallest request that breaks a promise. It is seeded: a failing request can be made again.
import { equal, ok } from 'node:assert/strict';
import fc from 'fast-check';
import { ENDPOINT_IDS, ENDPOINTS, type Endpoint, type EndpointId, parseExact } from '../../src/platform/contract.ts';
import { type Organization, openOrganization } from '../support/console-organization.ts';

interface FuzzRequest {
  id: EndpointId;
  method: string;
  address: string;
  body: string | undefined;
  credential: 'key' | 'admin' | 'limited' | 'wrong' | 'none';
}

/** Values that some parameter or field means something by. */
interface Known {
  serials: string[];
  emails: string[];
  serviceIds: string[];
}

// biome-ignore format: a list
const VALUES = [
  '', '0', '1', '-1', '1e3', '999999999999999', '9999999999999999999', '0x10', 'NaN', 'null', 'true', 'FALSE', 'asc', 'DESC', 'name',
  'INFO', 'DEBUG', 'Access|Audit', '|', '%', '\u0000', "' OR 1=1 --", '<script>', '🧑🏽‍💻', '\uD800', 'a'.repeat(5_000), '[]', '{}', 'serialnumber',
  'created_at', '2026-01-01', '1790000000123456789',
];

const BODIES = (known: Known): unknown[] => [
  [{ Model: 'M', Ownership: 'Other', Platform: 'macOS', Architecture: 'arm64', Banned: 'TRUE' }],
  { Banned: true, OS: 'macOS 15', IsMDMPresent: true, MDMVendorName: 'JAMF' },
  { bundle_name: 'b', description: 'd', service_ids: known.serviceIds.slice(0, 2), bulk_connect: true },
  { service_id: known.serviceIds[0] },
  { bundle_id: 'x', service_ids: known.serviceIds },
  { metadata: { name: 'n', cluster: 'c', tags: { port: '443', user_facing: 'true' } }, spec: { client_cidrs: [] } },
  { metadata: { name: 'n.m', cluster: 'c' } },
  { metadata: { name: 'n', cluster: 'm.c' } },
  [{ type: 'Access', severity: 'ERROR', created_at: 1, user_principal: { device: { id: 'x' }, user: { email: 'y' } } }],
  { type: 'Audit', link: { destination: { service_name: 's' } }, trustscore: { timestamp: 1, score: 2 } },
  {},
  [],
];

function requests(known: Known): fc.Arbitrary<FuzzRequest> {
  const value = fc.oneof(
    fc.constantFrom(...VALUES, ...known.serials.slice(0, 8), ...known.emails.slice(0, 8), ...known.serviceIds),
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.integer().map(String),
  );
  return fc.constantFrom(...ENDPOINT_IDS).chain((id) => {
    const endpoint: Endpoint = ENDPOINTS[id];
    const names = Object.keys(endpoint.query.shape);
    const name = fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...(names.length > 0 ? names : ['x'])) },
      { weight: 1, arbitrary: fc.string({ maxLength: 10 }) },
    );
    const cased = fc.tuple(name, fc.boolean()).map(([text, upper]) => (upper ? text.toUpperCase() : text));
    return fc.record({
      id: fc.constant(id),
      method: fc.oneof(
        { weight: 12, arbitrary: fc.constant(endpoint.method as string) },
        { weight: 1, arbitrary: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS') },
      ),
      address: fc
        .tuple(
          fc.constantFrom(endpoint.path, ...endpoint.aliases),
          fc.array(fc.tuple(cased, value), { maxLength: 5 }),
          value,
        )
        .map(([path, params, segment]) => path.replace(/\{\w+\}/g, () => segmentOf(segment)) + queryOf(params)),
      body: endpoint.method === 'GET' ? fc.constant(undefined) : bodies(known),
      credential: fc.oneof(
        { weight: 8, arbitrary: fc.constantFrom('key', 'admin') },
        { weight: 1, arbitrary: fc.constantFrom('limited', 'wrong', 'none') },
      ) as fc.Arbitrary<FuzzRequest['credential']>,
    });
  });
}

function bodies(known: Known): fc.Arbitrary<string | undefined> {
  const base = fc.constantFrom(...BODIES(known));
  const mutated = fc
    .tuple(base, fc.jsonValue({ maxDepth: 3 }), fc.nat())
    .map(([body, part, at]) => JSON.stringify(mutate(body, part, at)));
  const cut = fc.tuple(base, fc.nat({ max: 200 })).map(([body, at]) => JSON.stringify(body).slice(0, at));
  return fc.oneof(
    base.map((body) => JSON.stringify(body)),
    mutated,
    mutated,
    cut,
    fc.json(),
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.constantFrom(undefined, '', '['.repeat(5_000), `{"a":${'9'.repeat(400)}}`, '{"__proto__":{"Banned":"TRUE"}}'),
  );
}

/** Replaces the n-th value within a body. */
function mutate(body: unknown, part: unknown, at: number): unknown {
  const places: { parent: Record<string, unknown>; key: string }[] = [];
  const copy = { whole: structuredClone(body) } as Record<string, unknown>;
  const walk = (parent: Record<string, unknown>): void => {
    for (const key of Object.keys(parent)) {
      places.push({ parent, key });
      const child = parent[key];
      if (typeof child === 'object' && child !== null) walk(child as Record<string, unknown>);
    }
  };
  walk(copy);
  const place = places[at % places.length];
  if (place) place.parent[place.key] = part;
  return copy.whole;
}

/** As in an address, which cannot contain half a surrogate pair. */
function encode(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\uFFFD'));
}

function segmentOf(value: string): string {
  return encode(value) || 'x';
}

function queryOf(params: [string, string][]): string {
  const parts = params.map(([name, value]) => `${encode(name)}=${encode(value)}`);
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

const REFUSALS = new Set([400, 401, 403, 404, 405, 413]);

/** What holds for every request, whatever it contains. */
async function send(org: Organization, limited: string, request: FuzzRequest): Promise<void> {
  const endpoint: Endpoint = ENDPOINTS[request.id];
  const before = org.console.effects().length;
  const body = request.method === 'GET' ? undefined : request.body;
  const authorization = {
    key: `Bearer ${org.apiKey}`,
    admin: org.adminToken,
    limited: `Bearer ${limited}`,
    wrong: 'Bearer nobody',
    none: null,
  }[request.credential];
  const answer = await org.call(request.method, request.address, body, authorization);
  equal(org.errors.length, 0, `the console failed: ${JSON.stringify(org.errors[0])}`);
  if (answer.status === 200) {
    if (request.method !== endpoint.method) return;
    const checked = endpoint.answer.safeParse(parseExact(answer.text));
    ok(checked.success, `an answer against the contract: ${answer.text.slice(0, 300)}`);
    return;
  }
  ok(REFUSALS.has(answer.status), `status ${answer.status}`);
  equal(org.console.effects().length, before, 'a refused request had an effect');
  const { Message: message, error_code: code, error_description: description } = answer.json ?? {};
  ok(typeof message === 'string' || (code !== 0 && typeof description === 'string'), `no sentence: ${answer.text}`);
  ok((message ?? description).length < 8_000, 'a whole input is repeated');
}

const ORGANIZATION_LIFE = 4_000;

/** Sends `count` requests, to a new organization every few thousand: the old one has been deleted by then. */
export async function fuzz(count: number, seed: number): Promise<void> {
  for (let done = 0; done < count; done += ORGANIZATION_LIFE) {
    const org = await openOrganization({ seed: { seed: 3, devices: 60, users: 40, services: 4, events: 60 } });
    const limited = org.console.issueApiKey('limited', 'EventWriter');
    const devices = (await org.call('GET', '/api/v1/devices')).json as { SerialNumber: string; Emails: string[] }[];
    const services = (await org.call('GET', '/api/v1/registered_services')).json as { ServiceID: string }[];
    const known = {
      serials: devices.map((each) => each.SerialNumber),
      emails: devices.flatMap((each) => each.Emails),
      serviceIds: services.map((each) => each.ServiceID),
    };
    try {
      await fc.assert(
        fc.asyncProperty(requests(known), (request) => send(org, limited, request)),
        { numRuns: Math.min(ORGANIZATION_LIFE, count - done), seed: seed + done },
      );
    } finally {
      await org.console.close();
    }
  }
}
