// test console: random requests made from the console's own OpenAPI document, and what must hold for each of them. In: how many.
// Out: nothing, or the smallest request that breaks a promise. It is seeded: a failing request can be made again.
import { equal, ok } from 'node:assert/strict';
import fc from 'fast-check';
import { type Organization, openOrganization } from '../support/console-organization.ts';
import { type OpenApiRequest, openApiRequests } from '../support/openapi-requests.ts';

/** Refusals that every address has, besides those that the document lists for it. */
const EVERYWHERE = [401, 403, 404, 405, 413];

const ORGANIZATION_LIFE = 5_000;

export interface Tally {
  accepted: number;
  refused: number;
  /** The number of the last effect that was seen. */
  effects: number;
}

/** Sends `count` requests, to a new organization every few thousand: the old one has been deleted by then. */
export async function fuzzDocument(count: number, seed: number): Promise<Tally> {
  const tally = { accepted: 0, refused: 0, effects: 0 };
  for (let done = 0; done < count; done += ORGANIZATION_LIFE) {
    tally.effects = 0;
    const org = await openOrganization({
      seed: { seed: 3, devices: 60, users: 40, services: 4, events: 60 },
    });
    try {
      const document = (await org.call('GET', '/openapi.json')).json;
      const requests = openApiRequests(document, { known: await knownIn(org) });
      await fc.assert(
        fc.asyncProperty(requests, (request) => send(org, document, request, tally)),
        { numRuns: Math.min(ORGANIZATION_LIFE, count - done), seed: seed + done },
      );
      equal((await org.call('GET', '/healthz')).status, 200);
    } finally {
      await org.console.close();
    }
  }
  return tally;
}

async function knownIn(org: Organization): Promise<Record<string, string[]>> {
  const get = async (path: string) => (await org.call('GET', path)).json;
  const devices = (await get('/api/v1/devices')).slice(0, 20) as {
    SerialNumber: string;
    DeviceID: string;
    Emails: string[];
  }[];
  const services = (await get('/api/v1/registered_services')) as { ServiceID: string }[];
  const bundle = await org.call('POST', '/api/v2/bundle', { bundle_name: 'one' });
  const serials = devices.map((each) => each.SerialNumber);
  const emails = devices.flatMap((each) => each.Emails);
  const serviceIds = services.map((each) => each.ServiceID);
  return {
    SerialNumber: serials,
    serial_number: serials,
    exact_serial_number: serials,
    email: emails,
    exact_email: emails,
    user_email: emails,
    id: devices.map((each) => each.DeviceID),
    ServiceID: serviceIds,
    service_id: serviceIds,
    service_ids: serviceIds,
    bundle_id: [bundle.json.data.id],
    last_login_before: ['1768130401501180685', '1768130401501'],
  };
}

// biome-ignore lint/suspicious/noExplicitAny: a document is looked into here, not typed
async function send(org: Organization, document: any, request: OpenApiRequest, tally: Tally): Promise<void> {
  const last = org.console.effects(tally.effects).at(-1)?.seq ?? tally.effects;
  tally.effects = last;
  const response = await org.console.app.request(request.address, {
    method: request.method,
    headers: { ...request.headers, Authorization: `Bearer ${org.apiKey}` },
    ...(request.body === undefined || request.method === 'GET' ? {} : { body: request.body }),
  });
  const text = await response.text();
  equal(org.errors.length, 0, `the console failed: ${JSON.stringify(org.errors[0])}`);
  ok(response.status < 500, `status ${response.status}: ${text.slice(0, 300)}`);
  const listed = Object.keys(document.paths[request.path][request.method.toLowerCase()].responses).map(Number);
  ok(
    [...listed, ...EVERYWHERE].includes(response.status),
    `a status that the document does not list: ${response.status}`,
  );
  const body = text === '' ? undefined : JSON.parse(text);
  if (response.status === 200) {
    tally.accepted++;
    return;
  }
  tally.refused++;
  equal(org.console.effects(last).length, 0, 'a refused request had an effect');
  ok(typeof body.Message === 'string' && body.Message !== '', `no Message: ${text.slice(0, 300)}`);
  ok(body.Message.length < 8_000, 'a whole input is repeated');
}
