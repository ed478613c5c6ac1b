// console live: chooses whom something happens to. In: choices. Out: a device, with its person. Devices without a
// unique serial number are left alone.
import { type DeviceRow, deviceOfPk } from '../store/devices.ts';
import { type EnduserRow, ownersOfDevice } from '../store/endusers.ts';
import type { Life } from './moment.ts';

/** Any device. */
export function anyDevice(life: Life): DeviceRow | undefined {
  const last = life.store.sql.value<number>('SELECT max(pk) FROM device') ?? 0;
  const pk = life.store.sql.value<number>(
    'SELECT pk FROM device WHERE pk >= ? ORDER BY pk LIMIT 1',
    1 + life.choices.int(Math.max(1, last)),
  );
  return pk === undefined ? undefined : deviceOfPk(life.store, pk);
}

/** A device with a unique serial number that MDM reports on, neither banned nor compromised. */
export function ordinaryDevice(life: Life): DeviceRow | undefined {
  for (let tries = 0; tries < 12; tries++) {
    const device = anyDevice(life);
    if (device && isOrdinary(life, device)) return device;
  }
  return undefined;
}

export function isOrdinary(life: Life, device: DeviceRow): boolean {
  return (
    device.banned === 'FALSE' &&
    device.mdm_compromised === 'FALSE' &&
    device.registered === 'TRUE' &&
    device.mdm_source !== '' &&
    device.serial.length >= 8 &&
    !device.serial.includes(' ') &&
    life.store.sql.value<number>('SELECT count(*) FROM device WHERE serial = ?', device.serial) === 1
  );
}

export function ownerOf(life: Life, device: DeviceRow): EnduserRow | undefined {
  return ownersOfDevice(life.store, device.pk)[0];
}
