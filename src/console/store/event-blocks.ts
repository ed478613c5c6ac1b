// console store: the blocks of an event that clients read whole: `role`, `policy`, `link`, `channel`, `workload_principal` and others. In: what
// is known. Out: blocks with all their fields, empty where unknown: clients refuse an event in which a block lacks one of them.
import { uuidFrom } from './store.ts';

type Fields = { [name: string]: unknown };

const LINK_END = {
  container_id: '',
  container_name: '',
  service_id: '',
  service_name: '',
  service_version: '',
  host_name: '',
  ip: '',
};
const LINK = { source: LINK_END, destination: { ...LINK_END, port: '' } };
const ROLE = { id: '', name: '', version: '', bound_by: '', bound_at: 0 };
const POLICY = { id: '', name: '', version: '', attached_by: '', attached_at: 0, enabled: false };
const CHANNEL = {
  access_level: { resource: '' },
  sni_data: { name_requested: '', name_matched: '' },
  request_data: { protocol: '', type: '', query_crud_types: '', query_resources: '' },
};
// biome-ignore format: a list of names
const WORKLOADS = {
  workload_set: {
    container_name: '', container_id: '', image: '', repo: '', tag: '', labels: '', container_ips: '', app_name: '',
  },
  host: { host_ips: '', host_name: '', cluster_id: '', port_map: '' },
};
const SCORE = { id: '', type: '', timestamp: 0, score: 0 };
const NO_SERVICE = { id: '', name: '', type: '', version: '' };
const CLIENT = { user_agent: '', ip_address: '' };
// biome-ignore format: a list of names
const DEVICE = {
  id: '', friendly_name: '', mac_address: '', serial_number: '', registration_status: '', unregistered: false,
  compromised_status: '', compliance_status: '', oem_info: '', model: '', platform: '', ownership: '', architecture: '',
  udid: '', source: '', os: '', last_ip_address: '', last_user_agent: '', last_mdm_data_synced_at: 0,
};
const USER = { name: '', email: '', groups: [], roles: [] };

/** The principal of an event that no device and no person causes: a Resource event has one all the same. */
export const NOBODY = { device: DEVICE, user: USER, client: CLIENT };

/** A service as events show it: some clients look for its id in the name. */
export function eventService(service: { service_id: string; type: string; version: number } | undefined) {
  if (!service) return NO_SERVICE;
  return { id: service.service_id, name: service.service_id, type: service.type, version: String(service.version) };
}

/** The roles of these names, which administrators bound to a person. */
export function rolesOf(names: readonly string[], orgId: string, boundBy: string) {
  return names.map((name) => ({
    ...ROLE,
    id: uuidFrom(`${orgId}:role:${name}`),
    name,
    version: '1',
    bound_by: boundBy,
  }));
}

export function policyId(name: string, orgId: string): string {
  return uuidFrom(`${orgId}:policy:${name}`);
}

export function policyOf(name: string, orgId: string, attachedBy: string) {
  return { ...POLICY, id: policyId(name, orgId), name, version: '1', attached_by: attachedBy, enabled: true };
}

/** The user of an audit event: who called, by the name of the credential. */
export function callerOf(name: string) {
  return { ...USER, email: name };
}

const BLOCKS: Fields = {
  link: LINK,
  policy: POLICY,
  channel: CHANNEL,
  workload_principal: WORKLOADS,
  trustscore: SCORE,
};

/**
 * An event with what its blocks lack, and with the blocks that all events of its kind have. A block is whole or absent, never null; one that
 * older senders give as a name gets its fields. What is no such block stays as it is.
 */
export function filledBlocks<T extends Fields>(event: T): T {
  const filled: Fields = { ...event };
  for (const name of [...Object.keys(BLOCKS), 'role']) if (event[name] === null) delete filled[name];
  for (const [name, block] of Object.entries(BLOCKS)) {
    if (filled[name] !== undefined) filled[name] = whole(block as Fields, named(filled[name]));
  }
  if (Array.isArray(event.role)) filled.role = event.role.map((each) => whole(ROLE, named(each)));
  filled.service = serviceIn(event.service, filled.link);
  filled.user_principal = principalIn(event.user_principal, event.sub_type === 'Resource');
  return filled as T;
}

function named(given: unknown): unknown {
  return typeof given === 'string' ? { name: given } : given;
}

/** The fields that are given, and those of the template that are not; also of the blocks inside it. */
function whole(template: Fields, given: unknown): unknown {
  if (!isFields(given)) return given;
  const filled: Fields = { ...template, ...given };
  for (const [name, inner] of Object.entries(template)) {
    if (isFields(inner)) filled[name] = whole(inner, given[name] ?? {});
  }
  return filled;
}

function serviceIn(given: unknown, link: unknown): unknown {
  if (given !== undefined && given !== null) return whole(NO_SERVICE, given);
  const end = isFields(link) && isFields(link.destination) ? link.destination : {};
  const id = typeof end.service_id === 'string' ? end.service_id : '';
  return { ...NO_SERVICE, id, name: id };
}

function principalIn(given: unknown, isOfResource: boolean): Fields {
  const sent = Object.entries(isFields(given) ? given : {}).filter(([, part]) => part !== null);
  const principal: Fields = { ...(isOfResource ? NOBODY : {}), ...Object.fromEntries(sent) };
  if (isFields(principal.device)) principal.device = whole(DEVICE, withRegistration(principal.device));
  if (isFields(principal.user)) principal.user = whole(USER, principal.user);
  if (isFields(principal.client)) principal.client = whole(CLIENT, principal.client);
  return principal;
}

/** Both spellings: clients read one or the other. */
function withRegistration(device: Fields): Fields {
  const { unregistered, registration_status: status } = device;
  if (typeof status === 'string' && status !== '' && unregistered === undefined) {
    return { ...device, unregistered: status.toUpperCase() === 'FALSE' };
  }
  if (typeof unregistered === 'boolean' && status === undefined) {
    return { ...device, registration_status: unregistered ? 'FALSE' : 'TRUE' };
  }
  return device;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
