// act: delete a device, or with an e-mail address one user's mapping to it. It cannot be undone, so it is always held for approval.
// The target is `SERIAL` for a device rule and `SERIAL EMAIL` for a user rule, which then has the address in the settings.
// Certificates are revoked; a user left without a device is deleted too (specification, endpoint 3): reading back shows who would
// be deleted now.
import {
  type Action,
  type Deletion,
  deletionOf,
  deletionTarget,
  deletionTexts,
  mappingSettings,
  type ReadBack,
  type TargetTraits,
} from '../../../domain/action.ts';
import { unlessForbidden } from '../../../domain/errors.ts';
import { type Facts, own, ownTexts } from '../../../domain/facts.ts';
import type { TargetReads } from '../../../domain/ports.ts';
import { flagText, fleetDeviceOf, hasNoKnownDevice } from '../../../domain/subjects.ts';
import { refuseAnySettings, SERIAL, SERVICE } from './targets.ts';

/**
 * A user has one target for each device. A user without a known device is a target too, so that this is reported instead of ignored.
 */
const SERIAL_OR_MAPPING: TargetTraits = {
  of: (summary, settings) => {
    if (summary.kind === 'device') return SERIAL.of(summary, settings);
    if (hasNoKnownDevice(summary)) return [summary.id];
    return (summary.serials ?? []).map((serial) => `${serial} ${summary.id}`);
  },
  settingsOf: ({ kind, id }) => (kind === 'user' ? mappingSettings(id) : undefined),
  identity: (target, settings) => {
    const { serial, email } = deletionTarget(target, settings);
    return email === undefined ? SERIAL.identity(serial, settings) : ['mapping', serial, email];
  },
  serialOf: (target, settings) => deletionTarget(target, settings).serial,
};

export const deleteDevice: Action = {
  name: 'delete_device',
  warnText: 'it is removed: it must be registered again before it can reach what your organization protects',
  subjects: ['device', 'user'],
  target: SERIAL_OR_MAPPING,
  inverse: undefined,
  fieldWritten: undefined,
  valueWritten: undefined,
  changesFleet: true,
  // A deletion removes the mappings of all owners: they are named before a person approves.
  unpaged: ({ subject }) => (subject === 'user' ? ['users', 'devices'] : ['devices']),
  takesDevice: true,
  deletesDevices: true,
  removesTarget: true,
  refuseSettings: refuseAnySettings('delete_device'),
  effect: (target, devices, settings, _changes, deletion) => {
    const { serial, email } = deletionTarget(target, settings);
    if (deletion === undefined) return `delete the devices of ${target}: none is known`;
    const what =
      email === undefined
        ? `delete serial number ${serial} (${devices.length} device${devices.length === 1 ? '' : 's'})`
        : `delete the mapping of ${email} to serial number ${serial}`;
    return [what, ...deletionTexts(deletion)].join('; ');
  },
  readBack: (api, target, settings) => {
    const { serial, email } = deletionTarget(target, settings);
    return email === undefined ? readDevices(api, serial) : readMapping(api, serial, email);
  },
  perform: (api, target, _fresh, settings) => {
    const { serial, email } = deletionTarget(target, settings);
    return api.deleteDevice(serial, email);
  },
};

/** Owners are read in between: the record that the rule judges is read last, right before the call. */
async function readDevices(api: TargetReads, serial: string): Promise<ReadBack> {
  const keeps = new Map<string, boolean | undefined>();
  for (const email of ownersOf(await api.devicesOfSerial(serial)))
    keeps.set(email, await keepsAnother(api, email, serial));
  const records = await api.devicesOfSerial(serial);
  const evidence = { devices: records.length };
  if (records.length === 0) return { state: 'as_intended', records, evidence };
  const deletion = deletionOf(
    undefined,
    records.map((record) => fleetDeviceOf(record)),
    { keepsAnother: (owner) => keeps.get(owner) },
  );
  return { state: 'otherwise', records, evidence: { ...evidence, ...evidenceOf(deletion) }, deletion };
}

function ownersOf(records: readonly Facts[]): Set<string> {
  const owners = records.flatMap((record) => fleetDeviceOf(record).owners ?? []);
  return new Set(owners.map((owner) => owner.toLowerCase()));
}

async function readMapping(api: TargetReads, serial: string, email: string): Promise<ReadBack> {
  const devices = (await unlessForbidden(api.devicesOfSerial(serial))) ?? [];
  const user = await api.user(email);
  const records = user ? [user] : [];
  const serials = (user && ownTexts(user, 'SerialNumbers')) ?? [];
  const mapped = serials.includes(serial);
  const evidence = { Email: email, mapped };
  if (!mapped) return { state: 'as_intended', records, evidence };
  const keeps = serials.some((other) => other !== serial);
  const deletion = deletionOf(
    email,
    devices.map((record) => fleetDeviceOf(record)),
    { keepsAnother: () => keeps },
  );
  const owners = [...ownersOf(devices)];
  return { state: 'otherwise', records, evidence: { ...evidence, ...evidenceOf(deletion) }, deletion, owners };
}

/** Undefined: the server does not report it. A user who does not exist cannot be deleted. */
async function keepsAnother(api: TargetReads, email: string, serial: string): Promise<boolean | undefined> {
  const user = await unlessForbidden(api.user(email).then((found) => found ?? ('nobody' as const)));
  if (user === 'nobody') return true;
  return user && ownTexts(user, 'SerialNumbers')?.some((other) => other !== serial);
}

function evidenceOf({ owners, users }: Deletion): Facts {
  return { owners, users };
}

// Delete a service.

export const deleteService: Action = {
  name: 'delete_service',
  subjects: ['service'],
  target: SERVICE,
  inverse: undefined,
  fieldWritten: undefined,
  valueWritten: undefined,
  changesFleet: true,
  removesTarget: true,
  refuseSettings: refuseAnySettings('delete_service'),
  effect: (target) => `delete service ${target} for good; it is refused while the service is enabled`,
  readBack,
  refuse: (fresh) =>
    fresh.records.every((record) => flagText(record, 'Enabled') === 'FALSE')
      ? undefined
      : 'the service is not disabled: disable it first, and delete it when nobody misses it',
  perform: (api, target) => api.deleteService(target),
};

async function readBack(api: TargetReads, serviceId: string): Promise<ReadBack> {
  const record = await api.service(serviceId);
  if (!record) return { state: 'as_intended', records: [], evidence: { ServiceID: serviceId, found: false } };
  const evidence = {
    ServiceID: serviceId,
    Enabled: own(record, 'Enabled') ?? null,
    DeletedAt: own(record, 'DeletedAt') ?? null,
  };
  return { state: isDeleted(record) ? 'as_intended' : 'otherwise', records: [record], evidence };
}

/** Whether a server keeps the record of a deleted service is not specified. `DeletedAt` is 0 for an existing service. */
function isDeleted(record: Facts): boolean {
  const at = own(record, 'DeletedAt');
  return (typeof at === 'number' || typeof at === 'bigint') && at > 0;
}
