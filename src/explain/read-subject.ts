// explain: reads one subject now: its record, the records that its rule joins, the devices that its actions touch, its events.
// In: the API, the stored events, a rule, an id. Out: records without secrets; a source that answers 403 is unavailable, as in a
// run. Stores nothing, and reads no list of the fleet.
import { fieldsWritten, type KnownTraits } from '../domain/action.ts';
import { AppError, unlessForbidden } from '../domain/errors.ts';
import type { TrustEvent } from '../domain/event.ts';
import { type Facts, ownText } from '../domain/facts.ts';
import type { IdentityReader } from '../domain/identity.ts';
import type { PullReader } from '../domain/pull-store.ts';
import type { RecordReader } from '../domain/record-reader.ts';
import { demandOne, resolveName } from '../domain/resolve-name.ts';
import type { Coverage, SourceReading } from '../domain/snapshot.ts';
import type { Source, SubjectKind } from '../domain/subjects.ts';
import type { Joins, Needs } from '../domain/verdict.ts';
import type { LoadedRule } from '../evaluate/index.ts';
import { FleetIndex } from '../pull/fleet-index.ts';
import { type EventPullOptions, type EventPullSettings, pullEvents } from '../pull/pull-events.ts';
import { dropSecrets } from '../pull/secrets.ts';
import type { TrustSettings } from '../pull/trust-gate.ts';
import { deletesDevices } from '../run/reading-needs.ts';
import { devicesOfUsers, type Lookups, ownersOf, RECORDS_MAX } from '../run/single-reads.ts';

type SubjectReader = Pick<RecordReader, 'decisions'> & IdentityReader;

/** `given`: any name of it. Errors: AppError `not_found`, `usage` for a name of several, and those of reading the API. */
export async function readSubject(
  api: Lookups,
  reader: SubjectReader,
  kind: SubjectKind,
  given: string,
): Promise<Facts> {
  const resolved = await resolveName(reader, given, { kinds: [kind] });
  const named = resolved.found === 'none' ? undefined : demandOne(resolved, given);
  const id = named?.by === 'serial' ? (named.target ?? given) : (named?.subjects[0].id ?? given);
  const read = {
    device: () => readDevice(api, reader, id, named?.target),
    user: () => api.user(id),
    service: () => api.service(id),
  };
  const record = await read[kind]();
  if (!record) {
    const asked = kind === 'device' ? ', by serial number or by DeviceID' : '';
    throw new AppError('not_found', `there is no ${kind} \`${id}\` at ${api.address}${asked}`);
  }
  return dropSecrets(record, new Set());
}

/** By serial number or DeviceID. Older servers look up only the former: what was read, or a decision about the device, has it. */
async function readDevice(
  api: Lookups,
  reader: SubjectReader,
  id: string,
  serial: string | undefined,
): Promise<Facts | undefined> {
  const ofSerial = serial === undefined || serial === id ? await api.devicesOfSerial(id) : [];
  if (ofSerial.length > 0) return ofSerial[0];
  const [decided] = serial === undefined ? await reader.decisions({ subjectId: id, limit: 1 }) : [];
  const target = serial ?? decided?.target;
  const known = target ? await api.devicesOfSerial(target) : [];
  return known.find((device) => ownText(device, 'DeviceID') === id) ?? api.device(id, RECORDS_MAX);
}

/** Records of the other kind that the rule reads. */
export async function readJoins(
  api: Lookups,
  needs: Needs,
  record: Facts,
): Promise<{ joins: Joins; unavailable: Source[] }> {
  const users = await unlessForbidden(needs.owners ? ownersOf(api, [record]) : new Map());
  const devices = await unlessForbidden(needs.devices ? devicesOfUsers(api, [record]) : new Map());
  const unavailable: Source[] = [...(users ? [] : ['users' as const]), ...(devices ? [] : ['devices' as const])];
  return { joins: { users: users ?? new Map(), devices: devices ?? new Map() }, unavailable };
}

/** The devices that the rule's actions touch. */
export async function readTouched(
  api: Lookups,
  rule: LoadedRule,
  record: Facts,
  actions: KnownTraits,
): Promise<readonly Facts[]> {
  if (rule.subject === 'service') return [];
  if (rule.subject === 'user')
    return deletesDevices(rule, actions) ? [...(await devicesOfUsers(api, [record])).values()].flat() : [];
  // An empty name filters nothing: the answer would be the whole list.
  const serial = ownText(record, 'SerialNumber') ?? '';
  const devices = serial === '' ? [] : await api.devicesOfSerial(serial);
  return devices.length > 0 ? devices : [record];
}

/** A few devices do not show all devices of their owners: what a deletion leaves an owner with is unknown for one subject. */
export function fleetOf(devices: readonly Facts[], actions: KnownTraits): FleetIndex {
  const fleet = new FleetIndex(fieldsWritten(actions, 'device'));
  for (const device of devices) fleet.add(device);
  return fleet;
}

type EventsAsked = Pick<EventPullOptions, 'api' | 'clock' | 'nowMs' | 'windowMs' | 'asksForServices'> & {
  reader: Pick<PullReader, 'coverage' | 'events'>;
  settings: { events: EventPullSettings; trust: TrustSettings };
};

export interface ReadEvents {
  events: TrustEvent[];
  coverage: Coverage[];
  reading: SourceReading;
  /** The end of the windows: now or, if the log is not readable now, when it was last read. Undefined: it was never read. */
  atMs: number | undefined;
}

/** Stored events, and those since. Errors: AppError `api_refused`, `stopped`; all other faults are in the reading. */
export async function readEvents({ reader, settings, ...asked }: EventsAsked): Promise<ReadEvents> {
  const known = await reader.coverage();
  // An explanation does not store how far back it reached.
  const pulled = await pullEvents({ ...asked, triedMs: 0, known, trust: settings.trust, settings: settings.events });
  const { reading } = pulled;
  if (reading.state === 'unavailable') return { events: [], coverage: [], reading, atMs: undefined };
  const coverage = pulled.coverage ? [...known, pulled.coverage] : known;
  const atMs = coverage.at(-1)?.toMs;
  const events: TrustEvent[] = [];
  for await (const batch of reader.events((atMs ?? asked.nowMs) - asked.windowMs)) events.push(...batch);
  return { events: [...events, ...pulled.events], coverage, reading, atMs };
}
