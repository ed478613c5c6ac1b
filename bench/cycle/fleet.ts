// bench: a generated fleet: the same records for the same number, each device of 1.45 kB as platforms send them. In: a number.
// Out: JSON text. Nothing is stored: a million devices are made as fast as they are asked for, and kept as bytes by the server.
const PLATFORMS = ['Windows', 'macOS', 'iOS', 'Android', 'Linux'];
const MODELS = [
  'MacBook Pro 16\\"',
  'MacBook Air',
  'Surface Laptop 6',
  'iPhone 15',
  'Pixel 9',
  'ThinkPad X1',
  'Mac mini',
];
const OWNERSHIPS = ['Corporate Dedicated', 'Corporate Shared', 'Employee Owned', ''];
const LEVELS = ['High', 'High', 'High', 'Medium', 'Medium', 'Low', 'AlwaysAllow'];
const SOURCES = ['WS1', 'JAMF', 'Intune', 'Kandji'];
const FACTORS = ['Screen Lock', 'Disk Encryption', 'Firewall', 'OS Version', 'Antivirus'];
const DEVICE_BYTES = 1_450;
/** The clock of every record: records do not change between runs. */
const BASE_NS = '17953';

/** A number from 0 to 2^32 − 1 that looks random (splitmix32). */
function mixed(index: number, salt: number): number {
  let z = Math.imul(index + 1, 0x9e3779b9) ^ Math.imul(salt + 1, 0x85ebca6b);
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
  return (z ^ (z >>> 15)) >>> 0;
}

const hex = (value: number): string => value.toString(16).padStart(8, '0');
const pick = (list: readonly string[], index: number, salt: number): string =>
  list[mixed(index, salt) % list.length] as string;
const timeNs = (index: number, salt: number): string => `${BASE_NS}${String(mixed(index, salt)).padStart(10, '0')}0123`;

export function idOf(index: number): string {
  const [a, b, c, d] = [1, 2, 3, 4].map((salt) => hex(mixed(index, salt))) as [string, string, string, string];
  return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-a${c.slice(1, 4)}-${c.slice(4)}${d}`;
}

export const serialOf = (index: number): string => `C${index.toString(36).toUpperCase().padStart(9, '0')}`;
export const emailOf = (index: number): string => `user-${String(index).padStart(7, '0')}@acme.example`;

/** Sorted by serial number. With `users` in the form of the unpaged list, which names owners. */
export function deviceText(index: number, users: number | undefined): string {
  const platform = pick(PLATFORMS, index, 5);
  const score = 40 + (mixed(index, 6) % 60);
  const compromised = mixed(index, 7) % 500 === 0;
  const head =
    `{"DeviceID":"${idOf(index)}","SerialNumber":"${serialOf(index)}","DeviceFriendlyName":"${platform} of person ${index % 9973}"` +
    `,"Ownership":"${pick(OWNERSHIPS, index, 8)}","Platform":"${platform}","Model":"${pick(MODELS, index, 9)}","Architecture":"arm64"` +
    `,"RegisteredStatus":"${mixed(index, 10) % 8 === 0 ? 'FALSE' : 'TRUE'}","MdmData":{"Timestamp":${timeNs(index, 11)},"Source":"${pick(SOURCES, index, 12)}"` +
    `,"CompromisedStatus":"${compromised ? 'TRUE' : 'FALSE'}","CompliantStatus":"TRUE"},"TrustData":{"EntityTrustscore":${score}` +
    `,"OverrideTrustscore":0,"AccessTrustscore":${score},"OverrideActive":"FALSE","Level":"${pick(LEVELS, index, 13)}","UpdatedAt":${timeNs(index, 14)},"Factors":[`;
  const tail =
    `]},"Roles":["mdm-managed"],"Banned":"FALSE","OS":"${platform} ${10 + (mixed(index, 15) % 90)}.${mixed(index, 16) % 7}","AppVersion":"3.${mixed(index, 17) % 30}.${mixed(index, 18) % 5}"` +
    `,"LastLogin":${timeNs(index, 19)},"LoginCount":${mixed(index, 20) % 3000},"CreatedAt":${timeNs(index, 21)}`;
  const emails = users === undefined ? '' : `,"Emails":["${emailOf(mixed(index, 22) % users)}"]`;
  return `${head}${factors(index, DEVICE_BYTES - head.length - tail.length - 2)}${tail}${emails}}`;
}

/** The same device after so many turns: in each of them 3 % of all devices change in three facts, as agents report them. */
export function deviceTextAt(index: number, users: number | undefined, turn: number): string {
  const text = deviceText(index, users);
  let last = turn;
  while (last > 0 && mixed(index, 60 + last) % 100 >= 3) last -= 1;
  if (last === 0) return text;
  return text
    .replace(/"LastLogin":\d+/, `"LastLogin":${timeNs(index, 1_000 + last)}`)
    .replace(/"LoginCount":\d+/, `"LoginCount":${3_000 + last}`)
    .replace(/"AccessTrustscore":\d+/, `"AccessTrustscore":${40 + (mixed(index, 2_000 + last) % 60)}`);
}

/** As many whole factors as fit; the last description fills what is left. */
function factors(index: number, length: number): string {
  const all: string[] = [];
  let left = length;
  for (let at = 0; left > 0; at += 1) {
    const begin = `{"Name":"${pick(FACTORS, index, 30 + at)}","Value":"Not set","Type":"internal","Source":"internal","Description":"`;
    const end = '","RemediationDescription":"change the setting of the device","RemediationURL":""}';
    const room = Math.min(60, Math.max(0, left - begin.length - end.length - 1));
    const isLast = left < 2 * (begin.length + end.length);
    const words = 'it is not as it should be on a device of this kind and has to be changed soon '.repeat(4);
    all.push(begin + words.slice(0, isLast ? Math.max(0, left - begin.length - end.length - 1) : room) + end);
    left -= (all.at(-1) as string).length + 1;
    if (isLast) break;
  }
  return all.join(',');
}

/** Sorted by e-mail. */
export function userText(index: number): string {
  const score = 40 + (mixed(index, 41) % 60);
  return (
    `{"Name":"Person ${index}","Email":"${emailOf(index)}","Groups":"Everyone,Team ${index % 40}","TrustData":{"EntityTrustscore":${score}` +
    `,"OverrideTrustscore":0,"AccessTrustscore":${score},"OverrideActive":"FALSE","Level":"${pick(LEVELS, index, 42)}","UpdatedAt":${timeNs(index, 43)},"Factors":[]}` +
    `,"Roles":["employee"],"LastLogin":${timeNs(index, 44)},"LoginCount":${index % 3000},"CreatedAt":${timeNs(index, 45)}}`
  );
}

/** Newest last, one every `stepMs` up to `lastMs`. */
export function eventText(index: number, createdAtMs: number, devices: number): string {
  const device = mixed(index, 51) % devices;
  const unauthorized = mixed(index, 52) % 3 === 0;
  return (
    `{"message":"Access was ${unauthorized ? 'refused' : 'granted'}","id":"event-${index}","severity":"INFO"` +
    `,"action":"${unauthorized ? 'Unauthorized' : 'Authorized'}","type":"Access","sub_type":"Connection","result":"","created_at":${createdAtMs}` +
    `,"user_principal":{"device":{"id":"${idOf(device)}","serial_number":"${serialOf(device)}","platform":"macOS"}}}`
  );
}
