// console live: devices that MDM finds tampered with, and that recover within 20 to 40 seconds.
// In: moments. Out: MDM and trust data, with the events of both. Never more than one and a half percent at a time.
import { COMPROMISED_FACTORS } from '../seed/trust.ts';
import { patchDevice } from '../store/device-changes.ts';
import { type DeviceRow, deviceOfId, deviceOfPk } from '../store/devices.ts';
import { writeEvent } from '../store/events.ts';
import { mdmEvent, trustEvent } from '../store/happenings.ts';
import { isOrdinary } from './choosing.ts';
import type { Life } from './moment.ts';

const SHARE_MAX = 0.015;
/** Odd and not a multiple of 5: walks through the fleet before it comes back to a device. */
const STRIDE = 7_919;

export function openCompromises(life: Life) {
  /** When each compromised device recovers, ms. */
  const recoversAt = new Map<string, number>();
  for (const id of life.store.sql.values<string>(
    "SELECT device_id FROM device WHERE mdm_compromised = 'TRUE' LIMIT 10000",
  )) {
    recoversAt.set(id, recoveryOf(life));
  }
  let step = life.choices.int(STRIDE);

  function begin(present: Life): void {
    const devices = present.store.sql.value<number>("SELECT n FROM tally WHERE name = 'device'") ?? 0;
    if (recoversAt.size >= Math.max(1, Math.floor(devices * SHARE_MAX))) return;
    const device = nextDevice(present);
    if (!device) return;
    recoversAt.set(device.device_id, recoveryOf(present));
    report(present, device, true);
  }

  function nextDevice(present: Life): DeviceRow | undefined {
    const last = present.store.sql.value<number>('SELECT max(pk) FROM device') ?? 0;
    for (let tries = 0; tries < 20 && last > 0; tries++) {
      step += STRIDE;
      const device = deviceOfPk(present.store, 1 + (step % last));
      if (device && isOrdinary(present, device)) return device;
    }
    return undefined;
  }

  function recover(present: Life): void {
    for (const [id, atMs] of recoversAt) {
      if (present.nowMs < atMs) continue;
      recoversAt.delete(id);
      const device = deviceOfId(present.store, id);
      if (device?.mdm_compromised === 'TRUE') report(present, device, false);
    }
  }

  return { begin, recover };
}

function recoveryOf(life: Life): number {
  return life.nowMs + life.choices.between(20_000, 39_000);
}

/** What MDM reports, and the trust score that follows from it. */
function report(life: Life, device: DeviceRow, isCompromised: boolean): void {
  const score = isCompromised ? life.choices.int(16) : life.choices.between(75, 99);
  const nowNs = BigInt(Math.floor(life.nowMs)) * 1_000_000n + BigInt(life.choices.int(1_000_000));
  patchDevice(life.store, life.actor, device.device_id, {
    mdm_compromised: isCompromised ? 'TRUE' : 'FALSE',
    mdm_compliant: isCompromised ? 'FALSE' : 'TRUE',
    mdm_timestamp: nowNs,
    trust_entity: score,
    trust_override: 0,
    trust_access: score,
    override_active: 'FALSE',
    trust_level: isCompromised ? 'Low' : 'High',
    trust_updated: nowNs,
    factors: isCompromised ? COMPROMISED_FACTORS : '[]',
  });
  writeEvent(life.store, mdmEvent(life.store, device));
  writeEvent(life.store, trustEvent(device, score, nowNs, isCompromised ? 'WARN' : 'INFO'));
}
