// decide: the one answer to "is this exempt?", and to whether `guards.yaml` asks a person about it. Exemptions in force, guards and the
// parties of an action come in; the exemption that protects one of them goes out, or the one that they joined after it was made; or a guard. Deciding, preflight, retrying and explaining all ask here. Pure.
import type { Joined } from '../../domain/check.ts';
import {
  type Exemption,
  type ExemptionMember,
  ExemptionMembers,
  isInForce,
  type Selector,
} from '../../domain/exemption.ts';
import { type Facts, ownText, ownTexts } from '../../domain/facts.ts';
import { asksForDevices, type Guard, type Guards } from '../../domain/guards.ts';
import { nameKey } from '../../domain/identity.ts';
import {
  type Fleet,
  type FleetDevice,
  groupsOf,
  type SubjectKind,
  type SubjectSummary,
} from '../../domain/subjects.ts';

/** What an action touches: a device of the serial number, an owner of it, the user or service itself. */
export interface Party {
  kind: SubjectKind;
  id: string;
  /** The values that selectors are compared with, by field. */
  fields: { [field: string]: readonly string[] };
}

/** At most one of the two. */
export interface Protection {
  exemption?: Exemption | undefined;
  joined?: Joined | undefined;
}

/** The owners whose records are known, by lower-case e-mail address, for selectors of `Groups` and `Name`. */
export type OwnerFacts = ReadonlyMap<string, Facts>;

export class Exemptions {
  private readonly inForce: readonly Exemption[];
  private readonly known = new Map<string, ExemptionMembers>();

  constructor(
    all: readonly Exemption[],
    nowMs: number,
    private readonly guards?: Guards | undefined,
  ) {
    this.inForce = all.filter((exemption) => isInForce(exemption, nowMs));
  }

  /** Nobody's parties have to be known. */
  get isEmpty(): boolean {
    return this.inForce.length === 0 && this.asking.length === 0;
  }

  private get asking(): readonly Guard[] {
    return this.guards?.ask ?? [];
  }

  /** The first guard that is about any of the parties. */
  guarding(parties: readonly Party[]): Guard | undefined {
    return this.asking.find(({ selector }) =>
      parties.some((party) => selector.kind === party.kind && selects(selector, party)),
    );
  }

  /** Where nobody read who owns the devices: any owner may be guarded. */
  get guardingUnread(): 'unread' | undefined {
    return this.asking.some(({ selector }) => selector.kind === 'user') ? 'unread' : undefined;
  }

  /**
   * The exemption that is about any of the parties and covers one of the subjects of the action. If several do, the one that lasts longest.
   * When none covers a subject, those that they joined later.
   */
  protecting(parties: readonly Party[], subjects: readonly ExemptionMember[]): Protection {
    const about = this.inForce
      .filter((exemption) => parties.some((party) => isAbout(exemption, party)))
      .sort((a, b) => b.expiresAt - a.expiresAt || (a.id < b.id ? -1 : 1));
    const exemption = about.find(
      (one) => one.members === undefined || subjects.some((subject) => this.covers(one, subject)),
    );
    const [joined] = about;
    if (exemption !== undefined || joined === undefined) return { exemption };
    const devices = parties.filter(({ kind }) => kind === 'device').map(memberOf);
    return {
      joined: {
        exemption: joined,
        ids: about.map(({ id }) => id),
        covers: devices.filter((one) => this.covers(joined, one)).map(({ id }) => id),
      },
    };
  }

  /** Nothing joins a subject that is named by its own id. */
  private covers(exemption: Exemption, member: ExemptionMember): boolean {
    const { id, subject, members } = exemption;
    if (subject?.kind === member.kind && sameText(member.kind, subject.id, member.id)) return true;
    const known = this.known.get(id) ?? ExemptionMembers.of(id, members);
    this.known.set(id, known);
    return known.has(member) || (member.kind === 'user' && known.has({ ...member, serial: '' }));
  }

  /** Whether owners of devices have to be known to answer. */
  get asksForOwners(): boolean {
    return (
      this.inForce.some(({ subject, selector }) => (subject ?? selector)?.kind === 'user') ||
      this.asking.some(({ selector }) => selector.kind === 'user') ||
      (this.guards !== undefined && asksForDevices(this.guards))
    );
  }

  /** Whether more than an owner's e-mail address has to be known. */
  get asksForOwnerRecords(): boolean {
    return this.userFields.some((field) => field !== 'Email');
  }

  /** Whether a user's groups have to be known: v2 lists do not have them. */
  get asksForGroups(): boolean {
    return this.userFields.includes('Groups');
  }

  private get userFields(): string[] {
    const selectors = [...this.inForce, ...this.asking].map(({ selector }) => selector);
    return selectors.flatMap((selector) => (selector?.kind === 'user' ? selector.field : []));
  }

  /** Whether some exemption or guard names this user's record, so that it has to be kept. */
  concernsUser(record: Facts): boolean {
    const party = partyOfRecord('user', record);
    return this.inForce.some((exemption) => isAbout(exemption, party)) || this.guarding([party]) !== undefined;
  }
}

