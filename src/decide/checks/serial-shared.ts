// check: a serial number whose devices differ, or are many, waits for a person. In: its devices. An undo gives back what was taken.
import { type Check, hold } from '../../domain/check.ts';
import type { FleetDevice } from '../../domain/fleet.ts';

export const serialShared: Check = {
  when: 'several devices share the serial number, and differ in platform or model or are more than allowed',
  ask({ undo, serial }) {
    const text = undo || !serial ? undefined : disagreement(serial.devices, serial.devicesMax);
    return text === undefined ? undefined : hold('serial_shared', text);
  },
};

function disagreement(devices: readonly FleetDevice[], devicesMax: number): string | undefined {
  if (devices.length > devicesMax)
    return `${devices.length} devices share this serial number (more than ${devicesMax})`;
  for (const field of ['platform', 'model'] as const) {
    const values = [...new Set(devices.map((device) => device[field]))];
    if (values.length > 1) return `devices of this serial number differ in ${field}: ${values.map(quoted).join(', ')}`;
  }
  return undefined;
}

function quoted(value: string): string {
  return value === '' ? '(empty)' : `\`${value}\``;
}
