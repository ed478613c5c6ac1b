// domain: what is kept of every device of a snapshot: enough to find devices that share a serial number.
import { type Facts, ownText, ownTexts } from './facts.ts';
import { type StateRead, stateRead } from './target.ts';

export interface FleetDevice {
  id: string;
  name: string;
  platform: string;
  model: string;
  state: StateRead;
  owners: string[] | undefined;
}

/** Built while devices are pulled; read by decide/. */
export interface Fleet {
  /** Its list does not name owners. A run reads one that does where that matters; a replay has what was recorded. */
  readonly hidesOwners?: boolean;
  /** All devices of the snapshot with this serial number, in the order of reading. */
  devicesOf(serialNumber: string): FleetDevice[];
  /**
   * By lower-case e-mail address, the serial numbers of these owners; undefined: the list does not show all of them.
   */
  serialsOf(owners: ReadonlySet<string>): Map<string, Set<string>> | undefined;
}

/** Read straight from the record: this runs for every device of a fleet. */
export function fleetDeviceOf(record: Facts, fieldsWritten: readonly string[] = []): FleetDevice {
  return {
    id: ownText(record, 'DeviceID') ?? '',
    name: ownText(record, 'DeviceFriendlyName') ?? '',
    platform: ownText(record, 'Platform') ?? '',
    model: ownText(record, 'Model') ?? '',
    state: stateRead(record, fieldsWritten),
    owners: ownTexts(record, 'Emails'),
  };
}
