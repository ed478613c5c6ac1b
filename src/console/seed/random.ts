// console seed: pseudo-random choices that a seed repeats.
// In: a seed. Out: the same choices each time. It must never be used for secrets.

import type { TrustLevel } from '../../platform/contract.ts';
import { type DeviceRow, deviceOfPk, type EnduserRow, ownersOfDevice } from '../store/devices.ts';
import { type Client, type EventDraft, writeEvent } from '../store/events.ts';
import {
  accessEvent,
  livingServices,
  loginEvent,
  mdmEvent,
  registrationEvent,
  resourceEvent,
  type ServiceRow,
  trustEvent,
} from '../store/services.ts';
import type { ConsoleStore } from '../store/store.ts';

const USER_AGENTS = ['Trustward-App/3.21.0', 'Mozilla/5.0 (Macintosh)', 'Mozilla/5.0 (Windows NT 10.0)', 'curl/8.5.0'];

/** Where people connect from. */
const SITES = [
  { city: 'Lisbon', country: 'PT', region: 'Lisbon' },
  { city: 'Berlin', country: 'DE', region: 'Berlin' },
  { city: 'Lagos', country: 'NG', region: 'Lagos' },
  { city: 'Toronto', country: 'CA', region: 'Ontario' },
] as const;

export interface Choices {
  /** In [0, 1). */
  next(): number;
  /** A whole number in [0, below). */
  int(below: number): number;
  /** A whole number in [from, to]. */
  between(from: number, to: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** Picks by weight. */
  weigh<T>(from: readonly (readonly [T, number])[]): T;
}

/** sfc32, warmed up: fast, and good enough for a made-up organization. */
export function choicesFrom(seed: number): Choices {
  let a = 0x9e3779b9;
  let b = 0x243f6a88;
  let c = 0xb7e15162;
  let d = (seed >>> 0) ^ 0xdeadbeef;
  const next = (): number => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return (t >>> 0) / 4_294_967_296;
  };
  for (let round = 0; round < 16; round++) next();
  const int = (below: number): number => Math.floor(next() * below);
  return {
    next,
    int,
    between: (from, to) => from + int(to - from + 1),
    chance: (probability) => next() < probability,
    pick: (from) => from[int(from.length)] as (typeof from)[number],
    weigh(from) {
      let left = next() * from.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [value, weight] of from) {
        left -= weight;
        if (left < 0) return value;
      }
      return (from.at(-1) as (typeof from)[number])[0];
    },
  };
}

// A week of events before the organization is first used.

const WEEK_MS = 7 * 86_400_000;

export function seedHistory(store: ConsoleStore, choices: Choices, count: number): void {
  const devices = store.sql.value<number>('SELECT max(pk) FROM device') ?? 0;
  if (devices === 0) return;
  const kept = Math.min(count, store.retention.eventsMax + 1);
  const startMs = Math.floor(store.clock.nowMs()) - WEEK_MS;
  for (let index = 0; index < kept; index++) {
    const createdAtMs = startMs + Math.floor((WEEK_MS * (index + choices.next())) / kept);
    const draft = happening(store, choices, 1 + choices.int(devices), createdAtMs, index % BANNED_EVERY === 0);
    if (draft) writeEvent(store, { ...draft, createdAtMs });
  }
}

/** A login of such an event is that of a banned device, which is denied. */
const BANNED_EVERY = 25;

/** Something unremarkable that happens to this device, mostly. */
function happening(
  store: ConsoleStore,
  choices: Choices,
  devicePk: number,
  atMs: number,
  isOfBanned: boolean,
): EventDraft | undefined {
  const kind = choices.weigh(KINDS);
  const device = deviceOfPk(
    store,
    (kind === 'login' && isOfBanned ? bannedPk(store, devicePk) : undefined) ?? devicePk,
  );
  if (!device) return undefined;
  const user = ownersOfDevice(store, device.pk)[0];
  const services = livingServices(store);
  switch (kind) {
    case 'login':
      return user ? loginEvent(store, device, user, clientOf(choices)) : mdmEvent(store, device);
    case 'trust':
      return trustEvent(device, choices.between(60, 100), BigInt(atMs) * 1_000_000n + BigInt(choices.int(1_000_000)));
    case 'mdm':
      return mdmEvent(store, device);
    case 'access':
      if (services.length === 0) return mdmEvent(store, device);
      return accessEvent(store, device, user, choices.pick(services), choices.chance(0.97), clientOf(choices));
    case 'resource':
      if (services.length === 0) return mdmEvent(store, device);
      return reachedOrNot(store, choices, choices.pick(services), { device, user });
    case 'registration':
      return registration(store, choices, device);
  }
}

/** The next banned device that somebody has. */
function bannedPk(store: ConsoleStore, fromPk: number): number | undefined {
  return store.sql.value<number>(
    `SELECT d.pk FROM device d WHERE d.banned = 'TRUE' AND EXISTS (SELECT 1 FROM mapping m WHERE m.device_pk = d.pk)
      ORDER BY d.pk < ?, d.pk LIMIT 1`,
    fromPk,
  );
}

