// run: reads the subjects that events named, one by one. In: their names. Out: records without secrets, each checked against the name that it
// was read by; how many names were of nobody. INVARIANT: a server that ignores a filter does not widen what is judged.
import { type Facts, ownText } from '../../domain/facts.ts';
import type { IdentityReader } from '../../domain/identity.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import { readRecord } from '../../pull/record-key.ts';
import { dropSecrets } from '../../pull/secrets.ts';
import { type Lookups, RECORDS_MAX, readEach } from '../single-reads.ts';
import type { NamedSerial, NamedSubjects } from './named-subjects.ts';

/** Characters of a name: an escaped one of this length still fits into every request line. */
const NAME_MAX = 500;

export interface NamedRecords {
  records: Record<SubjectKind, Facts[]>;
  /** Names that nobody has: forged, old, or of a subject that has vanished. */
  strangers: number;
}

/** Errors: those of reading the API; then nothing of them counts. */
export async function readNamed(lookups: Lookups, reader: IdentityReader, named: NamedSubjects): Promise<NamedRecords> {
  const api = ofPossibleNames(lookups);
  const found: NamedRecords = { records: { device: [], user: [], service: [] }, strangers: 0 };
  const keep = (kind: SubjectKind, records: readonly Facts[]) => {
    if (records.length === 0) found.strangers += 1;
    found.records[kind].push(...records.map((record) => dropSecrets(record, new Set())));
  };
  const serials = await withSerialsOf(api, reader, named);
  found.strangers += serials.strangers;
  for (const devices of await readEach(serials.named, (one) => devicesNamed(api, one))) keep('device', devices);
  for (const users of await readEach(named.emails, (email) => usersNamed(api, reader, email))) keep('user', users);
  const ids = await serviceIdsOf(reader, named);
  found.strangers += ids.strangers;
  for (const services of await readEach(ids.named, (id) => servicesNamed(api, id))) keep('service', services);
  return found;
}

/** A server refuses a request that is too long. That would be a failed read, and one forged event would stop every look. */
function ofPossibleNames(api: Lookups): Lookups {
  const isPossible = (name: string) => name.length <= NAME_MAX;
  return {
    address: api.address,
    devicesOfSerial: async (serial) => (isPossible(serial) ? api.devicesOfSerial(serial) : []),
    device: async (id, recordsMax) => (isPossible(id) ? api.device(id, recordsMax) : undefined),
    user: async (email) => (isPossible(email) ? api.user(email) : undefined),
    service: async (id) => (isPossible(id) ? api.service(id) : undefined),
  };
}

/** The serial numbers of devices that were named by DeviceID alone, added to the others. */
async function withSerialsOf(
  api: Lookups,
  reader: IdentityReader,
  { serials, deviceIds }: NamedSubjects,
): Promise<{ named: Map<string, NamedSerial>; strangers: number }> {
  const named = new Map(serials);
  let strangers = 0;
  const found = await readEach(deviceIds, async (id) => ({ id, serial: await serialOf(api, reader, id) }));
  for (const { id, serial } of found) {
    if (serial === undefined) strangers += 1;
    else
      named.set(serial, {
        isAlone: false,
        ...named.get(serial),
        ids: new Set([...(named.get(serial)?.ids ?? []), id]),
      });
  }
  return { named, strangers };
}

/** Older servers look up serial numbers only: what was read before has it. */
async function serialOf(api: Lookups, reader: IdentityReader, id: string): Promise<string | undefined> {
  const known = await reader.identitiesNamed(id);
  const stored = known.find(({ identity, by }) => by === 'id' && identity.kind === 'device' && identity.id === id);
  const serial = stored?.identity.serial || ownText((await api.device(id, RECORDS_MAX)) ?? {}, 'SerialNumber');
  return serial || undefined;
}

/** All devices of the serial number: an action on one hits them all. */
async function devicesNamed(api: Lookups, [serial, { ids, isAlone }]: [string, NamedSerial]): Promise<Facts[]> {
  const all = (await api.devicesOfSerial(serial)).filter((device) => ownText(device, 'SerialNumber') === serial);
  const readable = all.filter((device) => readRecord('devices', device).ok);
  const isNamed = isAlone || readable.some((device) => ids.has(ownText(device, 'DeviceID') as string));
  return isNamed ? readable : [];
}

/** Servers may look up an address only in its own case, and events have it in any. */
async function usersNamed(api: Lookups, reader: IdentityReader, email: string): Promise<Facts[]> {
  const known = await reader.identitiesNamed(email);
  const stored = known.find(({ identity, by }) => by === 'id' && identity.kind === 'user');
  const user = await api.user(stored?.identity.id ?? email);
  const isNamed = user && ownText(user, 'Email')?.toLowerCase() === email && readRecord('users', user).ok;
  return isNamed ? [user] : [];
}

/** A name is looked up among what was read before: the API looks up ids only, and clusters may have services of one name. */
async function serviceIdsOf(
  reader: IdentityReader,
  { serviceIds, serviceNames }: NamedSubjects,
): Promise<{ named: Set<string>; strangers: number }> {
  const named = new Set(serviceIds);
  let strangers = 0;
  for (const name of serviceNames) {
    const own = (await reader.identitiesNamed(name)).filter(
      ({ identity, by }) => by === 'name' && identity.kind === 'service' && identity.name === name,
    );
    if (own.length === 0) strangers += 1;
    for (const { identity } of own) named.add(identity.id);
  }
  return { named, strangers };
}

async function servicesNamed(api: Lookups, id: string): Promise<Facts[]> {
  const service = await api.service(id);
  return service && ownText(service, 'ServiceID') === id && readRecord('services', service).ok ? [service] : [];
}
