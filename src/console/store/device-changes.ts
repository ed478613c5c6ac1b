// console store: banning, updating and deleting devices, by serial number. In: what to change and who requests it. Out:
// changed rows, their events and effects, in one transaction. No change is partial.

import { DEVICE_COLUMNS, type DeviceColumns } from './additions.ts';
import { revokeCertificates } from './certificates.ts';
import { type DeviceRow, deviceOfId, devicesOfSerial } from './devices.ts';
import { type EffectKind, writeEffect } from './effects.ts';
import { type EnduserRow, enduserOfEmail, ownersOfDevice } from './endusers.ts';
import { writeEvent } from './events.ts';
import type { Actor, ConsoleStore } from './store.ts';

/** The fields of an update. `banned` is "TRUE" or "FALSE"; undefined leaves a field unchanged. */
export interface DevicePatch {
  banned?: 'TRUE' | 'FALSE' | undefined;
  model?: string | undefined;
  ownership?: string | undefined;
  platform?: string | undefined;
  architecture?: string | undefined;
  os?: string | undefined;
  mdm_source?: string | undefined;
  mdm_marked?: 'TRUE' | 'FALSE' | undefined;
}

/** Updates every device of the serial number; returns how many devices it has (0: unknown). */
export function updateDevices(store: ConsoleStore, actor: Actor, serial: string, patch: DevicePatch): number {
  return store.sql.atomically(() => {
    const devices = devicesOfSerial(store, serial);
    for (const device of devices) {
      describeDevice(store, actor, device, patch);
      if (patch.banned && patch.banned !== device.banned) setBanned(store, actor, device, patch.banned);
    }
    return devices.length;
  });
}

function describeDevice(store: ConsoleStore, actor: Actor, device: DeviceRow, patch: DevicePatch): void {
  const { banned: _, ...fields } = patch;
  const changed = Object.entries(fields).filter(
    ([column, value]) => value !== undefined && value !== device[column as keyof DeviceRow],
  ) as [keyof typeof fields, string][];
  if (changed.length === 0) return;
  store.sql.run(
    `UPDATE device SET ${changed.map(([column]) => `${column} = ?`).join(', ')} WHERE pk = ?`,
    ...changed.map(([, value]) => value),
    device.pk,
  );
  const names = changed.map(([column]) => column);
  writeEvent(store, {
    caller: actor.name,
    type: 'Audit',
    subType: 'Device',
    action: 'Update',
    severity: 'INFO',
    message: `Device ${device.friendly_name} was updated by ${actor.name}: ${names.join(', ')}`,
    devicePk: device.pk,
  });
  writeEffect(store, actor, 'device_updated', device.device_id, { serial: device.serial, fields: names });
}

function setBanned(store: ConsoleStore, actor: Actor, device: DeviceRow, banned: 'TRUE' | 'FALSE'): void {
  store.sql.run('UPDATE device SET banned = ? WHERE pk = ?', banned, device.pk);
  const isBan = banned === 'TRUE';
  // After an unban the certificates stay revoked: the device has to report in before it regains access.
  if (isBan) revokeCertificates(store, actor, device.pk, undefined, 'banned');
  writeEvent(store, {
    caller: actor.name,
    type: 'Audit',
    subType: 'Device',
    action: isBan ? 'Ban' : 'Unban',
    severity: isBan ? 'WARN' : 'INFO',
    message: `Device ${device.friendly_name} was ${isBan ? 'banned' : 'unbanned'} by ${actor.name}`,
    devicePk: device.pk,
  });
  writeEffect(store, actor, isBan ? 'device_banned' : 'device_unbanned', device.device_id, { serial: device.serial });
}

/** Columns of the console's own table, such as `mdm_compromised`, `trust_level`, `last_login` (nanoseconds, bigint). */
export type DeviceFields = Partial<DeviceColumns>;

/** Writes columns of a device without the API; `mdm_compromised` is an effect of its own. */
export function patchDevice(store: ConsoleStore, actor: Actor, deviceId: string, fields: DeviceFields): void {
  const device = deviceOfId(store, deviceId);
  if (!device) throw new RangeError(`no device has the id ${deviceId}`);
  const columns = DEVICE_COLUMNS.filter((column) => fields[column] !== undefined);
  if (columns.length === 0) return;
  store.sql.run(
    `UPDATE device SET ${columns.map((column) => `${column} = ?`).join(', ')} WHERE pk = ?`,
    ...columns.map((column) => fields[column] as string | bigint | number),
    device.pk,
  );
  writeEffect(store, actor, kindOf(device.mdm_compromised, fields.mdm_compromised), deviceId, {
    serial: device.serial,
    fields: columns,
  });
}

