// console handlers: banning, updating and deleting devices. In: checked queries and bodies. Out: `Success` for each
// object of the body, or a sentence. No change is partial.
import { type DeviceUpdate, flagOf, MESSAGE_SUCCESS } from '../../platform/contract.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import { Refusal } from '../refusal.ts';
import { type DevicePatch, deleteDevices, updateDevices } from '../store/device-changes.ts';
import { type DeviceRow, devicesOfSerial } from '../store/devices.ts';
import type { Call } from './call.ts';

/** Writes what it is sent to every device of the serial number, empty texts too: a `Success` that wrote less would lose it. */
export function updateDevice({ store, actor, query, body }: Call<'update_device'>): Answer {
  const updates = Array.isArray(body) ? body : [body];
  const devices = devicesOfSerial(store, query.SerialNumber);
  if (devices.length === 0) throw new Refusal(400, `\`SerialNumber\` matches no device: \`${query.SerialNumber}\``);
  refuseFixed(updates, devices);
  const patch = agreedPatch(updates, devices);
  updateDevices(store, actor, query.SerialNumber, patch);
  const message = { Message: MESSAGE_SUCCESS };
  return jsonAnswer(Array.isArray(body) ? updates.map(() => message) : message);
}

const COLUMNS = {
  Banned: 'banned',
  Model: 'model',
  Ownership: 'ownership',
  Platform: 'platform',
  Architecture: 'architecture',
  OS: 'os',
  MDMVendorName: 'mdm_source',
  IsMDMPresent: 'mdm_marked',
} as const satisfies { [Field in keyof DeviceUpdate]?: keyof DevicePatch };

/** Fields of the record that no update writes. Clients send back whole records, so that they may be there as they are. */
const FIXED = { SerialNumber: 'serial', DeviceFriendlyName: 'friendly_name', AppVersion: 'app_version' } as const;

function refuseFixed(updates: readonly DeviceUpdate[], devices: readonly DeviceRow[]): void {
  for (const [field, column] of Object.entries(FIXED)) {
    const present = devices.map((device) => device[column]);
    const differs = updates.some(
      (update) => Object.hasOwn(update, field) && !present.includes(update[field] as string),
    );
    if (differs) throw new Refusal(400, `\`${field}\` cannot be changed: leave it out`);
  }
}

/**
 * What all objects agree on. Where several objects differ they describe the devices of the serial number one by one: each value must be
 * one that such a device has, and nothing is written. `Banned` must not differ: it is for all of them.
 */
function agreedPatch(updates: readonly DeviceUpdate[], devices: readonly DeviceRow[]): DevicePatch {
  const patch: { [column: string]: string } = {};
  let isNamed = false;
  for (const [field, column] of Object.entries(COLUMNS) as [keyof typeof COLUMNS, keyof DevicePatch][]) {
    const sent = [...new Set(updates.flatMap((update) => textOf(update[field]) ?? []))];
    if (sent.length > 0) isNamed = true;
    if (sent.length === 1) patch[column] = sent[0] as string;
    const present = new Set<string>(devices.map((device) => device[column]));
    if (sent.length > 1 && (field === 'Banned' || sent.some((value) => !present.has(value)))) {
      const why = 'differs between the objects: all devices of a serial number are updated alike';
      throw new Refusal(400, `\`${field}\` ${why}`);
    }
  }
  if (!isNamed) throw new Refusal(400, 'the body names nothing to update: give `Banned`');
  return patch;
}

function textOf(sent: string | boolean | 0 | 1 | undefined): string | undefined {
  return sent === undefined || typeof sent === 'string' ? sent : flagOf(Boolean(sent));
}

export function deleteDevice({ store, actor, query }: Call<'delete_device'>): Answer {
  switch (deleteDevices(store, actor, query.SerialNumber, query.Email)) {
    case 'deleted':
      return jsonAnswer('the end user device was deleted');
    case 'no_such_device':
      throw new Refusal(400, `\`SerialNumber\` matches no device: \`${query.SerialNumber}\``);
    case 'no_such_user':
      throw new Refusal(400, `\`Email\` matches no user: \`${query.Email}\``);
    case 'not_registered':
      throw new Refusal(
        400,
        `\`Email\` is not registered on a device of \`${query.SerialNumber}\`: \`${query.Email}\``,
      );
  }
}
