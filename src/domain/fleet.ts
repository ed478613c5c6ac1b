// domain: what is kept of every device of a snapshot: enough to tell which devices share a serial number.
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
  /** All devices of the snapshot with this serial number, in the order in which they were read. */
  devicesOf(serialNumber: string): FleetDevice[];
  /** By lower-case e-mail address, the serial numbers of these owners; undefined: the list does not tell all of them. */
  serialsOf(owners: ReadonlySet<string>): Map<string, Set<string>> | undefined;
}

/** Read straight from the record: this is done for every device of a fleet. */
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