function kindOf(former: string, present: string | undefined): EffectKind {
  if (present === undefined || present === former) return 'device_updated';
  return present === 'TRUE' ? 'device_compromised' : 'device_recovered';
}

export type DeletionResult = 'deleted' | 'no_such_device' | 'no_such_user' | 'not_registered';

/**
 * Deletes by the specification's rules. With an e-mail address: that person's mapping to the devices of the serial number,
 * the person when registered on no other device, and each device that is left with nobody. Without one: all mappings of
 * the serial number, its devices, and each person associated with only them.
 */
export function deleteDevices(
  store: ConsoleStore,
  actor: Actor,
  serial: string,
  email: string | undefined,
): DeletionResult {
  return store.sql.atomically(() => {
    const devices = devicesOfSerial(store, serial);
    if (devices.length === 0) return 'no_such_device';
    if (email === undefined) {
      const people = devices.flatMap((device) => ownersOfDevice(store, device.pk));
      for (const device of devices) deleteDevice(store, actor, device);
      deletePeopleWithoutDevice(store, actor, people);
      return 'deleted';
    }
    const user = enduserOfEmail(store, email);
    if (!user) return 'no_such_user';
    const registered = devices.filter((device) => isRegistered(store, device.pk, user.pk));
    if (registered.length === 0) return 'not_registered';
    for (const device of registered) {
      deleteMapping(store, actor, device, user);
      if (ownersOfDevice(store, device.pk).length === 0) deleteDevice(store, actor, device);
    }
    deletePeopleWithoutDevice(store, actor, [user]);
    return 'deleted';
  });
}

function isRegistered(store: ConsoleStore, devicePk: number, enduserPk: number): boolean {
  return (
    store.sql.value('SELECT 1 FROM mapping WHERE device_pk = ? AND enduser_pk = ?', devicePk, enduserPk) !== undefined
  );
}

function deleteDevice(store: ConsoleStore, actor: Actor, device: DeviceRow): void {
  for (const user of ownersOfDevice(store, device.pk)) deleteMapping(store, actor, device, user);
  writeEvent(store, {
    type: 'Registration',
    subType: 'Device',
    action: 'Unregister',
    severity: 'WARN',
    message: `Device ${device.friendly_name} was deleted by ${actor.name}`,
    devicePk: device.pk,
  });
  store.sql.run('DELETE FROM device WHERE pk = ?', device.pk);
  writeEffect(store, actor, 'device_deleted', device.device_id, { serial: device.serial });
}

function deleteMapping(store: ConsoleStore, actor: Actor, device: DeviceRow, user: EnduserRow): void {
  revokeCertificates(store, actor, device.pk, user.pk, 'deleted');
  writeEvent(store, {
    type: 'Registration',
    subType: 'Device',
    action: 'Unregister',
    severity: 'WARN',
    message: `Device ${device.friendly_name} of ${user.email} was unregistered by ${actor.name}`,
    devicePk: device.pk,
    user,
  });
  store.sql.run('DELETE FROM mapping WHERE device_pk = ? AND enduser_pk = ?', device.pk, user.pk);
  writeEffect(store, actor, 'mapping_deleted', device.device_id, { serial: device.serial, email: user.email });
}

function deletePeopleWithoutDevice(store: ConsoleStore, actor: Actor, people: EnduserRow[]): void {
  for (const user of new Map(people.map((each) => [each.pk, each])).values()) {
    if (store.sql.value('SELECT 1 FROM mapping WHERE enduser_pk = ? LIMIT 1', user.pk) !== undefined) continue;
    store.sql.run('DELETE FROM enduser WHERE pk = ?', user.pk);
    writeEvent(store, {
      caller: actor.name,
      type: 'Audit',
      subType: 'UserPrincipal',
      action: 'Delete',
      severity: 'WARN',
      message: `User ${user.email} has no device left and was deleted by ${actor.name}`,
    });
    writeEffect(store, actor, 'user_deleted', user.email);
  }
}
