// act: the common part of banning and unbanning. The target is a serial number; every device of it is hit.
// Fields of the API: Banned is "TRUE" or "FALSE"; each device's description as just read is sent with it.
import type { Action, ReadBack } from '../../domain/action.ts';
import { shownName } from '../../domain/clip.ts';
import { type Facts, isBeyondTypes, own } from '../../domain/facts.ts';
import type { TargetReads } from '../../domain/ports.ts';
import { flagText } from '../../domain/target.ts';
import { refuseAnySettings } from './settings.ts';
import { SERIAL } from './targets.ts';

type Banned = 'TRUE' | 'FALSE';

export function deviceBan(name: 'ban_device' | 'unban_device', banned: Banned, verb: string): Action {
  return {
    name,
    subjects: ['device'],
    target: SERIAL,
    inverse: name === 'ban_device' ? 'unban_device' : 'ban_device',
    fieldWritten: 'Banned',
    valueWritten: banned,
    auditedAs: banned === 'TRUE' ? 'Ban' : 'Unban',
    givesAccess: banned === 'FALSE',
    changesFleet: true,
    refuseSettings: refuseAnySettings(name),
    effect: (target, devices) => {
      const names = devices.map((device) => (device.name ? `${device.id} (${shownName(device.name)})` : device.id));
      return `${verb} serial number ${target}: ${devices.length} device${devices.length === 1 ? '' : 's'}${names.length > 0 ? `, ${names.join(', ')}` : ''}`;
    },
    readBack: (api, target) => readBack(api, target, banned),
    perform: (api, target, fresh) =>
      api.updateDevices(
        target,
        fresh.records.map((record) => bodyOf(record, banned)),
      ),
  };
}

async function readBack(api: TargetReads, serial: string, banned: Banned): Promise<ReadBack> {
  const records = await api.devicesOfSerial(serial);
  const states = records.map((record) => flagText(record, 'Banned'));
  const state =
    records.length === 0 ? 'absent' : states.every((value) => value === banned) ? 'as_intended' : 'otherwise';
  return { state, records, evidence: { devices: records.map(evidenceOf) } };
}

function evidenceOf(record: Facts): Facts {
  return { DeviceID: own(record, 'DeviceID') ?? null, Banned: own(record, 'Banned') ?? null };
}

function bodyOf(record: Facts, banned: Banned): Facts {
  const body: Facts = {};
  for (const field of ['Model', 'Ownership', 'Platform', 'Architecture']) {
    const value = own(record, field);
    if (value !== undefined && value !== null && !isBeyondTypes(value)) body[field] = value;
  }
  return { ...body, Banned: banned };
}
