// domain: what a deletion takes beside its named target (specification, endpoint 3: four rules with and without an
// e-mail address). In: the devices of a serial number with their owners, and what is known of the owners' other
// devices. Out: who loses what. What the lists do not show is null, never guessed. Pure: decide calls it with a
// snapshot, act with what was just read.
import { type Facts, ownText } from './facts.ts';

/** Null: not known. E-mail addresses are as read, each once; everything is sorted. */
export interface Deletion {
  /** DeviceIDs that are deleted. One that another owner keeps is not deleted. */
  devices: string[] | null;
  /** Owners whose mapping to the serial number ends. */
  owners: string[] | null;
  /** The number of revoked certificates: one for each mapping of a user to a device. */
  certificates: number | null;
  /** Owners who are left without a device, and are deleted too. */
  users: string[] | null;
}

export interface MappedDevice {
  id: string;
  /** Undefined: the server did not list them. */
  owners: readonly string[] | undefined;
}

/** Known facts about owners, by lower-case e-mail address. */
export interface OwnersView {
  /** Whether one keeps a device of another serial number; undefined: not known. */
  keepsAnother(owner: string): boolean | undefined;
  /** Whether another deletion of the same plan ends this mapping to the serial number too. */
  losesThisToo?(owner: string): boolean;
}

/** The part of a serial number that is deleted: all of it, or one user's mapping to it. */
export interface DeletionTarget {
  serial: string;
  email: string | undefined;
}

/**
 * The e-mail address comes from the settings: a serial number may look like anything, even like another one and an
 * address.
 */
export function mappingSettings(email: string): Facts {
  return { Email: email };
}

export function deletionTarget(target: string, settings: Facts): DeletionTarget {
  const email = ownText(settings, 'Email');
  return email === undefined ? { serial: target, email } : { serial: target.slice(0, -(email.length + 1)), email };
}

export function deletionOf(email: string | undefined, devices: readonly MappedDevice[], view: OwnersView): Deletion {
  return email === undefined ? wholeDeletion(devices, view) : mappingDeletion(email, devices, view);
}

function wholeDeletion(devices: readonly MappedDevice[], view: OwnersView): Deletion {
  const mappings = mappingsOf(devices);
  const owners = mappings && addressesOf(mappings);
  return {
    devices: devices.map(({ id }) => id).sort(),
    owners,
    certificates: mappings === null ? null : mappings.length,
    users: owners && leftWithout(owners, view),
  };
}

function mappingDeletion(email: string, devices: readonly MappedDevice[], view: OwnersView): Deletion {
  const users = leftWithout([email], view);
  const isKnown = devices.every(({ owners }) => owners !== undefined);
  const mapped = devices.filter(({ owners = [] }) => owners.some((owner) => isSame(owner, email)));
  // A user lists the device and no device lists the user: one of the two is out of date.
  if (!isKnown || mapped.length === 0) return { devices: null, owners: [email], certificates: null, users };
  const isLast = ({ owners = [] }: MappedDevice) =>
    owners.every((owner) => isSame(owner, email) || view.losesThisToo?.(owner.toLowerCase()) === true);
  return {
    devices: mapped
      .filter(isLast)
      .map(({ id }) => id)
      .sort(),
    owners: [email],
    certificates: mapped.length,
    users,
  };
}

function mappingsOf(devices: readonly MappedDevice[]): string[] | null {
  if (devices.some(({ owners }) => owners === undefined)) return null;
  return devices.flatMap(({ owners = [] }) => addressesOf(owners));
}

function leftWithout(owners: readonly string[], view: OwnersView): string[] | null {
  const keeps = owners.map((owner) => view.keepsAnother(owner.toLowerCase()));
  return keeps.includes(undefined) ? null : owners.filter((_, index) => keeps[index] === false);
}

/** Servers differ in the case of addresses; each person counts once. */
function addressesOf(owners: readonly string[]): string[] {
  return [...new Map(owners.map((owner) => [owner.toLowerCase(), owner])).values()].sort();
}

function isSame(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** For people, one text for each kind: devices, certificates with their owners, users. They may hold hostile names. */
export function deletionTexts({ devices, owners, certificates, users }: Deletion): string[] {
  const of = owners === null ? 'owners not known' : `of ${named(owners)}`;
  const count = certificates === null ? 'certificates, how many is not known' : counted(certificates, 'certificate');
  return [
    `deletes ${devices === null ? 'devices: not known' : counted(devices.length, 'device')}`,
    `revokes ${count} (${of})`,
    users === null ? 'users left without a device, and deleted: not known' : `deletes ${usersText(users)}`,
  ];
}

function usersText(users: readonly string[]): string {
  return users.length === 0 ? '0 users' : `${counted(users.length, 'user')} left without a device: ${named(users)}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function named(owners: readonly string[]): string {
  return owners.length === 0 ? 'nobody' : owners.join(', ');
}
