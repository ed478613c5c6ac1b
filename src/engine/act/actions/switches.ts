// act: actions with two sides. Ban every device of a serial number: its certificates are revoked and it cannot register again. Disable a service:
// nobody reaches it until it is enabled again.

import { shownName } from '../../../base/text.ts';
import type { Action, ReadBack } from '../../../domain/action.ts';
import { type Facts, isBeyondTypes, own } from '../../../domain/facts.ts';
import type { TargetReads } from '../../../domain/ports.ts';
import { flagText } from '../../../domain/subjects.ts';
import { refuseAnySettings, SERIAL, SERVICE } from './targets.ts';

type Side = 'TRUE' | 'FALSE';
type Chosen = 'valueWritten' | 'givesAccess' | 'changesFleet' | 'refuseSettings';

/** `open`: the side on which people have access. */
function sideOf(side: Side, open: Side, rest: Omit<Action, Chosen>): Action {
  const refuseSettings = refuseAnySettings(rest.name);
  return { ...rest, valueWritten: side, givesAccess: side === open, changesFleet: true, refuseSettings };
}

function deviceBan(name: 'ban_device' | 'unban_device', banned: Side, verb: string): Action {
  return sideOf(banned, 'FALSE', {
    name,
    subjects: ['device'],
    target: SERIAL,
    inverse: name === 'ban_device' ? 'unban_device' : 'ban_device',
    fieldWritten: 'Banned',
    auditedAs: banned === 'TRUE' ? 'Ban' : 'Unban',
    effect: (target, devices) => {
      const names = devices.map((device) => (device.name ? `${device.id} (${shownName(device.name)})` : device.id));
      return `${verb} serial number ${target}: ${devices.length} device${devices.length === 1 ? '' : 's'}${names.length > 0 ? `, ${names.join(', ')}` : ''}`;
    },
    readBack: (api, target) => readBan(api, target, banned),
    perform: (api, target, fresh) =>
      api.updateDevices(
        target,
        fresh.records.map((record) => bodyOf(record, banned)),
      ),
  });
}

async function readBan(api: TargetReads, serial: string, banned: Side): Promise<ReadBack> {
  const records = await api.devicesOfSerial(serial);
  const states = records.map((record) => flagText(record, 'Banned'));
  const state =
    records.length === 0 ? 'absent' : states.every((value) => value === banned) ? 'as_intended' : 'otherwise';
  return { state, records, evidence: { devices: records.map(evidenceOf) } };
}

function evidenceOf(record: Facts): Facts {
  return { DeviceID: own(record, 'DeviceID') ?? null, Banned: own(record, 'Banned') ?? null };
}

function bodyOf(record: Facts, banned: Side): Facts {
  const body: Facts = {};
  for (const field of ['Model', 'Ownership', 'Platform', 'Architecture']) {
    const value = own(record, field);
    if (value !== undefined && value !== null && !isBeyondTypes(value)) body[field] = value;
  }
  return { ...body, Banned: banned };
}

export const banDevice: Action = {
  ...deviceBan('ban_device', 'TRUE', 'ban'),
  subjects: ['device', 'user'],
  nameFor: { user: 'ban_devices' },
  takesDevice: true,
  stateText: 'banned',
  warnText: 'it is blocked: it can no longer reach what your organization protects',
  // Only unpaged lists show which devices a user has, and whose a device is: two devices of one owner are held, and owners are warned.
  unpaged: ({ subject, owners, notice }) =>
    subject === 'user' ? ['users', 'devices'] : owners === 'all' && !notice ? [] : ['devices'],
};

export const unbanDevice = deviceBan('unban_device', 'FALSE', 'unban');

function serviceSwitch(name: 'enable_service' | 'disable_service', enabled: Side): Action {
  const verb = enabled === 'TRUE' ? 'enable' : 'disable';
  return sideOf(enabled, 'TRUE', {
    name,
    subjects: ['service'],
    target: SERVICE,
    inverse: name === 'enable_service' ? 'disable_service' : 'enable_service',
    fieldWritten: 'Enabled',
    auditedAs: enabled === 'TRUE' ? 'Enable' : 'Disable',
    effect: (target) => `${verb} service ${target} for everybody; all enforcement agents are notified`,
    readBack: (api, target) => readSwitch(api, target, enabled),
    perform: (api, target) => (enabled === 'TRUE' ? api.enableService(target) : api.disableService(target)),
  });
}

async function readSwitch(api: TargetReads, serviceId: string, enabled: Side): Promise<ReadBack> {
  const record = await api.service(serviceId);
  if (!record) return { state: 'absent', records: [], evidence: { ServiceID: serviceId, found: false } };
  const state = flagText(record, 'Enabled') === enabled ? 'as_intended' : 'otherwise';
  return { state, records: [record], evidence: { ServiceID: serviceId, Enabled: own(record, 'Enabled') ?? null } };
}

export const disableService: Action = { ...serviceSwitch('disable_service', 'FALSE'), stateText: 'disabled' };

export const enableService = serviceSwitch('enable_service', 'TRUE');
