// conformance: finding records on the target that a rule can be checked on.
// In: a target. Out: devices, users, services, or NotChecked when the target has none of that kind. It changes nothing.
import { type Answer, NotChecked, query, type Target } from './target.ts';

// biome-ignore lint/suspicious/noExplicitAny: records as they came
export type Row = any;

export const PATHS = {
  endusers: '/api/v1/endusers',
  devices: '/api/v1/devices',
  deleteDevice: '/api/v1/delete_device',
  updateDevice: '/api/v1/mdm/update_device',
  events: '/api/v1/events',
  countEvents: '/api/v1/events/count',
  feed: '/api/v1/events/feed',
  services: '/api/v1/registered_services',
  insertService: '/api/v1/insert_registered_service',
  deleteService: '/api/v1/delete_registered_service',
  enableService: '/api/v1/enable_registered_service',
  disableService: '/api/v1/disable_registered_service',
  bundle: '/experimental/v2/bundle',
  serviceBundle: '/experimental/v2/service_bundle',
  refreshToken: '/api/v1/refresh_token',
  policies: '/api/v1/security_policies',
  insertPolicy: '/api/v1/insert_security_policy',
  deletePolicy: '/api/v1/delete_security_policy',
  attachPolicy: '/api/v1/insert_security_attach_policy',
  detachPolicy: '/api/v1/delete_security_attach_policy',
  servicePolicies: '/api/v1/policy/attachment/service',
  shieldConfig: '/api/v2/shield_config',
  apiKey: '/api/v2/api_key',
} as const;

export async function devices(target: Target, filter: Record<string, string> = {}): Promise<Row[]> {
  return listOf(await target.get(PATHS.devices + query(filter)));
}

export async function users(target: Target, filter: Record<string, string> = {}): Promise<Row[]> {
  return listOf(await target.get(PATHS.endusers + query(filter)));
}

export async function services(target: Target, serviceId?: string): Promise<Row[]> {
  return listOf(await target.get(PATHS.services + (serviceId ? query({ ServiceID: serviceId }) : '')));
}

export async function events(target: Target, filter: Record<string, string | number> = {}): Promise<Row[]> {
  return listOf({ ...(await target.get(PATHS.events + query({ limit: 1_000, ...filter }))) }, 'data');
}

function listOf(answer: Answer, member?: string): Row[] {
  const list = member ? answer.json?.[member] : answer.json;
  if (answer.status !== 200 || !Array.isArray(list))
    throw new Error(`no list came: ${answer.status} ${answer.text.slice(0, 200)}`);
  return list;
}

/** The first that fits. */
export function pick<T>(from: readonly T[], fits: (each: T) => boolean, what: string): T {
  const found = from.find(fits);
  if (found === undefined) throw new NotChecked(`the target has no ${what}`);
  return found;
}

/** An unbanned device with a unique serial number and a registered user. */
export async function plainDevice(target: Target, fits: (device: Row) => boolean = () => true): Promise<Row> {
  const all = await devices(target);
  const counts = new Map<string, number>();
  for (const each of all) counts.set(each.SerialNumber, (counts.get(each.SerialNumber) ?? 0) + 1);
  return pick(
    all,
    (each) =>
      counts.get(each.SerialNumber) === 1 &&
      each.SerialNumber.length > 7 &&
      each.Banned === 'FALSE' &&
      each.Emails?.length > 0 &&
      fits(each),
    'plain device of that kind',
  );
}

/** Devices that share a serial number, unbanned. */
export async function sharedSerial(target: Target): Promise<string> {
  const all = await devices(target);
  const serials = all.map((each) => each.SerialNumber as string);
  const found = pick(
    all,
    (each) =>
      each.SerialNumber.length > 7 &&
      !each.SerialNumber.includes(' ') &&
      each.Banned === 'FALSE' &&
      serials.filter((serial) => serial === each.SerialNumber).length > 1,
    'serial number that several devices share',
  );
  return found.SerialNumber;
}

let made = 0;

/** A spec of a service that the target does not have yet. */
export function freshSpec(): Row {
  made++;
  const name = `conformance-${process.pid}-${made}`;
  return {
    kind: 'ConformanceService',
    apiVersion: 'rbac.example/v1',
    type: 'origin',
    metadata: {
      name,
      description: 'made by the conformance suite',
      cluster: 'conformance',
      tags: {
        template: 'WEB_USER',
        user_facing: 'true',
        protocol: 'https',
        domain: `${name}.example`,
        port: '8443',
        icon: '',
        service_app_type: 'WEB',
      },
    },
    spec: {},
  };
}

/** Creates a service, hands over its record, and deletes it again. */
export async function withService(target: Target, work: (record: Row, spec: Row) => Promise<void>): Promise<void> {
  const spec = freshSpec();
  const answer = await target.call('POST', PATHS.insertService, spec);
  if (answer.status !== 200) throw new Error(`no service was created: ${answer.status} ${answer.text.slice(0, 200)}`);
  try {
    await work(answer.json, spec);
  } finally {
    await target.call('DELETE', PATHS.deleteService + query({ ServiceID: answer.json.ServiceID }));
  }
}

/** Creates a bundle of two services, hands it over, and deletes all again. */
export async function withBundle(
  target: Target,
  work: (bundle: Row, serviceIds: [string, string]) => Promise<void>,
): Promise<void> {
  await withService(target, (one) =>
    withService(target, async (two) => {
      const body = {
        bundle_name: `bundle of ${one.ServiceName}`,
        description: 'made by the conformance suite',
        service_ids: [one.ServiceID],
        bulk_connect: true,
      };
      const answer = await target.call('POST', PATHS.bundle, body);
      if (answer.status !== 200)
        throw new Error(`no bundle was created: ${answer.status} ${answer.text.slice(0, 200)}`);
      try {
        await work(answer.json.data, [one.ServiceID, two.ServiceID]);
      } finally {
        await target.call('DELETE', `${PATHS.bundle}/${answer.json.data.id}`, {});
      }
    }),
  );
}
