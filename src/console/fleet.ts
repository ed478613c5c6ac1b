// console: direct changes of the organization: by administrators in the web page, by MDM reports, and by tests. In:
// patches by the record's own field names. Out: changed rows with their effects. It bypasses the API, not its rules.
import type { EventSeverity, Flag, TrustLevel } from '../management/contract.ts';
import { ServiceSpec } from '../management/contract.ts';
import { deviceRow } from './seed/fleet.ts';
import { personRow } from './seed/people.ts';
import { choicesFrom } from './seed/random.ts';
import { specOf } from './seed/services.ts';
import { type DeviceColumns, insertDevice, insertEnduser, insertMapping } from './store/additions.ts';
import { newCertificate } from './store/certificates.ts';
import { type DeviceFields, patchDevice, updateDevices } from './store/device-changes.ts';
import { deviceOfId } from './store/devices.ts';
import { writeEffect } from './store/effects.ts';
import { enduserOfEmail } from './store/endusers.ts';
import { type EventDraft, writeEvent } from './store/events.ts';
import { insertService, serviceOf, switchService } from './store/services.ts';
import { type Actor, type ConsoleStore, nextNumber, nowNs } from './store/store.ts';

export type { DeviceFields } from './store/device-changes.ts';

export interface HandEvent {
  type: string;
  subType: string;
  action: string;
  severity: EventSeverity;
  message?: string;
  createdAtMs?: number;
  deviceId?: string;
  email?: string;
  serviceId?: string;
}

export interface Fleet {
  /** Adds a complete, fresh, unremarkable device with these fields; returns its DeviceID. */
  addDevice(fields: DeviceFields, owners?: string[]): string;
  /** Registers a person, new or known, on an existing device. Throws a RangeError for an unknown device. */
  addOwner(deviceId: string, email: string): void;
  /** Writes these fields, as a new report unless they give its time; `mdm_compromised` is an effect of its own. Throws a RangeError for an unknown device. */
  patchDevice(deviceId: string, fields: DeviceFields): void;
  /** An administrator bans or unbans in the page. */
  banByHand(serial: string, banned: Flag): void;
  addUser(email: string, name?: string): void;
  /** Adds a service; returns its ServiceID. */
  addService(name: string, cluster: string): string;
  /** An administrator enables or disables in the page. */
  switchByHand(serviceId: string, enabled: Flag): void;
  /** Writes an event of this device, person and service; returns its id. */
  addEvent(event: HandEvent): string;
}

const HAND: Actor = { name: 'someone@acme.example', via: 'hand' };

/** What MDM or the trust score says comes with the time of a new report. A device that MDM never reported stays so. */
function reportTimesOf(store: ConsoleStore, deviceId: string, fields: DeviceFields): DeviceFields {
  const sql = 'SELECT mdm_timestamp AS mdm, trust_updated AS trust FROM device WHERE device_id = ?';
  const before = store.sql.get<{ mdm: bigint | number; trust: bigint | number }>(sql, deviceId);
  if (!before) return {};
  const after = (time: bigint | number) => {
    const [known, now] = [BigInt(time), nowNs(store)];
    return now > known ? now : known + 1_000_000n;
  };
  const isOfMdm = fields.mdm_compromised !== undefined || fields.mdm_compliant !== undefined;
  return {
    ...(isOfMdm && Number(before.mdm) > 0 && { mdm_timestamp: after(before.mdm) }),
    ...(fields.trust_level !== undefined && { trust_updated: after(before.trust) }),
  };
}

export function openFleet(store: ConsoleStore): Fleet {
  return {
    addDevice: (fields, owners = []) => store.sql.atomically(() => addDevice(store, fields, owners)),
    addOwner: (deviceId, email) =>
      store.sql.atomically(() => {
        const device = deviceOfId(store, deviceId);
        if (!device) throw new RangeError(`there is no device ${deviceId}`);
        mapPerson(store, email, device.pk, nowNs(store));
      }),
    patchDevice: (deviceId, fields) =>
      store.sql.atomically(() =>
        patchDevice(store, HAND, deviceId, { ...reportTimesOf(store, deviceId, fields), ...fields }),
      ),
    banByHand(serial, banned) {
      if (updateDevices(store, HAND, serial, { banned }) === 0)
        throw new RangeError(`no device has the serial number ${serial}`);
    },
    addUser: (email, name) => addUser(store, email, name ?? email),
    addService(name, cluster) {
      const spec = specOf(choicesFrom(nextNumber(store.sql, 'hand')), name, cluster);
      return JSON.parse(insertService(store, HAND, ServiceSpec.parse(spec), JSON.stringify(spec))).ServiceID as string;
    },
    switchByHand(serviceId, enabled) {
      if (switchService(store, HAND, serviceId, enabled) === 'no_such_service')
        throw new RangeError(`no service has the id ${serviceId}`);
    },
    addEvent: (event) => writeEvent(store, draftOf(store, event)),
  };
}

function addDevice(store: ConsoleStore, fields: DeviceFields, owners: string[]): string {
  const number = nextNumber(store.sql, 'hand');
  const fresh = nowNs(store);
  const row: DeviceColumns = {
    ...deviceRow(store, choicesFrom(number), -1, number, 'Ada'),
    ownership: 'Corporate Dedicated',
    registered: 'TRUE',
    mdm_compliant: 'TRUE',
    mdm_timestamp: fresh,
    last_login: fresh,
    trust_entity: 90,
    trust_override: 0,
    trust_access: 90,
    override_active: 'FALSE',
    trust_level: 'High' satisfies TrustLevel,
    trust_updated: fresh,
    factors: '[]',
    ...fields,
  };
  const pk = insertDevice(store, row);
  for (const email of owners) mapPerson(store, email, pk, fresh);
  writeEffect(store, HAND, 'device_added', row.device_id, { serial: row.serial });
  return row.device_id;
}

function mapPerson(store: ConsoleStore, email: string, devicePk: number, issuedAtNs: bigint): void {
  addUser(store, email, email);
  const user = enduserOfEmail(store, email);
  if (user) insertMapping(store, user.pk, devicePk, newCertificate(store), issuedAtNs);
}

function addUser(store: ConsoleStore, email: string, name: string): void {
  if (enduserOfEmail(store, email)) return;
  insertEnduser(store, personRow(store, choicesFrom(nextNumber(store.sql, 'hand')), email, name));
  writeEffect(store, HAND, 'user_added', email);
}

function draftOf(store: ConsoleStore, event: HandEvent): EventDraft {
  const service = event.serviceId === undefined ? undefined : serviceOf(store, event.serviceId);
  return {
    type: event.type,
    subType: event.subType,
    action: event.action,
    severity: event.severity,
    message: event.message ?? event.action,
    ...(event.createdAtMs === undefined ? {} : { createdAtMs: event.createdAtMs }),
    devicePk: event.deviceId === undefined ? undefined : deviceOfId(store, event.deviceId)?.pk,
    user: event.email === undefined ? undefined : enduserOfEmail(store, event.email),
    service,
  };
}
