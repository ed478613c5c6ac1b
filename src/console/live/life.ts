// console live: an organization that changes over time: devices are found tampered with and recover, people log in,
// services fail. In: a seed and the clock. Out: changed rows, events and effects, a few each second. It must never stop
// the server: a failure is logged, and life continues.

import { DAY_MS, HOUR_MS } from '../../base/time.ts';
import { AppError } from '../../domain/errors.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import { type Choices, COMPROMISED_FACTORS, choicesFrom, clientOf } from '../seed/random.ts';
import { patchDevice, pruneEffects, reissueCertificates, updateDevices } from '../store/device-changes.ts';
import { type DeviceRow, deviceOfId, deviceOfPk, type EnduserRow, ownersOfDevice } from '../store/devices.ts';
import { pruneEvents, writeEvent } from '../store/events.ts';
import {
  accessEvent,
  livingServices,
  loginEvent,
  mdmEvent,
  pruneNotifications,
  registrationEvent,
  resourceEvent,
  type ServiceRow,
  serviceOf,
  switchService,
  trustEvent,
} from '../store/services.ts';
import { type Actor, type ConsoleStore, nextNumber, readMeta, setMeta } from '../store/store.ts';

interface Life {
  store: ConsoleStore;
  choices: Choices;
  /** The actor of events that nobody triggers. */
  actor: Actor;
  nowMs: number;
}

// Chooses whom something happens to.

/** Any device. */
function anyDevice(life: Life): DeviceRow | undefined {
  const last = life.store.sql.value<number>('SELECT max(pk) FROM device') ?? 0;
  const pk = life.store.sql.value<number>(
    'SELECT pk FROM device WHERE pk >= ? ORDER BY pk LIMIT 1',
    1 + life.choices.int(Math.max(1, last)),
  );
  return pk === undefined ? undefined : deviceOfPk(life.store, pk);
}

/** A device with a unique serial number that MDM reports on, neither banned nor compromised. */
function ordinaryDevice(life: Life): DeviceRow | undefined {
  for (let tries = 0; tries < 12; tries++) {
    const device = anyDevice(life);
    if (device && isOrdinary(life, device)) return device;
  }
  return undefined;
}

function isOrdinary(life: Life, device: DeviceRow): boolean {
  return (
    device.banned === 'FALSE' &&
    device.mdm_compromised === 'FALSE' &&
    device.registered === 'TRUE' &&
    device.mdm_source !== '' &&
    device.serial.length >= 8 &&
    !device.serial.includes(' ') &&
    life.store.sql.value<number>('SELECT count(*) FROM device WHERE serial = ?', device.serial) === 1
  );
}

function ownerOf(life: Life, device: DeviceRow): EnduserRow | undefined {
  return ownersOfDevice(life.store, device.pk)[0];
}

const ADMINISTRATOR: Actor = { name: 'riley@acme.example', via: 'hand' };
/** This many stay banned; beyond it somebody is unbanned. */
const BANNED_SHARE_MAX = 0.02;

function administrate(life: Life): void {
  const { sql } = life.store;
  const banned = sql.values<string>(
    "SELECT serial FROM device WHERE banned = 'TRUE' AND length(serial) >= 8 LIMIT 1000",
  );
  const devices = sql.value<number>("SELECT n FROM tally WHERE name = 'device'") ?? 0;
  const isCrowded = banned.length > devices * BANNED_SHARE_MAX;
  if (banned.length > 0 && (isCrowded || life.choices.chance(0.4))) {
    updateDevices(life.store, ADMINISTRATOR, life.choices.pick(banned), { banned: 'FALSE' });
    return;
  }
  const device = ordinaryDevice(life);
  if (device) updateDevices(life.store, ADMINISTRATOR, device.serial, { banned: 'TRUE' });
}

/** What failed was mended: one service is enabled again. */
function reopen(life: Life): void {
  const off = livingServices(life.store).filter(({ enabled }) => enabled === 'FALSE');
  if (off.length > 0) switchService(life.store, ADMINISTRATOR, life.choices.pick(off).service_id, 'TRUE');
}

