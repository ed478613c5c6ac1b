// decide: serial numbers. A ban hits every device of one, so an empty or placeholder number is refused,
// and one whose devices differ, or are many, waits for a person.
import type { FleetDevice } from '../domain/fleet.ts';

/** What firmware writes when nobody set a serial number. Compared without case and surrounding space. */
export const PLACEHOLDER_SERIALS: readonly string[] = [
  '0',
  '00000000',
  '0123456789',
  '123456789',
  '1234567890',
  'chassis serial number',
  'default',
  'default string',
  'empty',
  'invalid',
  'n/a',
  'na',
  'none',
  'not applicable',
  'not available',
  'not specified',
  'null',
  'o.e.m.',
  'oem',
  'serial',
  'serial number',
  'system serial number',
  'to be filled by o.e.m.',
  'undefined',
  'unknown',
  'xxxxxxxx',
];

export function isPlaceholder(serial: string, placeholders: readonly string[]): boolean {
  const text = serial.trim().toLowerCase();
  return text === '' || /^(.)\1*$/.test(text) || placeholders.includes(text);
}

/** Why the devices of one serial number need a person's look; undefined when they do not. */
export function disagreement(devices: readonly FleetDevice[], devicesMax: number): string | undefined {
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
