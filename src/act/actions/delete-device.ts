// act: delete a device, or with an e-mail one user's mapping to it. Nothing undoes it, so it is always held for approval.
// The target is `SERIAL` for a device's rule and `SERIAL EMAIL` for a user's. Certificates are revoked; a user left
// without a device is deleted too (specification, endpoint 3).
import type { Action, ReadBack } from '../../domain/action.ts';
import { ownTexts } from '../../domain/facts.ts';
import type { Api } from '../../domain/ports.ts';
import { refuseAnySettings } from './settings.ts';

export const deleteDevice: Action = {
  name: 'delete_device',
  subjects: ['device', 'user'],
  inverse: undefined,
  fieldWritten: undefined,
  valueWritten: undefined,
  changesFleet: true,
  removesTarget: true,
  refuseSettings: refuseAnySettings('delete_device'),
  effect: (target, devices) => {
    const { serial, email } = partsOf(target);
    if (email) return `delete the mapping of ${email} to serial number ${serial}, and revoke its certificates`;
    if (devices.length === 0) return `delete the devices of ${target}: none is known`;
    return `delete serial number ${serial} (${devices.length} device${devices.length === 1 ? '' : 's'}), its mappings and certificates, and users left without a device`;
  },
  readBack: (api, target) => {
    const { serial, email } = partsOf(target);
    return email ? readMapping(api, serial, email) : readDevice(api, serial);
  },
  perform: (api, target) => {
    const { serial, email } = partsOf(target);
    return api.deleteDevice(serial, email);
  },
};

/** E-mail addresses hold no space; serial numbers may. */
function partsOf(target: string): { serial: string; email: string | undefined } {
  const space = target.lastIndexOf(' ');
  const email = target.slice(space + 1);
  if (space < 0 || !email.includes('@')) return { serial: target, email: undefined };
  return { serial: target.slice(0, space), email };
}

async function readDevice(api: Api, serial: string): Promise<ReadBack> {
  const records = await api.devicesOfSerial(serial);
  return { state: records.length === 0 ? 'as_wished' : 'otherwise', records, evidence: { devices: records.length } };
}

async function readMapping(api: Api, serial: string, email: string): Promise<ReadBack> {
  const user = await api.user(email);
  const mapped = user !== undefined && (ownTexts(user, 'SerialNumbers') ?? []).includes(serial);
  return { state: mapped ? 'otherwise' : 'as_wished', records: user ? [user] : [], evidence: { Email: email, mapped } };
}
