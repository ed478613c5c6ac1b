// bench: a platform in memory that finds a device by its serial number at once: what is measured is the engine.
import type { Facts } from '../src/domain/facts.ts';
import type { WriteAnswer } from '../src/domain/ports.ts';
import { Platform } from '../test/support/platform.ts';

/** Serial numbers are DeviceIDs behind two characters. */
export class FoundAtOnce extends Platform {
  override async devicesOfSerial(serial: string): Promise<Facts[]> {
    const device = this.devices.get(serial.slice(2));
    return device ? [device] : [];
  }

  override async updateDevices(serial: string, devices: Facts[]): Promise<WriteAnswer> {
    this.patch(serial.slice(2), { Banned: devices[0]?.Banned ?? null });
    return { kind: 'done', status: 200, text: 'Success' };
  }
}
