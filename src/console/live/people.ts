// console live: what people do: they log in, reach services, are refused, and now and then somebody tries again and again.
// In: moments. Out: events, and the times and counts that logins move. A banned device is denied.
import { clientOf } from '../seed/history.ts';
import { reissueCertificates } from '../store/certificates.ts';
import type { DeviceRow } from '../store/devices.ts';
import { writeEvent } from '../store/events.ts';
import { accessEvent, loginEvent, mdmEvent, resourceEvent } from '../store/happenings.ts';
import { livingServices, type ServiceRow } from '../store/services.ts';
import { anyDevice, ordinaryDevice, ownerOf } from './choosing.ts';
import type { Life } from './moment.ts';

/** Somebody logs in and reaches a service; from a banned device neither. */
export function logIn(life: Life): void {
  const device = anyDevice(life);
  const user = device && ownerOf(life, device);
  if (!device || !user) return;
  const client = clientOf(life.choices);
  writeEvent(life.store, loginEvent(life.store, device, user, client));
  if (device.banned === 'TRUE') return;
  reissueCertificates(life.store, life.actor, device.pk);
  const nowNs = presentNs(life);
  life.store.sql.run('UPDATE device SET last_login = ?, login_count = login_count + 1 WHERE pk = ?', nowNs, device.pk);
  life.store.sql.run('UPDATE enduser SET last_login = ?, login_count = login_count + 1 WHERE pk = ?', nowNs, user.pk);
  const service = anyService(life);
  if (!service) return;
  writeEvent(life.store, accessEvent(life.store, device, user, service, true, client));
  writeEvent(life.store, resourceEvent(life.store, service, true, { device, user, client }));
}

/** MDM reports on a device; after an unban this (or a login, where there is no MDM) is how it regains its certificates. */
export function syncMdm(life: Life): void {
  const device = anyDevice(life);
  if (!device || device.mdm_source === '') return;
  life.store.sql.run('UPDATE device SET mdm_timestamp = ? WHERE pk = ?', presentNs(life), device.pk);
  if (device.banned === 'FALSE') reissueCertificates(life.store, life.actor, device.pk);
  writeEvent(life.store, mdmEvent(life.store, device));
}

/** One refusal, as happens to everybody. */
export function accessUnauthorized(life: Life): void {
  const device = anyDevice(life);
  if (device) refuse(life, device, 1);
}

/** One device that tries again and again. */
export function beginIntrusion(life: Life): void {
  const device = ordinaryDevice(life);
  if (device) refuse(life, device, life.choices.between(6, 9));
}

function refuse(life: Life, device: DeviceRow, times: number): void {
  const user = ownerOf(life, device);
  const client = clientOf(life.choices);
  for (let time = 0; time < times; time++) {
    // Over several services, so that none of them seems to fail.
    const service = anyService(life);
    if (service) writeEvent(life.store, accessEvent(life.store, device, user, service, false, client));
  }
}

function anyService(life: Life): ServiceRow | undefined {
  const services = livingServices(life.store).filter((service) => service.enabled === 'TRUE');
  return services.length === 0 ? undefined : life.choices.pick(services);
}

function presentNs(life: Life): bigint {
  return BigInt(Math.floor(life.nowMs)) * 1_000_000n + BigInt(life.choices.int(1_000_000));
}
