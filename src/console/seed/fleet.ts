// console seed: devices, and who is registered on them.
// In: choices, how many, and the people. Out: rows. Among the unremarkable ones are the odd ones that real fleets have: compromised,
// never synced, idle, banned by a person, with shared or placeholder serial numbers, with hostile names.
import { type DeviceColumns, insertDevice, insertMapping } from '../store/additions.ts';
import { type ConsoleStore, uuidFrom } from '../store/store.ts';
import {
  HOSTILE_DEVICE_NAMES,
  MDM_SOURCES,
  OWNERSHIP_WEIGHTS,
  PLACEHOLDER_SERIALS,
  PLATFORMS,
  type PlatformKind,
} from './names.ts';
import type { Choices } from './random.ts';
import { COMPROMISED_FACTORS, DEVICE_LEVELS, trustOf } from './trust.ts';
import { agoNs } from './when.ts';

const DAY_MS = 86_400_000;
const ROLE_SETS = ['["mdm-managed"]', '["mdm-managed","employee"]', '[]', '["contractor"]'];

export interface FleetPlan {
  seed: number;
  devices: number;
  /** Exactly this many are compromised. */
  compromised: number;
}

export function seedFleet(
  store: ConsoleStore,
  choices: Choices,
  plan: FleetPlan,
  people: readonly { pk: number; firstName: string }[],
): void {
  let left = plan.compromised;
  let former: DeviceColumns | undefined;
  for (let index = 0; index < plan.devices; index++) {
    const owner = people.length === 0 ? undefined : people[index < people.length ? index : choices.int(people.length)];
    const row = deviceRow(store, choices, plan.seed, index, owner?.firstName ?? 'spare');
    const isOrdinary = makeOdd(row, choices, index, former);
    // Chosen so that exactly the planned number comes out, spread over the fleet, among devices that can be banned.
    if (left > 0 && isOrdinary && choices.chance((left * 1.3) / Math.max(1, plan.devices - index))) {
      compromise(row);
      left--;
    }
    const pk = insertDevice(store, row);
    former = row;
    registerPeople(store, choices, row, pk, index, owner, people);
  }
  if (left > 0) compromiseMore(store, left);
}

export function deviceRow(
  store: ConsoleStore,
  choices: Choices,
  seed: number,
  index: number,
  ownerName: string,
): DeviceColumns {
  const kind = choices.weigh(PLATFORMS);
  const loginAgoMs = choices.chance(0.03) ? choices.between(95, 300) * DAY_MS : choices.int(6 * DAY_MS);
  return {
    device_id: uuidFrom(`device:${seed}:${index}`),
    serial: serialOf(kind, seed, index),
    friendly_name:
      kind.platform === 'Windows'
        ? `${kind.label}-${serialOf(kind, seed, index).slice(-6)}`
        : `${ownerName}'s ${kind.label}`,
    ownership: choices.weigh(OWNERSHIP_WEIGHTS),
    platform: kind.platform,
    model: choices.pick(kind.models),
    architecture: choices.pick(kind.architectures),
    registered: choices.chance(0.98) ? 'TRUE' : 'FALSE',
    banned: 'FALSE',
    os: choices.pick(kind.systems),
    app_version: choices.chance(0.03) ? '' : `3.${choices.between(15, 24)}.${choices.int(6)}`,
    roles: choices.pick(ROLE_SETS),
    last_login: agoNs(store, choices, loginAgoMs),
    login_count: choices.between(1, 3_000),
    created_at: agoNs(store, choices, loginAgoMs + choices.between(5, 900) * DAY_MS),
    mdm_timestamp: agoNs(store, choices, choices.int(6 * 3_600_000)),
    mdm_source: choices.pick(MDM_SOURCES),
    mdm_compromised: 'FALSE',
    mdm_compliant: choices.chance(0.95) ? 'TRUE' : 'FALSE',
    ...trustOf(choices, choices.weigh(DEVICE_LEVELS)),
    trust_updated: agoNs(store, choices, choices.int(DAY_MS)),
  };
}

/** Unique within the organization: 7 digits of base 36 of a permutation of the index. */
function serialOf(kind: PlatformKind, seed: number, index: number): string {
  const space = 78_364_164_096; // 36^7
  const mixed = Number((BigInt(index) * 48_271_000_003n + BigInt(seed >>> 0)) % BigInt(space));
  return kind.serialPrefix + mixed.toString(36).toUpperCase().padStart(7, '0');
}

/** Makes some rows odd, as in real fleets; returns whether this one stayed ordinary. */
function makeOdd(row: DeviceColumns, choices: Choices, index: number, former: DeviceColumns | undefined): boolean {
  if (index % 40 === 7)
    row.friendly_name = HOSTILE_DEVICE_NAMES[Math.floor(index / 40) % HOSTILE_DEVICE_NAMES.length] as string;
  if (index % 130 === 50) {
    row.serial = PLACEHOLDER_SERIALS[Math.floor(index / 130) % PLACEHOLDER_SERIALS.length] as string;
    return false;
  }
  if (index % 150 === 75 && former) {
    // Two registrations of one machine, as after a new installation.
    for (const name of ['serial', 'platform', 'model', 'architecture', 'ownership'] as const) row[name] = former[name];
    return false;
  }
  if (choices.chance(0.06)) {
    row.mdm_timestamp = 0n;
    row.mdm_source = '';
    row.mdm_compliant = '';
    return false;
  }
  if (choices.chance(0.004)) {
    row.banned = 'TRUE';
    return false;
  }
  // The next row may share this one's serial number, which would make two compromised devices out of one.
  return index % 150 !== 74 && row.registered === 'TRUE';
}

function compromise(row: DeviceColumns): void {
  Object.assign(row, {
    mdm_compromised: 'TRUE',
    mdm_compliant: 'FALSE',
    trust_entity: 0,
    trust_override: 0,
    trust_access: 0,
    override_active: 'FALSE',
    trust_level: 'Low',
    factors: COMPROMISED_FACTORS,
  });
}

/** Small fleets can run out of ordinary rows before the number is reached. */
function compromiseMore(store: ConsoleStore, count: number): void {
  store.sql.run(
    `UPDATE device SET mdm_compromised = 'TRUE', mdm_compliant = 'FALSE', trust_level = 'Low', trust_entity = 0,
      trust_access = 0, factors = ? WHERE pk IN
      (SELECT pk FROM device WHERE mdm_compromised = 'FALSE' AND mdm_timestamp > 0 AND banned = 'FALSE'
        AND serial IN (SELECT serial FROM device GROUP BY serial HAVING count(*) = 1) ORDER BY pk LIMIT ?)`,
    COMPROMISED_FACTORS,
    count,
  );
}

function registerPeople(
  store: ConsoleStore,
  choices: Choices,
  row: DeviceColumns,
  devicePk: number,
  index: number,
  owner: { pk: number } | undefined,
  people: readonly { pk: number }[],
): void {
  if (!owner) return;
  const owners = new Set([owner.pk]);
  const more = row.ownership === 'Corporate Shared' ? 2 : choices.chance(0.04) ? 1 : 0;
  for (let each = 0; each < more; each++) owners.add(choices.pick(people).pk);
  for (const pk of owners) {
    const certificate = row.banned === 'TRUE' ? '' : uuidFrom(`certificate:${index}:${pk}`).replaceAll('-', '');
    insertMapping(store, pk, devicePk, certificate, row.created_at);
  }
}
