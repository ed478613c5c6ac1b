// console seed: a week of events before the organization is first used. In: choices and how many. Out: events in the
// order of their times. None of it is a burst: those come with life.
import { type DeviceRow, deviceOfPk } from '../store/devices.ts';
import { type EnduserRow, ownersOfDevice } from '../store/endusers.ts';
import { type Client, type EventDraft, writeEvent } from '../store/events.ts';
import {
  accessEvent,
  loginEvent,
  mdmEvent,
  registrationEvent,
  resourceEvent,
  trustEvent,
} from '../store/happenings.ts';
import { livingServices, type ServiceRow } from '../store/services.ts';
import type { ConsoleStore } from '../store/store.ts';
import { SITES, USER_AGENTS } from './names.ts';
import type { Choices } from './random.ts';

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
