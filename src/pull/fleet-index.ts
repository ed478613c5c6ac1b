// pull: keeps a little of every device, to tell which share a serial number. Names of platforms, models and owners repeat
// a thousand times over a fleet: each text is kept once.

import { type Facts, ownText } from '../domain/facts.ts';
import { type Fleet, type FleetDevice, fleetDeviceOf } from '../domain/fleet.ts';
import type { StateRead } from '../domain/target.ts';

export class FleetIndex implements Fleet {
  private readonly bySerial = new Map<string, FleetDevice | FleetDevice[]>();
  private readonly texts = new Map<string, string>();
  private readonly states = new Map<string, StateRead>();
  /** Set when the list was read whole, in the form that names owners, and is trusted. */
  tellsOwners = false;

  /** `fieldsWritten`: what is kept of each device to tell whether an action is done. */
  constructor(private readonly fieldsWritten: readonly string[] = []) {}

  add(record: Facts): void {
    const device = fleetDeviceOf(record, this.fieldsWritten);
    const serial = ownText(record, 'SerialNumber') ?? '';
    device.platform = this.once(device.platform);
    device.model = this.once(device.model);
    device.state = this.stateOnce(device.state);
    const known = this.bySerial.get(serial);
    if (known === undefined) this.bySerial.set(serial, device);
    else if (Array.isArray(known)) known.push(device);
    else this.bySerial.set(serial, [known, device]);
  }

  devicesOf(serialNumber: string): FleetDevice[] {
    const known = this.bySerial.get(serialNumber);
    if (known === undefined) return [];
    return Array.isArray(known) ? known : [known];
  }

  serialsOf(owners: ReadonlySet<string>): Map<string, Set<string>> | undefined {
    if (!this.tellsOwners) return undefined;
    const found = new Map<string, Set<string>>();
    for (const [serial, known] of this.bySerial) {
      for (const device of Array.isArray(known) ? known : [known]) {
        for (const owner of device.owners ?? []) {
          const email = owner.toLowerCase();
          if (owners.has(email)) found.set(email, (found.get(email) ?? new Set()).add(serial));
        }
      }
    }
    return found;
  }

  private stateOnce(state: StateRead): StateRead {
    const key = JSON.stringify(Object.values(state));
    const known = this.states.get(key);
    if (known !== undefined) return known;
    this.states.set(key, state);
    return state;
  }

  private once(text: string): string {
    const known = this.texts.get(text);
    if (known !== undefined) return known;
    this.texts.set(text, text);
    return text;
  }
}
