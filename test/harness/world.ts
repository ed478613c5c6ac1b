// harness: the platform's true state: devices, services, users, events; every version of it with its moment, so that a read can be
// stale and a checker can ask what was true when; and the true list of effects. Nothing here knows the engine.
import { Dice } from './dice.ts';
import { EventLog, type Named, type WorldEvent } from './event-log.ts';
import type { Profile } from './profile.ts';
import { BAN_FIELDS, type ServiceField, type TroubleField } from './rules.ts';
import type { SimClock } from './sim-clock.ts';

export type Flag = 'TRUE' | 'FALSE';
/** The field of a rule; undefined: the platform does not show it. */
export type Trouble = Flag | undefined;

export interface DeviceState {
  readonly id: string;
  readonly serial: string;
  /** Whose it is. */
  readonly owner: string;
  readonly banned: Flag;
  readonly trouble: { readonly [field in TroubleField]: Trouble };
  /** When MDM made its last report; undefined: before all. */
  readonly reportedMs?: number;
}

export interface ServiceState {
  readonly id: string;
  readonly enabled: Flag;
  /** Whether it is in the one bundle. */
  readonly bundled: Flag;
  /** Whether its spec demands TLS. */
  readonly tls: Flag;
  readonly trouble: { readonly [field in ServiceField]: Trouble };
}

export interface UserState {
  readonly email: string;
  readonly serials: readonly string[];
  readonly leaver: Trouble;
}

export const BUNDLE = 'b1';

export interface Version {
  /** True time from which on it held. */
  readonly fromMs: number;
  readonly devices: readonly DeviceState[];
  readonly services: readonly ServiceState[];
  readonly users: readonly UserState[];
}

/**
 * `unmap`: a user's mapping to a device is deleted. `remove`: a service is deleted. `enroll`: a person brings back what was
 * deleted. `tighten`, `loosen`: a service's spec demands TLS, or does not any more.
 */
export type Verb =
  | 'ban'
  | 'unban'
  | 'disable'
  | 'enable'
  | 'delete'
  | 'unmap'
  | 'bundle'
  | 'unbundle'
  | 'tighten'
  | 'loosen'
  | 'remove'
  | 'enroll';

export interface Effect {
  atMs: number;
  verb: Verb;
  target: string;
  /** The engine's request, or undefined for a person's change. */
  request: number | undefined;
  /** Whether it changed anything. */
  changed: boolean;
}

export class World {
  readonly versions: Version[] = [];
  readonly effects: Effect[] = [];
  readonly log: EventLog;
  /** Called with each effect of the engine that changed something. */
  onChanged: (verb: Verb, target: string) => void = () => {};
  /** The initial state, which people restore, with the owners that devices have by now. */
  born: Version;

  constructor(
    private readonly clock: SimClock,
    profile: Profile,
  ) {
    const dice = new Dice(profile.seed, 'world');
    this.log = new EventLog(clock, profile.looks, new Dice(profile.seed, 'events'));
    const devices = Array.from({ length: profile.devices }, (_, index): DeviceState => {
      const serial = profile.sharesSerial && index === 1 ? 'S-0' : `S-${index}`;
      const owner = `u${index % USERS}@main.test`;
      return { id: `d${index}`, serial, owner, banned: 'FALSE', trouble: calmTrouble(dice) };
    });
    const services = Array.from(
      { length: profile.services },
      (_, index): ServiceState => ({
        id: `svc${index}.main.test`,
        enabled: 'TRUE',
        bundled: 'FALSE',
        tls: 'FALSE',
        trouble: { Exposed: 'FALSE', Retired: 'FALSE' },
      }),
    );
    const emails = [...new Set(devices.map(({ owner }) => owner))];
    const users = emails.map((email): UserState => ({ email, serials: serialsOf(devices, email), leaver: 'FALSE' }));
    this.born = { fromMs: clock.trueMs, devices, services, users };
    this.versions.push(this.born);
  }

  get events(): readonly WorldEvent[] {
    return this.log.all;
  }

  get now(): Version {
    return this.versions.at(-1) as Version;
  }

  /** What was true `agoMs` ago. */
  before(agoMs: number): Version {
    return this.versions[this.indexAt(this.clock.trueMs - agoMs)] as Version;
  }

