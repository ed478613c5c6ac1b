// pull: a record is unreadable only when its key is; anything else odd in it becomes an `unknown` fact later. Keys
// (design, section 9): DeviceID and SerialNumber, Email, ServiceID. An empty SerialNumber is readable.
import { type Facts, isFacts, ownText } from '../domain/facts.ts';
import type { Source } from '../domain/subjects.ts';

type RecordSource = Exclude<Source, 'events'>;

export type ReadRecord = { ok: true; key: string; record: Facts } | { ok: false; reason: string };

export function readRecord(source: RecordSource, value: unknown): ReadRecord {
  if (!isFacts(value)) return { ok: false, reason: `not an object but ${kindOf(value)}` };
  const key = ownText(value, KEY_FIELD[source]);
  if (key === undefined || key === '') return { ok: false, reason: fault(value, KEY_FIELD[source]) };
  if (source === 'devices' && ownText(value, 'SerialNumber') === undefined) {
    return { ok: false, reason: `${fault(value, 'SerialNumber')} (DeviceID ${key})` };
  }
  return { ok: true, key, record: value };
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
