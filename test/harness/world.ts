// harness: the platform's true state: devices, services, events; every version of it with its moment, so that a read can be
// stale and a checker can ask what was true when; and the true list of effects. Nothing here knows the engine.
import type { Facts } from '../../src/domain/facts.ts';
import { Dice } from './dice.ts';
import type { Profile } from './profile.ts';
import { TROUBLE_FIELDS, type TroubleField } from './rules.ts';
import type { SimClock } from './sim-clock.ts';

export type Flag = 'TRUE' | 'FALSE';
/** A trouble fact; undefined: the platform does not tell it. */
export type Trouble = Flag | undefined;

export interface DeviceState {
  readonly id: string;
  readonly serial: string;
  readonly banned: Flag;
  readonly trouble: { readonly [field in TroubleField]: Trouble };
}

export interface ServiceState {
  readonly id: string;
  readonly enabled: Flag;
}

export interface Version {
  /** True time from which on it held. */
  readonly fromMs: number;
  readonly devices: readonly DeviceState[];
  readonly services: readonly ServiceState[];
}

export type Verb = 'ban' | 'unban' | 'disable' | 'enable';

export interface Effect {
  atMs: number;
  verb: Verb;
  target: string;
  /** The engine's request, or undefined for a person's hand. */
  request: number | undefined;
  /** Whether it changed anything. */
  changed: boolean;
}

export interface WorldEvent {
  id: string;
  atMs: number;
  service: string;
}

export class World {
  readonly versions: Version[] = [];
  readonly effects: Effect[] = [];
  readonly events: WorldEvent[] = [];

  constructor(
    private readonly clock: SimClock,
    profile: Profile,
  ) {
    const dice = new Dice(profile.seed, 'world');
    const devices = Array.from({ length: profile.devices }, (_, index): DeviceState => {
      const serial = profile.sharesSerial && index === 1 ? 'S-0' : `S-${index}`;
      return { id: `d${index}`, serial, banned: 'FALSE', trouble: calmTrouble(dice) };
    });
    const services = Array.from(
      { length: profile.services },
      (_, index): ServiceState => ({ id: `svc${index}.main.test`, enabled: 'TRUE' }),
    );
    this.versions.push({ fromMs: clock.trueMs, devices, services });
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
    const { devices, services } = this.now;
    let changed = false;
    if (verb === 'ban' || verb === 'unban') {
      const banned = verb === 'ban' ? 'TRUE' : 'FALSE';
      changed = devices.some((device) => device.serial === target && device.banned !== banned);
      const next = devices.map((device) => (device.serial === target ? ({ ...device, banned } as const) : device));
      if (changed) this.turn({ devices: next, services });
    } else {
      const enabled = verb === 'enable' ? 'TRUE' : 'FALSE';
      changed = services.some((service) => service.id === target && service.enabled !== enabled);
      const next = services.map((service) => (service.id === target ? ({ ...service, enabled } as const) : service));
      if (changed) this.turn({ devices, services: next });
    }
    this.effects.push({ atMs: this.clock.trueMs, verb, target, request, changed });
  }

  setTrouble(id: string, field: TroubleField, value: Trouble): void {
    const { devices, services } = this.now;
    const next = devices.map((device) =>
      device.id === id ? { ...device, trouble: { ...device.trouble, [field]: value } } : device,
    );
    this.turn({ devices: next, services });
  }

  fail(service: string): void {
    this.events.push({ id: `e${this.events.length}`, atMs: this.clock.trueMs, service });
  }

  private turn(next: Omit<Version, 'fromMs'>): void {
    this.versions.push({ fromMs: this.clock.trueMs, ...next });
  }

  private indexAt(atMs: number): number {
    let index = this.versions.length - 1;
    while (index > 0 && (this.versions[index] as Version).fromMs > atMs) index -= 1;
    return index;
  }
}

function calmTrouble(dice: Dice): DeviceState['trouble'] {
  const flags = TROUBLE_FIELDS.map((field) => [field, dice.chance(0.1) ? 'TRUE' : 'FALSE']);
  return Object.fromEntries(flags) as DeviceState['trouble'];
}

/** The record as the API gives it. */
export function deviceRecord({ id, serial, banned, trouble }: DeviceState): Facts {
  const told = Object.entries(trouble).filter(([, value]) => value !== undefined) as [string, Flag][];
  return {
    DeviceID: id,
    SerialNumber: serial,
    DeviceFriendlyName: id,
    Model: 'M1',
    Platform: 'macOS',
    Ownership: 'Corporate Dedicated',
    Architecture: 'arm64',
    Banned: banned,
    MdmData: Object.fromEntries(told),
  };
}

export function serviceRecord({ id, enabled }: ServiceState): Facts {
  return { ServiceID: id, ServiceName: id, Enabled: enabled };
}

export function eventRecord({ id, atMs, service }: WorldEvent): Facts {
  return {
    id,
    created_at: atMs,
    severity: 'ERROR',
    type: 'Access',
    sub_type: 'Connection',
    action: 'Unauthorized',
    result: '',
    service: { id: service, name: service },
  };
}
