// run: reads of single records, for one subject or a few. In: the API. Out: the same look-ups, each bounded; a user's devices, the owners of
// devices. It reads no list of the fleet: a server that does not look up is left at the bound.
import { type Facts, ownTexts } from '../domain/facts.ts';
import { inOrder } from '../domain/in-order.ts';
import type { Api } from '../domain/ports.ts';

/** Records of a list that a lookup reads of a server that does not look up. */
export const RECORDS_MAX = 10_000;
/** Reads at a time. */
const AT_ONCE = 8;

/** The lookups of the API, each bounded. Errors: also AppError `api_answer` at the bound. */
export type Lookups = Pick<Api, 'address' | 'devicesOfSerial' | 'device' | 'user' | 'service'>;

export function boundedLookups(api: Lookups): Lookups {
  return {
    address: api.address,
    devicesOfSerial: (serial) => api.devicesOfSerial(serial, RECORDS_MAX),
    device: (id) => api.device(id, RECORDS_MAX),
    user: (email) => api.user(email, RECORDS_MAX),
    service: (id) => api.service(id, RECORDS_MAX),
  };
}

/** Several at a time; the first failure ends it. */
export async function readEach<J, T>(jobs: Iterable<J>, read: (job: J) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for await (const result of inOrder(jobs, AT_ONCE, read)) results.push(result);
  return results;
}

/** Devices of these users by serial number. */
export async function devicesOfUsers(api: Lookups, users: readonly Facts[]): Promise<Map<string, Facts[]>> {
  const serials = new Set(users.flatMap((user) => ownTexts(user, 'SerialNumbers') ?? []));
  return new Map(await readEach(serials, async (serial) => [serial, await api.devicesOfSerial(serial)] as const));
}

/** The records of all owners of these devices, by lower-case e-mail. */
export async function ownersOf(api: Pick<Api, 'user'>, devices: readonly Facts[]): Promise<Map<string, Facts>> {
  const emails = new Set(devices.flatMap((device) => ownTexts(device, 'Emails') ?? []));
  const owners = await readEach(emails, async (email) => [email.toLowerCase(), await api.user(email)] as const);
  return new Map(owners.flatMap(([email, user]) => (user ? [[email, user] as const] : [])));
}