/** What an action on a party would have to be covered by. */
function memberOf({ kind, id, fields }: Party): ExemptionMember {
  return { kind, id, serial: fields.SerialNumber?.[0] ?? '' };
}

/** The subjects of an action, with the serial numbers that it hits through them. `serial`: as `partiesOfSubject`. */
export function memberOfAction(
  { kind, id, serial: own }: Pick<SubjectSummary, 'kind' | 'id' | 'serial'>,
  serial: string | undefined,
): ExemptionMember {
  return { kind, id, serial: kind === 'device' ? own : (serial ?? '') };
}

export function isAbout({ subject, selector }: Exemption, party: Party): boolean {
  if (subject)
    return subject.kind === party.kind && (sameText(party.kind, subject.id, party.id) || isSerial(subject.id, party));
  return selector !== undefined && selector.kind === party.kind && selects(selector, party);
}

/** A device that nothing was known of may have been exempted by its serial number: nobody could tell then. */
function isSerial(id: string, party: Party): boolean {
  return party.kind === 'device' && selects({ kind: 'device', field: 'SerialNumber', value: id }, party);
}

function selects({ kind, field, value }: Selector, { fields }: Party): boolean {
  const values = Object.hasOwn(fields, field) ? (fields[field] as readonly string[]) : [];
  return values.some((one) => sameText(kind, value, one, field));
}

/** Servers and people differ in the case of people's values and of serial numbers. All other values are compared exactly. */
function sameText(kind: SubjectKind, a: string, b: string, field?: string): boolean {
  return kind === 'user' || field === 'SerialNumber' ? nameKey(a) === nameKey(b) : a === b;
}

/**
 * All parties that an action on a matched subject touches: the devices of the serial number, and their owners. `serial`: which of a
 * user's serial numbers the action hits; undefined when it is about the user alone.
 */
export function partiesOfSubject(
  summary: SubjectSummary,
  serial: string | undefined,
  fleet: Fleet,
  owners: OwnerFacts,
): Party[] {
  if (summary.kind === 'service')
    return [{ kind: 'service', id: summary.id, fields: serviceFields(summary.id, summary.name) }];
  if (summary.kind === 'device')
    return partiesOfSerial(summary.serial, fleet.devicesOf(summary.serial), owners, [summary]);
  const user: Party = {
    kind: 'user',
    id: summary.id,
    fields: { ...userFields(summary.id, summary.name, summary.groups ?? []) },
  };
  return serial === undefined ? [user] : [user, ...partiesOfSerial(serial, fleet.devicesOf(serial), owners, [])];
}

/** The same from records just read: devices of a serial number, a user or a service, distinguished by their keys. */
export function partiesOfRecords(records: readonly Facts[], owners: OwnerFacts): Party[] {
  return records.flatMap((record) => {
    if (Object.hasOwn(record, 'ServiceID')) return [partyOfRecord('service', record)];
    if (!Object.hasOwn(record, 'DeviceID')) return [partyOfRecord('user', record)];
    return [partyOfRecord('device', record), ...partiesOfOwners(ownTexts(record, 'Emails') ?? [], owners)];
  });
}

export function partyOfRecord(kind: SubjectKind, record: Facts): Party {
  const text = (field: string) => ownText(record, field) ?? '';
  if (kind === 'service') {
    const id = text('ServiceID');
    return { kind, id, fields: serviceFields(id, text('ServiceName')) };
  }
  if (kind === 'user')
    return { kind, id: text('Email'), fields: userFields(text('Email'), text('Name'), groupsOf(record)) };
  const fields = deviceFields({
    id: text('DeviceID'),
    name: text('DeviceFriendlyName'),
    serial: text('SerialNumber'),
    platform: text('Platform'),
    model: text('Model'),
  });
  return { kind, id: text('DeviceID'), fields };
}

function partiesOfSerial(
  serial: string,
  devices: readonly FleetDevice[],
  owners: OwnerFacts,
  summaries: readonly SubjectSummary[],
): Party[] {
  const all = [...devices, ...summaries];
  const parties = all.map(
    (device): Party => ({ kind: 'device', id: device.id, fields: deviceFields({ ...device, serial }) }),
  );
  return [
    ...parties,
    ...partiesOfOwners(
      all.flatMap((device) => device.owners ?? []),
      owners,
    ),
  ];
}

function partiesOfOwners(emails: readonly string[], owners: OwnerFacts): Party[] {
  return [...new Set(emails)].map((email) => {
    const record = owners.get(email.toLowerCase());
    return record ? partyOfRecord('user', record) : { kind: 'user', id: email, fields: { Email: [email] } };
  });
}

function deviceFields(device: Record<'id' | 'name' | 'serial' | 'platform' | 'model', string>): Party['fields'] {
  return {
    DeviceID: [device.id],
    SerialNumber: [device.serial],
    DeviceFriendlyName: [device.name],
    Platform: [device.platform],
    Model: [device.model],
  };
}

function userFields(email: string, name: string, groups: readonly string[]): Party['fields'] {
  return { Email: [email], Name: [name], Groups: groups };
}

function serviceFields(id: string, name: string): Party['fields'] {
  return { ServiceID: [id], ServiceName: [name] };
}
