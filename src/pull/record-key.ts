// pull: a record is unreadable only when its key is; anything else odd in it becomes an `unknown` fact later. Keys
// (design, section 9): DeviceID and SerialNumber, Email, ServiceID. An empty SerialNumber is readable. A name that rows cannot be found by is not
// (decision 0053), also among a user's serial numbers, which deletions are of.
import { clip, NAME_MAX } from '../domain/clip.ts';
import { type Facts, isFacts, ownText, ownTexts } from '../domain/facts.ts';
import { isOverlong, KEPT_NAME_BYTES_MAX } from '../domain/kept-name.ts';
import type { Source } from '../domain/subjects.ts';

type RecordSource = Exclude<Source, 'events'>;

/** `isOverlong`: a device chooses its serial number, so this says nothing of the list. */
export type ReadRecord = { ok: true; key: string; record: Facts } | { ok: false; reason: string; isOverlong?: true };

export function readRecord(source: RecordSource, value: unknown): ReadRecord {
  if (!isFacts(value)) return { ok: false, reason: `not an object but ${kindOf(value)}` };
  const key = ownText(value, KEY_FIELD[source]);
  if (key === undefined || key === '') return { ok: false, reason: fault(value, KEY_FIELD[source]) };
  if (source === 'devices' && ownText(value, 'SerialNumber') === undefined) {
    return { ok: false, reason: `${fault(value, 'SerialNumber')} (DeviceID ${key})` };
  }
  const reason = overlong(source, value, key);
  return reason === undefined ? { ok: true, key, record: value } : { ok: false, reason, isOverlong: true };
}

function overlong(source: RecordSource, record: Facts, key: string): string | undefined {
  const field = KEY_FIELD[source];
  const isLonger = `is longer than ${KEPT_NAME_BYTES_MAX} bytes`;
  if (isOverlong(key)) return `${field} ${isLonger} (${clip(key, NAME_MAX)})`;
  const ofKey = `(${field} ${key})`;
  if (source === 'devices' && isOverlong(ownText(record, 'SerialNumber') ?? ''))
    return `SerialNumber ${isLonger} ${ofKey}`;
  if (source === 'users' && ownTexts(record, 'SerialNumbers')?.some(isOverlong))
    return `one of its SerialNumbers ${isLonger} ${ofKey}`;
  return undefined;
}

const KEY_FIELD: Record<RecordSource, string> = { devices: 'DeviceID', users: 'Email', services: 'ServiceID' };

function fault(record: Facts, field: string): string {
  if (!Object.hasOwn(record, field)) return `${field} is missing`;
  return record[field] === '' ? `${field} is empty` : `${field} is ${kindOf(record[field])}, not text`;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
