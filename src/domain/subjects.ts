// domain: what a rule judges, and what a snapshot is read from.
import { type Fact, type Facts, own, ownText, ownTexts } from './facts.ts';

export const SUBJECT_KINDS = ['device', 'user', 'service'] as const;
export type SubjectKind = (typeof SUBJECT_KINDS)[number];

export const SOURCES = ['devices', 'users', 'services', 'events'] as const;
export type Source = (typeof SOURCES)[number];

/** A source of facts from elsewhere, beside the platform's. */
export type GivenName = `$facts.${string}`;

export function givenName(source: string): GivenName {
  return `$facts.${source}`;
}

export function sourceOfGiven(name: GivenName): string {
  return name.slice('$facts.'.length);
}

/** What a reading is of. */
export type ReadingName = Source | GivenName;

export function isSource(text: string): text is Source {
  return (SOURCES as readonly string[]).includes(text);
}

/** A device's id is its DeviceID, a user's its Email, a service's its ServiceID. */
export interface SubjectRef {
  kind: SubjectKind;
  id: string;
}

/** The field of a record that has its id. */
export const ID_FIELD = { device: 'DeviceID', user: 'Email', service: 'ServiceID' } as const satisfies Record<
  SubjectKind,
  string
>;

/** The fields of a record that the events of its subject may name. */
export const EVENT_KEYS: Record<SubjectKind, readonly string[]> = {
  device: ['DeviceID', 'SerialNumber'],
  user: ['Email'],
  service: ['ServiceID', 'ServiceName'],
};

export const SOURCE_OF: Record<SubjectKind, Exclude<Source, 'events'>> = {
  device: 'devices',
  user: 'users',
  service: 'services',
};

export const KIND_OF: Record<Exclude<Source, 'events'>, SubjectKind> = {
  devices: 'device',
  users: 'user',
  services: 'service',
};

export const SEVERITIES = ['info', 'low', 'medium', 'high', 'critical'] as const;
export type RuleSeverity = (typeof SEVERITIES)[number];

// What deciding and acting need of a matched record: small, so that the whole fleet is never kept.

/** The fields of a record that actions write, as read. */
export interface StateRead {
  [field: string]: string | undefined;
}

export interface SubjectSummary {
  kind: SubjectKind;
  id: string;
  /** A name for people: friendly name, user name or service name. */
  name: string;
  /** A device's SerialNumber; empty for other kinds. */
  serial: string;
  /** A user's SerialNumbers, known from the unpaged list only. */
  serials: string[] | undefined;
  /** A user's groups. */
  groups?: string[];
  /** A device's Emails, known from the unpaged list only. */
  owners: string[] | undefined;
  state: StateRead;
  model: string;
  platform: string;
  /** A service's `ServiceSpec` as read, without secrets: it shows what an action would change. */
  spec?: Fact | undefined;
}

/** A user without devices, or one whose devices the server does not report. */
export function hasNoKnownDevice({ serials }: SubjectSummary): boolean {
  return serials === undefined || serials.length === 0;
}

/** A user's groups: one text with commas, or a list of texts. */
export function groupsOf(record: Facts): string[] {
  const text = own(record, 'Groups');
  return ownTexts(record, 'Groups') ?? (typeof text === 'string' ? text.split(',').map((group) => group.trim()) : []);
}

/** `fieldsWritten`: what `state` keeps; a summary that only names its subject needs none. */
export function summaryOf(kind: SubjectKind, record: Facts, fieldsWritten: readonly string[] = []): SubjectSummary {
  const state = stateRead(record, fieldsWritten);
  switch (kind) {
    case 'device':
      return {
        kind,
        id: ownText(record, 'DeviceID') ?? '',
        name: ownText(record, 'DeviceFriendlyName') ?? '',
        serial: ownText(record, 'SerialNumber') ?? '',
        serials: undefined,
        owners: ownTexts(record, 'Emails'),
        state,
        model: ownText(record, 'Model') ?? '',
        platform: ownText(record, 'Platform') ?? '',
      };
    case 'user':
      return {
        ...EMPTY,
        kind,
        id: ownText(record, 'Email') ?? '',
        name: ownText(record, 'Name') ?? '',
        state,
        serials: ownTexts(record, 'SerialNumbers'),
        groups: groupsOf(record),
      };
    case 'service':
      return {
        ...EMPTY,
        kind,
        id: ownText(record, 'ServiceID') ?? '',
        name: ownText(record, 'ServiceName') ?? '',
        state,
        spec: own(record, 'ServiceSpec'),
      };
  }
}

const EMPTY = { serial: '', serials: undefined, owners: undefined, model: '', platform: '' };

function stateRead(record: Facts, fieldsWritten: readonly string[]): StateRead {
  const state: StateRead = {};
  for (const field of fieldsWritten) state[field] = flagText(record, field);
  return state;
}

/** A flag as `"TRUE"` or `"FALSE"`; some servers send booleans. */
export function flagText(record: Facts, field: string): string | undefined {
  const value = own(record, field);
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE';
  return typeof value === 'string' ? value.toUpperCase() : undefined;
}

// What is kept of every device of a snapshot: enough to find devices that share a serial number.

export interface FleetDevice {
  id: string;
  name: string;
  platform: string;
  model: string;
  state: StateRead;
  owners: string[] | undefined;
}

/** Built while devices are pulled; read by decide/. */
export interface Fleet {
  /** Its list does not name owners. A run reads one that does where that matters; a replay has what was recorded. */
  readonly hidesOwners?: boolean;
  /** All devices of the snapshot with this serial number, in the order of reading. */
  devicesOf(serialNumber: string): FleetDevice[];
  /**
   * By lower-case e-mail address, the serial numbers of these owners; undefined: the list does not show all of them.
   */
  serialsOf(owners: ReadonlySet<string>): Map<string, Set<string>> | undefined;
}

/** Read straight from the record: this runs for every device of a fleet. */
export function fleetDeviceOf(record: Facts, fieldsWritten: readonly string[] = []): FleetDevice {
  return {
    id: ownText(record, 'DeviceID') ?? '',
    name: ownText(record, 'DeviceFriendlyName') ?? '',
    platform: ownText(record, 'Platform') ?? '',
    model: ownText(record, 'Model') ?? '',
    state: stateRead(record, fieldsWritten),
    owners: ownTexts(record, 'Emails'),
  };
}

/**
 * Of UTF-8. INVARIANT: an entry of an index of PostgreSQL has 2,704 bytes at most. The longest has two names in one target, each written with twice its
 * bytes when they are hostile (`toStored`), the organization, an action and an id.
 */
export const KEPT_NAME_BYTES_MAX = 512;

/** It runs for every record of a fleet: few names are so long that their bytes must be counted. */
export function isOverlong(name: string): boolean {
  return 3 * name.length > KEPT_NAME_BYTES_MAX && Buffer.byteLength(name) > KEPT_NAME_BYTES_MAX;
}
