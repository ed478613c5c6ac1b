// console handlers: banning, updating and deleting devices. In: checked queries and bodies. Out: `Success` for each
// object of the body, or a sentence. No change is partial.
import type { DeviceUpdate } from '../../management/contract.ts';
import { flagOf, MESSAGE_SUCCESS } from '../../management/contract.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import { Refusal } from '../refusal.ts';
import { type DevicePatch, deleteDevices, updateDevices } from '../store/device-changes.ts';
import type { Call } from './call.ts';

/**
 * A single object writes its fields to every device of the serial number. Several objects describe its devices one by
 * one (clients send them so): only `Banned` is written then, and they must agree.
 */
export function updateDevice({ store, actor, query, body }: Call<'update_device'>): Answer {
  const updates = Array.isArray(body) ? body : [body];
  const patch = updates.length === 1 ? patchOf(updates[0] as DeviceUpdate) : { banned: agreedBan(updates) };
  if (Object.values(patch).every((value) => value === undefined)) {
    throw new Refusal(400, 'the body names nothing to update: give `Banned`');
  }
  if (updateDevices(store, actor, query.SerialNumber, patch) === 0) {
    throw new Refusal(400, `\`SerialNumber\` matches no device: \`${query.SerialNumber}\``);
  }
  const message = { Message: MESSAGE_SUCCESS };
  return jsonAnswer(Array.isArray(body) ? updates.map(() => message) : message);
}

function patchOf(update: DeviceUpdate): DevicePatch {
  return {
    banned: update.Banned,
    model: update.Model,
    ownership: update.Ownership,
    platform: update.Platform,
    architecture: update.Architecture,
    os: update.OS,
    mdm_source: update.IsMDMPresent === false ? undefined : update.MDMVendorName,
    mdm_marked: update.IsMDMPresent === undefined ? undefined : flagOf(update.IsMDMPresent),
  };
}

function agreedBan(updates: DeviceUpdate[]): 'TRUE' | 'FALSE' | undefined {
  const proposals = new Set(updates.map((update) => update.Banned).filter((banned) => banned !== undefined));
  if (proposals.size > 1) {
    throw new Refusal(400, '`Banned` differs between the objects: all devices of a serial number are updated alike');
  }
  return [...proposals][0];
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
