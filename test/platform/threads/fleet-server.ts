// test threads: a Management API over loopback with random fleets, as platforms and hostile devices send them: odd names, keys that are no
// UUIDs, records without a key, shared serial numbers, long integers. What it sends is text: it may hold what no record can.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';

export interface FleetServer {
  address: string;
  /** Each a device as JSON, in the order of the list. */
  devices: string[];
  events: string[];
  users: string[];
  /** Called with the number of each request for devices, from 1; what it returns is sent instead. */
  fault: ((request: number) => { status: number; body?: string } | undefined) | undefined;
  requests: number;
  close(): Promise<void>;
}

export async function startFleetServer(): Promise<FleetServer> {
  const server: Server = createServer((incoming, answer) => {
    const url = new URL(incoming.url ?? '/', 'http://fleet');
    const [, , , what, more] = url.pathname.split('/');
    const [skip, limit] = [Number(url.searchParams.get('Skip') ?? 0), url.searchParams.get('Limit')];
    const list = what === 'devices' ? fleet.devices : what === 'endusers' ? fleet.users : [];
    // Of lists: a target that is read by itself is asked for by its serial number.
    if (what === 'devices' && ![...url.searchParams.keys()].some((name) => /serial|id$/i.test(name)))
      fleet.requests += 1;
    const fault = what === 'devices' ? fleet.fault?.(fleet.requests) : undefined;
    if (fault) answer.writeHead(fault.status).end(fault.body);
    else if (what === 'events' && more === 'count') answer.end(`{"data":${fleet.events.length}}`);
    else if (what === 'events') {
      const from = Number(url.searchParams.get('skip') ?? 0);
      answer.end(
        `{"data":[${fleet.events.slice(from, from + Number(url.searchParams.get('limit') ?? 1000)).join(',')}]}`,
      );
    } else if (limit === null) answer.end(`[${list.join(',')}]`);
    else answer.end(`{"${what}":[${list.slice(skip, skip + Number(limit)).join(',')}],"count":${list.length}}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const fleet: FleetServer = {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    devices: [],
    events: [],
    users: [],
    fault: undefined,
    requests: 0,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return fleet;
}

const uuid = (n: number) =>
  `${(n * 2_654_435_761).toString(16).padStart(12, '0').slice(-8)}-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;
const ODD_NAMES = ['a\tb', 'line\nbreak', 'Zoë 💻', '', 'constructor', 'x'.repeat(200), '["a"]', 'nul\u0000'];

const device = fc.record({
  key: fc.oneof(
    { weight: 30, arbitrary: fc.constant('uuid') },
    fc.constantFrom('text', 'upper', 'number', 'none', 'null'),
  ),
  serial: fc.oneof(
    { weight: 6, arbitrary: fc.constant('own') },
    fc.constantFrom('shared', '', 'none', 'toString', 'long'),
  ),
  name: fc.oneof({ weight: 5, arbitrary: fc.constant('plain') }, fc.constantFrom(...ODD_NAMES)),
  platform: fc.constantFrom('Windows', 'macOS', 'iOS', 'plat\nform'),
  model: fc.nat(120),
  score: fc.oneof(fc.nat(100), fc.constantFrom(101, 3.5, null)),
  compromised: fc.oneof({ weight: 8, arbitrary: fc.constant('FALSE') }, fc.constantFrom('TRUE', '', 'maybe')),
  banned: fc.constantFrom<unknown>('TRUE', 'FALSE', true, undefined, 7),
  updated: fc.constantFrom('1795311988753912872', '0', '12', '"soon"'),
  owners: fc.constantFrom(
    '[]',
    '["ada@acme.example"]',
    '["Ada@acme.example","ben@acme.example"]',
    '["nobody@acme.example"]',
    '7',
  ),
  odd: fc.oneof({ weight: 400, arbitrary: fc.constant(false) }, fc.constant(true)),
});
export type RandomDevice = typeof device extends fc.Arbitrary<infer T> ? T : never;

/** A fleet of devices whose faults are few enough for a trusted reading in most cases. */
export const devicesOf = (length: number) => fc.array(device, { minLength: length, maxLength: length });

export function deviceText(each: RandomDevice, index: number): string {
  if (each.odd) return ['null', '7', '[]', '{}'][index % 4] as string;
  const ids = {
    uuid: uuid(index),
    text: `device ${index}`,
    upper: uuid(index).toUpperCase(),
    number: index,
    none: undefined,
    null: null,
  };
  // Too many records without a key are a reason of their own.
  const key = index % 97 === 0 ? each.key : each.key === 'text' || each.key === 'upper' ? each.key : 'uuid';
  const serials = {
    own: `S${index}`,
    shared: `shared ${index % 7}`,
    none: index % 97 === 0 ? undefined : 'kept',
    // No part of those without a key.
    long: `S${index}`.padEnd(index % 3 === 0 ? 513 : 512, 'x'),
  };
  const serial = each.serial in serials && each.serial !== 'toString' ? serials[each.serial as 'own'] : each.serial;
  const record = {
    DeviceID: ids[key as 'uuid'],
    SerialNumber: serial,
    DeviceFriendlyName: each.name === 'plain' ? `device ${index}` : each.name,
    Platform: each.platform,
    Model: `model ${each.model}`,
    Banned: each.banned,
    MdmData: { CompromisedStatus: each.compromised },
  };
  const lone = index % 211 === 0 ? ',"Architecture":"\\ud800 lone"' : '';
  return `${JSON.stringify(record).slice(0, -1)}${lone},"TrustData":{"EntityTrustscore":${each.score},"UpdatedAt":${each.updated}},"Emails":${each.owners}}`;
}

export function eventText(index: number, createdAtMs: number): string {
  return JSON.stringify({
    id: `event ${index}`,
    type: 'Access',
    action: index % 3 === 0 ? 'Unauthorized' : 'Authorized',
    created_at: createdAtMs,
    user_principal: {
      device: { id: uuid(index % 50), serial_number: index % 2 === 0 ? `S${index % 50}` : 'shared 1' },
      ...(index % 5 === 0 && { user: { email: 'Ben@acme.example' } }),
    },
  });
}