  /** All versions that were true at some moment of a stretch of true time. */
  during(fromMs: number, toMs: number): Version[] {
    const found: Version[] = [];
    for (let index = this.indexAt(fromMs); index < this.versions.length; index += 1) {
      const version = this.versions[index] as Version;
      if (version.fromMs > toMs) break;
      found.push(version);
    }
    return found;
  }

  /** Sets the state of a target, by the engine's request or by a person. */
  take(verb: Verb, target: string, request: number | undefined): void {
    const next = afterwards(this.now, verb, target);
    if (next) this.turn(next);
    if (next) this.log.tell(namedBy(this.born, target));
    this.effects.push({ atMs: this.clock.trueMs, verb, target, request, changed: next !== undefined });
    if (next && request !== undefined) this.onChanged(verb, target);
  }

  setTrouble(id: string, field: TroubleField, value: Trouble): void {
    const next = this.now.devices.map((device) =>
      device.id === id
        ? { ...device, trouble: { ...device.trouble, [field]: value }, reportedMs: this.clock.trueMs }
        : device,
    );
    this.turn({ ...this.now, devices: next });
    this.log.tell({ device: { id, serial: serialOf(this.born, id) } });
  }

  setServiceTrouble(id: string, field: ServiceField, value: Trouble): void {
    const next = this.now.services.map((service) =>
      service.id === id ? { ...service, trouble: { ...service.trouble, [field]: value } } : service,
    );
    this.turn({ ...this.now, services: next });
    this.log.tell({ service: id });
  }

  setLeaver(email: string, leaver: Trouble): void {
    this.turn({
      ...this.now,
      users: this.now.users.map((user) => (user.email === email ? { ...user, leaver } : user)),
    });
    this.log.tell({ email });
  }

  /** The device has another owner from now on. */
  give(id: string, owner: string): void {
    const given = (version: Version): Version => {
      const devices = version.devices.map((device) => (device.id === id ? { ...device, owner } : device));
      const { serial = '', owner: before } = version.devices.find((device) => device.id === id) ?? {};
      const keeps = devices.some((device) => device.serial === serial && device.owner === before);
      const users = version.users.map(({ email, serials, ...user }) => {
        const others = email === before && !keeps ? serials.filter((one) => one !== serial) : serials;
        const isNew = email === owner && before !== undefined && !others.includes(serial);
        return { ...user, email, serials: isNew ? [...others, serial] : others };
      });
      return { ...version, devices, users };
    };
    this.born = given(this.born);
    this.turn(given(this.now));
    this.log.tell({ device: { id, serial: serialOf(this.born, id) }, email: owner });
  }

  /** People restore every device, mapping and service that was deleted, without any match. */
  enroll(): void {
    const { devices, users, services } = this.now;
    const removed = this.born.services.filter(({ id }) => !services.some((service) => service.id === id));
    const gone = this.born.devices.filter(({ id }) => !devices.some((device) => device.id === id));
    const serialsNow = new Map(users.map(({ email, serials }) => [email, serials]));
    const unmapped = this.born.users.flatMap(({ email, serials }) =>
      serials.filter((serial) => !serialsNow.get(email)?.includes(serial)).map((serial) => `${serial} ${email}`),
    );
    if (gone.length === 0 && unmapped.length === 0 && removed.length === 0) return;
    const back = gone.map((device) => ({ ...device, banned: 'FALSE' as const, trouble: NO_TROUBLE }));
    const calm = new Set(unmapped.map((mapping) => mapping.slice(mapping.lastIndexOf(' ') + 1)));
    this.turn({
      ...this.now,
      devices: [...devices, ...back].sort((a, b) => (a.id < b.id ? -1 : 1)),
      services: [...services, ...removed].sort((a, b) => (a.id < b.id ? -1 : 1)),
      users: this.born.users.map((user) => ({
        ...user,
        leaver: calm.has(user.email) ? 'FALSE' : leaverOf(users, user),
      })),
    });
    const again = [...new Set(gone.map(({ serial }) => serial)), ...unmapped, ...removed.map(({ id }) => id)];
    for (const target of again)
      this.effects.push({ atMs: this.clock.trueMs, verb: 'enroll', target, request: undefined, changed: true });
  }