// Devices that MDM finds tampered with, and that recover within 20 to 40 seconds.

const SHARE_MAX = 0.015;
/** Odd and not a multiple of 5: walks through the fleet before it comes back to a device. */
const STRIDE = 7_919;

function openCompromises(life: Life) {
  /** Whom MDM calls compromised only because it is confused. */
  let confused: number[] = [];
  /** When each compromised device recovers, ms. */
  const recoversAt = new Map<string, number>();
  for (const id of life.store.sql.values<string>(
    "SELECT device_id FROM device WHERE mdm_compromised = 'TRUE' LIMIT 10000",
  )) {
    recoversAt.set(id, Math.max(recoveryOf(life), recoveryOfIncident(life)));
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

  /** So many at once, which recover about a day later, also in a later process. */
  function attack(present: Life, devices: number): void {
    setMeta(present.store.sql, INCIDENT, String(Math.floor(present.nowMs) + 18 * HOUR_MS));
    for (let left = devices; left > 0; left--) {
      const device = nextDevice(present);
      if (!device) return;
      recoversAt.set(device.device_id, recoveryOfIncident(present));
      report(present, device, true);
    }
  }

  /** Three devices of five are called compromised, or none of these any more. */
  function confuse(present: Life, isConfused: boolean): void {
    const { sql } = present.store;
    if (isConfused)
      confused = sql.values<number>(
        "SELECT pk FROM device WHERE mdm_compromised = 'FALSE' AND mdm_source <> '' AND pk % 5 < 3",
      );
    for (const pk of confused)
      sql.run(
        'UPDATE device SET mdm_compromised = ?, mdm_timestamp = ? WHERE pk = ?',
        isConfused ? 'TRUE' : 'FALSE',
        presentNs(present),
        pk,
      );
  }

  return { begin, recover, attack, confuse };
}

function recoveryOf(life: Life): number {
  return life.nowMs + life.choices.between(20_000, 39_000);
}

/** From when on the devices of the last incident recover. */
const INCIDENT = 'incident_until_ms';

function recoveryOfIncident({ store, choices }: Life): number {
  const untilMs = readMeta(store.sql, INCIDENT);
  return untilMs === undefined ? 0 : Number(untilMs) + choices.int(12 * HOUR_MS);
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

function openOutages() {
  const errorsLeft = new Map<string, number>();
  let turn = 0;

  function begin(life: Life): void {
    const services = livingServices(life.store).filter((service) => service.enabled === 'TRUE');
    const service = services[turn % Math.max(1, services.length)];
    turn += 5;
    if (service) errorsLeft.set(service.service_id, life.choices.between(6, 10));
  }

  function goOn(life: Life): void {
    for (const [id, left] of errorsLeft) {
      const service = serviceOf(life.store, id);
      if (service?.enabled === 'TRUE') writeEvent(life.store, resourceEvent(life.store, service, false));
      if (left <= 1 || service?.enabled !== 'TRUE') errorsLeft.delete(id);
      else errorsLeft.set(id, left - 1);
    }
  }

  return { begin, goOn };
}

// What people do: they log in, reach services, are refused, and now and then somebody tries again and again.

/** Somebody logs in and reaches a service; from a banned device neither. */
function logIn(life: Life): void {
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
function syncMdm(life: Life): void {
  const device = anyDevice(life);
  if (!device || device.mdm_source === '') return;
  life.store.sql.run('UPDATE device SET mdm_timestamp = ? WHERE pk = ?', presentNs(life), device.pk);
  if (device.banned === 'FALSE') reissueCertificates(life.store, life.actor, device.pk);
  writeEvent(life.store, mdmEvent(life.store, device));
}

/** One refusal, as happens to everybody. */
function accessUnauthorized(life: Life): void {
  const device = anyDevice(life);
  if (device) refuse(life, device, 1);
}

/** One device that tries again and again. */
function beginIntrusion(life: Life): void {
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

const STILL_MS_MIN = 10 * 60_000;

function catchUpWithTime(store: ConsoleStore): void {
  const nowMs = Math.floor(store.clock.nowMs());
  const still = nowMs - Number(readMeta(store.sql, 'alive_at_ms') ?? nowMs);
  setMeta(store.sql, 'alive_at_ms', String(nowMs));
  if (still >= STILL_MS_MIN) reportAnew(store, still);
}

/** Longer without a login: nobody uses it. */
const IDLE_MS = 30 * DAY_MS;

/** Whoever logs in has done so, and every device was reported, so much later. */
function reportAnew(store: ConsoleStore, laterMs: number): void {
  const shift = BigInt(laterMs) * 1_000_000n;
  const idleNs = BigInt(Math.floor(store.clock.nowMs()) - laterMs - IDLE_MS) * 1_000_000n;
  const login = 'last_login = iif(last_login < ?, last_login, last_login + ?)';
  store.sql.atomically(() => {
    store.sql.run(
      `UPDATE device SET ${login}, trust_updated = trust_updated + ?,
        mdm_timestamp = iif(mdm_timestamp = 0, 0, mdm_timestamp + ?)`,
      idleNs,
      shift,
      shift,
      shift,
    );
    store.sql.run(`UPDATE enduser SET ${login}, trust_updated = trust_updated + ?`, idleNs, shift, shift);
  });
}

// Devices that unregister, and register again later.

const UNREGISTERED_SHARE_MAX = 0.03;

function changeRegistrations(life: Life): void {
  const { sql } = life.store;
  const unregistered = sql.values<number>("SELECT pk FROM device WHERE registered = 'FALSE' LIMIT 1000");
  const devices = sql.value<number>("SELECT n FROM tally WHERE name = 'device'") ?? 0;
  const isCrowded = unregistered.length > devices * UNREGISTERED_SHARE_MAX;
  if (unregistered.length > 0 && (isCrowded || life.choices.chance(0.5))) {
    const device = deviceOfPk(life.store, life.choices.pick(unregistered));
    if (device) register(life, device);
    return;
  }
  const device = ordinaryDevice(life);
  if (device) change(life, device, 'Unregister', 'FALSE');
}

/** A banned device cannot register. */
function register(life: Life, device: DeviceRow): void {
  if (device.banned === 'FALSE') {
    change(life, device, 'Register', 'TRUE');
    return;
  }
  writeEvent(life.store, registrationEvent(device, ownerOf(life, device), 'Register Failed', clientOf(life.choices)));
}

function change(life: Life, device: DeviceRow, action: 'Register' | 'Unregister', registered: 'TRUE' | 'FALSE'): void {
  patchDevice(life.store, life.actor, device.device_id, { registered });
  writeEvent(life.store, registrationEvent(device, ownerOf(life, device), action, clientOf(life.choices)));
}

export interface LiveOptions {
  /** Choices repeat with it; the organization's own seed when left out. */
  seed?: number | undefined;
  /** How often life moves, ms; a second when left out. */
  tickMs?: number | undefined;
}

/** One kind of thing that happens again and again, about every `everyMs`. */
interface Activity {
  everyMs: number;
  /** Larger fleets have more of it. */
  growsWithFleet: boolean;
  happen(life: Life): void;
}

/** 400 devices have about one new compromise in 12 seconds. */
const FLEET_OF_ONE = 400;
const TIMES_MAX = 40;
const KEEP_HOUSE_MS = 20_000;

interface MovingLife {
  /** Moves life on to the clock's time; called by itself while it runs. */
  tick(): void;
  /** An incident: so many devices are found tampered with at once. */
  attack(devices: number): void;
  /** A bad day of device management, and its end: most of the fleet is called compromised, and is not. */
  confuse(isConfused: boolean): void;
}

export interface LivingOrganization extends MovingLife {
  stop(): Promise<void>;
}

/** Starts life; times of an organization that stood still are moved up to now, so that not everything is stale. */
export function startLife(
  store: ConsoleStore,
  clock: Clock,
  log: Log,
  options: LiveOptions,
  seed: number,
): LivingOrganization {
  const moving = openLife(store, clock, options.seed ?? seed);
  const ending = new AbortController();
  const running = (async () => {
    // A full disk fails every moment: its beginning and its end are logged, not each second.
    let failing = false;
    while (!ending.signal.aborted) {
      await clock.sleep(options.tickMs ?? 1_000, ending.signal);
      try {
        moving.tick();
        if (failing) log.info({}, 'the living organization continues');
        failing = false;
      } catch (error) {
        if (!failing) log.error({ error: String(error) }, 'a moment of the living organization failed');
        failing = true;
      }
    }
  })().catch((error: unknown) => {
    if (!(error instanceof AppError && error.code === 'stopped')) log.error({ error: String(error) }, 'life stopped');
  });
  return {
    ...moving,
    async stop() {
      ending.abort();
      await running;
    },
  };
}

function openLife(store: ConsoleStore, clock: Clock, seed: number): MovingLife {
  catchUpWithTime(store);
  // A restart continues with other choices than those already made.
  const choices = choicesFrom(seed * 1_000 + nextNumber(store.sql, 'life'));
  const life: Life = { store, choices, actor: { name: 'mdm', via: 'life' }, nowMs: clock.nowMs() };
  const compromises = openCompromises(life);
  const activities = activitiesOf(compromises);
  // The first time of each comes early, so that a new organization is not quiet for minutes.
  const dueMs = activities.map(({ everyMs }) => life.nowMs + everyMs * choices.next() * 0.5);
  let stillMs = 0;
  const moved = (happen: () => void) => {
    const passedMs = clock.nowMs() - life.nowMs;
    life.nowMs += passedMs;
    // The machine slept, or the clock is moved on by hours.
    if (passedMs >= STILL_MS_MIN) stillMs += passedMs;
    if (stillMs >= DAY_MS) {
      reportAnew(store, Math.floor(stillMs));
      stillMs = 0;
    }
    store.sql.atomically(happen);
  };
  return {
    attack: (devices) => moved(() => compromises.attack(life, devices)),
    confuse: (isConfused) => moved(() => compromises.confuse(life, isConfused)),
    tick: () =>
      moved(() => {
        for (const [index, activity] of activities.entries()) {
          if (life.nowMs < (dueMs[index] as number)) continue;
          dueMs[index] = life.nowMs + activity.everyMs * (0.7 + choices.next() * 0.6);
          for (let times = timesOf(store, activity); times > 0; times--) activity.happen(life);
        }
      }),
  };
}

function activitiesOf(compromises: ReturnType<typeof openCompromises>): Activity[] {
  const outages = openOutages();
  const each = (everyMs: number, happen: (life: Life) => void, growsWithFleet = false): Activity => ({
    everyMs,
    growsWithFleet,
    happen,
  });
  return [
    each(1_000, compromises.recover),
    each(12_000, compromises.begin, true),
    each(3_000, logIn, true),
    each(4_000, syncMdm, true),
    each(25_000, accessUnauthorized),
    each(200_000, beginIntrusion),
    each(180_000, outages.begin),
    each(2_000, outages.goOn),
    each(150_000, administrate),
    each(1_200_000, reopen),
    each(45_000, changeRegistrations),
    each(KEEP_HOUSE_MS, keepHouse),
  ];
}

function timesOf(store: ConsoleStore, activity: Activity): number {
  if (!activity.growsWithFleet) return 1;
  const devices = store.sql.value<number>("SELECT n FROM tally WHERE name = 'device'") ?? 0;
  return Math.min(TIMES_MAX, Math.max(1, Math.floor(devices / FLEET_OF_ONE)));
}

function keepHouse(life: Life): void {
  setMeta(life.store.sql, 'alive_at_ms', String(Math.floor(life.nowMs)));
  pruneEvents(life.store);
  pruneEffects(life.store);
  pruneNotifications(life.store);
}