function reachedOrNot(
  store: ConsoleStore,
  choices: Choices,
  service: ServiceRow,
  caller: { device: DeviceRow; user: EnduserRow | undefined },
): EventDraft {
  const isReached = choices.chance(0.97);
  return resourceEvent(store, service, isReached, isReached ? { ...caller, client: clientOf(choices) } : {});
}

const KINDS = [
  ['access', 45],
  ['login', 20],
  ['trust', 15],
  ['mdm', 10],
  ['resource', 6],
  ['registration', 4],
] as const;

/** Of a device that is not registered now, the last is that it was unregistered. */
function registration(store: ConsoleStore, choices: Choices, device: DeviceRow): EventDraft {
  const pks = store.sql.values<number>("SELECT pk FROM device WHERE registered = 'FALSE' LIMIT 100");
  const gone = pks.length > 0 && choices.chance(0.3) ? deviceOfPk(store, choices.pick(pks)) : undefined;
  const shown = gone ?? device;
  const owner = ownersOfDevice(store, shown.pk)[0];
  const isRegistered = shown.registered === 'TRUE';
  const action = isRegistered ? (choices.chance(0.9) ? 'Register' : 'Register Failed') : 'Unregister';
  return registrationEvent(shown, owner, action, clientOf(choices));
}

export function clientOf(choices: Choices): Client {
  const user_agent = choices.pick(USER_AGENTS);
  const site = choices.int(256);
  return {
    user_agent,
    ip_address: `10.${site}.${choices.int(256)}.${choices.between(1, 254)}:${choices.between(32_768, 60_999)}`,
    geo_location: SITES[site % SITES.length] as (typeof SITES)[number],
  };
}

// Trust data: scores, levels and the factors behind them.

interface TrustColumns {
  trust_entity: number;
  trust_override: number;
  trust_access: number;
  override_active: 'TRUE' | 'FALSE';
  trust_level: TrustLevel;
  factors: string;
}

const SCORES: Record<TrustLevel, [number, number]> = {
  AlwaysDeny: [0, 60],
  Low: [10, 39],
  Medium: [40, 69],
  High: [70, 100],
  AlwaysAllow: [60, 100],
};

export const DEVICE_LEVELS: readonly (readonly [TrustLevel, number])[] = [
  ['High', 74],
  ['Medium', 22],
  ['Low', 2],
  ['AlwaysAllow', 1.6],
  ['AlwaysDeny', 0.4],
];

export const USER_LEVELS: readonly (readonly [TrustLevel, number])[] = [
  ['High', 84],
  ['Medium', 14],
  ['AlwaysAllow', 1.5],
  ['Low', 0.5],
];

export function trustOf(choices: Choices, level: TrustLevel): TrustColumns {
  const [from, to] = SCORES[level];
  const entity = choices.between(from, to);
  const override = level === 'AlwaysAllow' ? 100 : level === 'AlwaysDeny' ? 0 : undefined;
  return {
    trust_entity: entity,
    trust_override: override ?? 0,
    trust_access: override ?? entity,
    override_active: override === undefined ? 'FALSE' : 'TRUE',
    trust_level: level,
    factors: factorsOf(choices, level),
  };
}

const FACTORS: readonly [name: string, bad: string, description: string, remediation: string][] = [
  ['Disk Encryption', 'Disabled', 'the disk is not encrypted', 'turn on disk encryption'],
  ['Firewall', 'Disabled', 'the firewall is off', 'turn on the firewall'],
  ['Auto Update', 'Disabled', 'updates are not installed by themselves', 'turn on automatic updates'],
  ['Screen Lock', 'Not set', 'the screen does not lock', 'set a screen lock'],
  ['Not Jailbroken', 'Jailbroken', 'the system was tampered with', 'restore the system'],
];

/** Factors of a device that was found tampered with. */
export const COMPROMISED_FACTORS = JSON.stringify([factorOf(4, 'mdm')]);

function factorsOf(choices: Choices, level: TrustLevel): string {
  if (level === 'High' || level === 'AlwaysAllow') return choices.chance(0.9) ? '[]' : one(choices);
  if (level === 'Medium') return one(choices);
  return JSON.stringify([factorOf(0, 'internal'), factorOf(1 + choices.int(3), 'internal')]);
}

const SINGLE = [0, 1, 2, 3].map((index) => JSON.stringify([factorOf(index, 'internal')]));

function one(choices: Choices): string {
  return choices.pick(SINGLE);
}

function factorOf(index: number, source: string): object {
  const [name, value, description, remediation] = FACTORS[index] as (typeof FACTORS)[number];
  return {
    Name: name,
    Value: value,
    Type: 'internal',
    Source: source,
    Description: description,
    RemediationDescription: remediation,
    RemediationURL: '',
  };
}

export function agoNs(store: ConsoleStore, choices: Choices, agoMs: number): bigint {
  const ms = Math.max(0, Math.floor(store.clock.nowMs() - agoMs));
  return BigInt(ms) * 1_000_000n + BigInt(choices.int(1_000_000));
}
