// act: ban every device of a serial number: its certificates are revoked and it cannot register again.

import { shownName } from '../../../base/text.ts';
import type { Action, ReadBack } from '../../../domain/action.ts';
import { type Facts, isBeyondTypes, own } from '../../../domain/facts.ts';
import type { TargetReads } from '../../../domain/ports.ts';
import { flagText } from '../../../domain/subjects.ts';
import { refuseAnySettings, SERIAL } from './targets.ts';

// The common part of banning and unbanning.

type Banned = 'TRUE' | 'FALSE';

function deviceBan(name: 'ban_device' | 'unban_device', banned: Banned, verb: string): Action {
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

export const banDevice: Action = {
  ...deviceBan('ban_device', 'TRUE', 'ban'),
  takesDevice: true,
  stateText: 'banned',
  // Two devices of one owner are held, and only the unpaged list shows whose a device is.
  unpaged: ({ owners }) => (owners === 'all' ? [] : ['devices']),
};

export const unbanDevice = deviceBan('unban_device', 'FALSE', 'unban');
