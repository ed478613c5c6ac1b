// decide: serial numbers that name no device. A ban hits every device of one, so an empty or placeholder number is refused.
// In: a serial number. Out: whether it is one of these. Pure.

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
