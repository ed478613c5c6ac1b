// console store: the blocks of an event that clients read whole: `role`, `policy` and the ends of `link`, with the caller of an audit event. In:
// what is known. Out: blocks with all their fields, empty where unknown: clients refuse an event in which a block lacks one of them.
import { uuidFrom } from './store.ts';

const LINK_END = { service_id: '', service_name: '', container_id: '', container_name: '', host_name: '', ip: '' };
const ROLE = { id: '', name: '', version: '', bound_by: '', bound_at: 0 };
const POLICY = { id: '', name: '', version: '', attached_by: '', attached_at: 0, enabled: false };

type Fields = { [name: string]: unknown };

export function linkOf(source: Partial<typeof LINK_END>, destination: Partial<typeof LINK_END>) {
  return { source: { ...LINK_END, ...source }, destination: { ...LINK_END, ...destination } };
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

export function policyOf(name: string, orgId: string, attachedBy: string) {
  const id = uuidFrom(`${orgId}:policy:${name}`);
  return { ...POLICY, id, name, version: '1', attached_by: attachedBy, enabled: true };
}

/** The user of an audit event: who called, by the name of the credential. */
export function callerOf(name: string) {
  return { email: name, groups: [], roles: [] };
}

/** What a client submitted, with the fields that its blocks lack. What is no such block stays as it is. */
export function filledBlocks<T extends Fields>(event: T): T {
  const { link, policy, role, user_principal: principal } = event;
  const filled: Fields = {};
  if (isFields(link)) filled.link = { ...link, ...filledMembers(link, ['source', 'destination'], LINK_END) };
  if (isFields(policy)) filled.policy = { ...POLICY, ...policy };
  if (Array.isArray(role)) filled.role = role.map((each) => (isFields(each) ? { ...ROLE, ...each } : each));
  if (isFields(principal) && isFields(principal.device))
    filled.user_principal = { ...principal, device: withRegistration(principal.device) };
  return { ...event, ...filled };
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

function filledMembers(holder: Fields, names: readonly string[], block: Fields): Fields {
  const present = names.filter((name) => isFields(holder[name]));
  return Object.fromEntries(present.map((name) => [name, { ...block, ...(holder[name] as Fields) }]));
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
