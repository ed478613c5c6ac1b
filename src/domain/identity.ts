// domain: by which names people know a subject: its id, serial number, name and owners, as a trusted reading has shown them. In: a
// record. Out: its identity, and a line for people. It only finds names: nothing that acts rests on it.
import { shownName } from './clip.ts';
import { type Facts, ownText, ownTexts } from './facts.ts';
import type { PrintKey } from './print-bits.ts';
import type { SubjectKind, SubjectRef } from './subjects.ts';
import { timeText } from './time-text.ts';

/** What one reading shows of a subject. Texts are empty where the record has none, or a value of another type. */
export interface IdentitySeen extends SubjectRef {
  /** Of a device. */
  serial: string;
  name: string;
  platform: string;
  model: string;
  /** E-mail addresses; undefined: this reading does not show them. */
  owners: readonly string[] | undefined;
}

export interface Identity extends IdentitySeen {
  firstAt: number;
  /** Of any of the above, or its coming or going. */
  changedAt: number;
  /** Since when trusted lists no longer have it; undefined: the last one had it. */
  goneAt: number | undefined;
}

/** How a text names an identity. `owner`: a device, by one of its owners. */
export type NamedBy = 'id' | 'serial' | 'name' | 'owner';

export interface NamedIdentity {
  identity: Identity;
  by: NamedBy;
}

/** All that is known and selected by one field. */
export interface SelectedIdentities {
  /** Of those that the last trusted list had. */
  count: number;
  /** Some of them. */
  examples: Identity[];
}

/** The store as names are resolved. */
export interface IdentityReader {
  /** Every identity that the text names, in any case, up to a number of each way: see `NAMED_MAX`. Those of trusted lists first. */
  identitiesNamed(text: string): Promise<NamedIdentity[]>;
  /** What the value of a field selects now; undefined: the field is not kept (`Groups`), or no list of this kind was read yet. */
  identitiesSelected(field: string, value: string): Promise<SelectedIdentities | undefined>;
}

/** Names are chosen by people and may be shared by any number: no more than these are read of each way. */
export const NAMED_MAX = 50;

/** What a trusted reading of one kind changes. */
export interface IdentityChanges {
  kind: SubjectKind;
  /** New ones, and those of which something differs. */
  changed: Iterable<IdentitySeen>;
  /** Whether the reading had a record of one of the two fingerprints that are here, made with this key. Undefined: none is gone. */
  had: { key: PrintKey; has(prints: PresentPrints, at: number): boolean } | undefined;
}

/**
 * Fingerprints of four numbers each. Of all identities of a kind that the last trusted list had: two of each, without and with owners
 * (identity-print.ts). A million of them are usual.
 */
export type PresentPrints = Int32Array;

/** The fields of a record that are kept, in the order of `id`, `serial`, `name`, `platform`, `model`. */
export const FIELDS: Record<SubjectKind, readonly (string | undefined)[]> = {
  device: ['DeviceID', 'SerialNumber', 'DeviceFriendlyName', 'Platform', 'Model'],
  user: ['Email', undefined, 'Name', undefined, undefined],
  service: ['ServiceID', undefined, 'ServiceName', undefined, undefined],
};

export function identityOf(kind: SubjectKind, record: Facts): IdentitySeen {
  const texts = FIELDS[kind].map((field) => fieldText(record, field));
  const [id, serial, name, platform, model] = texts as [string, string, string, string, string];
  return {
    kind,
    id,
    serial,
    name,
    platform,
    model,
    owners: kind === 'device' ? ownTexts(record, 'Emails') : undefined,
  };
}

export function fieldText(record: Facts, field: string | undefined): string {
  return field === undefined ? '' : (ownText(record, field) ?? '');
}

/** As names are compared: servers and people differ in case. */
export function nameKey(text: string): string {
  return text.trim().toLowerCase();
}

const OWNERS_SHOWN = 2;

/** `Ada's MacBook, C02XXXX, ada@example.com (device 4f1c…)`. Names in it are as they came: escape it where it is shown. */
export function identityText({ kind, id, name, serial, owners, goneAt }: Identity): string {
  const [first, ...others] = [name, serial, ...(owners ?? []).slice(0, OWNERS_SHOWN)].map(onOneLine).filter(isSaid);
  const more = (owners?.length ?? 0) > OWNERS_SHOWN ? [`${(owners?.length ?? 0) - OWNERS_SHOWN} more owners`] : [];
  const gone = goneAt === undefined ? '' : `, gone since ${timeText(goneAt)}`;
  const own = `${kind} ${shownName(onOneLine(id))}${gone}`;
  return first === undefined ? own : `${[first, ...others].map(shownName).concat(more).join(', ')} (${own})`;
}

function isSaid(text: string): boolean {
  return text !== '';
}

export function onOneLine(text: string): string {
  return text.replace(/[\r\n\u2028\u2029]+/g, ' ');
}