  private turn(next: Omit<Version, 'fromMs'>): void {
    this.versions.push({ ...next, fromMs: this.clock.trueMs });
  }

  private indexAt(atMs: number): number {
    let index = this.versions.length - 1;
    while (index > 0 && (this.versions[index] as Version).fromMs > atMs) index -= 1;
    return index;
  }
}

const USERS = 3;
const NO_TROUBLE: DeviceState['trouble'] = {
  CompromisedStatus: 'FALSE',
  Second: 'FALSE',
  Third: 'FALSE',
  Fourth: 'FALSE',
  Lost: 'FALSE',
};

function calmTrouble(dice: Dice): DeviceState['trouble'] {
  const flags = BAN_FIELDS.map((field) => [field, dice.chance(0.1) ? 'TRUE' : 'FALSE']);
  return { ...NO_TROUBLE, ...Object.fromEntries(flags) };
}

function serialsOf(devices: readonly DeviceState[], email: string): string[] {
  return [...new Set(devices.filter(({ owner }) => owner === email).map(({ serial }) => serial))];
}

function serialOf({ devices }: Version, id: string): string {
  return devices.find((device) => device.id === id)?.serial ?? '';
}

/** As the platform writes it: a target is a serial number, perhaps with its user, or a service, perhaps with its bundle. */
function namedBy({ services }: Version, target: string): Named {
  const [first = ''] = target.split(' ');
  return services.some(({ id }) => id === first) ? { service: first } : { device: { serial: first } };
}

function leaverOf(users: readonly UserState[], { email }: UserState): Trouble {
  return users.find((user) => user.email === email)?.leaver;
}

/** The state after it; undefined when it changes nothing. */
function afterwards(now: Version, verb: Verb, target: string): Omit<Version, 'fromMs'> | undefined {
  const { devices, services, users } = now;
  const flag: Flag = verb === 'ban' || verb === 'enable' || verb === 'bundle' ? 'TRUE' : 'FALSE';
  switch (verb) {
    case 'ban':
    case 'unban': {
      const changed = devices.some(({ serial, banned }) => serial === target && banned !== flag);
      const next = devices.map((device) => (device.serial === target ? { ...device, banned: flag } : device));
      return changed ? { ...now, devices: next } : undefined;
    }
    case 'enable':
    case 'disable': {
      const changed = services.some(({ id, enabled }) => id === target && enabled !== flag);
      const next = services.map((service) => (service.id === target ? { ...service, enabled: flag } : service));
      return changed ? { ...now, services: next } : undefined;
    }
    case 'bundle':
    case 'unbundle': {
      const isIt = ({ id }: ServiceState) => `${id} ${BUNDLE}` === target;
      const changed = services.some((service) => isIt(service) && service.bundled !== flag);
      const next = services.map((service) => (isIt(service) ? { ...service, bundled: flag } : service));
      return changed ? { ...now, services: next } : undefined;
    }
    case 'delete': {
      const kept = devices.filter(({ serial }) => serial !== target);
      const next = users.map((user) => ({ ...user, serials: user.serials.filter((serial) => serial !== target) }));
      return kept.length < devices.length ? { ...now, devices: kept, users: next } : undefined;
    }
    case 'unmap': {
      const isIt = (email: string, serial: string) => `${serial} ${email}` === target;
      const changed = users.some(({ email, serials }) => serials.some((serial) => isIt(email, serial)));
      const next = users.map((user) => ({
        ...user,
        serials: user.serials.filter((serial) => !isIt(user.email, serial)),
      }));
      return changed ? { ...now, users: next } : undefined;
    }
    case 'tighten':
    case 'loosen': {
      const tls: Flag = verb === 'tighten' ? 'TRUE' : 'FALSE';
      const changed = services.some((service) => service.id === target && service.tls !== tls);
      const next = services.map((service) => (service.id === target ? { ...service, tls } : service));
      return changed ? { ...now, services: next } : undefined;
    }
    case 'remove': {
      const kept = services.filter(({ id }) => id !== target);
      return kept.length < services.length ? { ...now, services: kept } : undefined;
    }
    case 'enroll':
      return undefined;
  }
}
