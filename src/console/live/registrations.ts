// console live: devices that unregister, and register again later. In: moments. Out: the device's `registered`, its event and its effect. Few are
// unregistered at a time, and never one that anything else happens to.
import { clientOf } from '../seed/history.ts';
import { patchDevice } from '../store/device-changes.ts';
import { type DeviceRow, deviceOfPk } from '../store/devices.ts';
import { writeEvent } from '../store/events.ts';
import { registrationEvent } from '../store/happenings.ts';
import { ordinaryDevice, ownerOf } from './choosing.ts';
import type { Life } from './moment.ts';

const UNREGISTERED_SHARE_MAX = 0.03;

export function changeRegistrations(life: Life): void {
  const { sql } = life.store;
  const unregistered = sql.values<number>("SELECT pk FROM device WHERE registered = 'FALSE' LIMIT 1000");
  const devices = sql.value<number>("SELECT n FROM tally WHERE name = 'device'") ?? 0;
  const isCrowded = unregistered.length > devices * UNREGISTERED_SHARE_MAX;
  if (unregistered.length > 0 && (isCrowded || life.choices.chance(0.5))) {
    const device = deviceOfPk(life.store, life.choices.pick(unregistered));
    if (device) register(life, device);
    return;
  }
  const device = ordinaryDevice(life);
  if (device) change(life, device, 'Unregister', 'FALSE');
}

/** A banned device cannot register. */
function register(life: Life, device: DeviceRow): void {
  if (device.banned === 'FALSE') {
    change(life, device, 'Register', 'TRUE');
    return;
  }
  writeEvent(life.store, registrationEvent(device, ownerOf(life, device), 'Register Failed', clientOf(life.choices)));
}

function change(life: Life, device: DeviceRow, action: 'Register' | 'Unregister', registered: 'TRUE' | 'FALSE'): void {
  patchDevice(life.store, life.actor, device.device_id, { registered });
  writeEvent(life.store, registrationEvent(device, ownerOf(life, device), action, clientOf(life.choices)));
}
