// domain: by which names people know a subject: its id, serial number, name and owners, as a trusted reading has shown them. In: a
// record. Out: its identity, a fingerprint of it, and a line for people. It only finds names: nothing that acts rests on it.
import { shownName } from './clip.ts';
import { type Facts, ownText, ownTexts } from './facts.ts';
import type { SubjectKind, SubjectRef } from './subjects.ts';
import { isoTime } from './time-text.ts';

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
  /** What the value of a field selects now; undefined: the field is not kept (`Groups`). */
  identitiesSelected(field: string, value: string): Promise<SelectedIdentities | undefined>;
}

/** Names are chosen by people and may be shared by any number: no more than these are read of each way. */
export const NAMED_MAX = 50;

/** What a trusted reading of one kind changes. */
export interface IdentityChanges {
  kind: SubjectKind;
  /** New ones, and those of which something differs. */
  changed: Iterable<IdentitySeen>;
  /** Whether the reading had a record of one of these fingerprints. Undefined: none is gone. */
  had: ((prints: IdentityPrints) => boolean) | undefined;
}

export interface IdentityPrints {
  print: number;
  /** Undefined when no reading has shown the owners. */
  ownersPrint: number | undefined;
}

export function identityOf(kind: SubjectKind, record: Facts): IdentitySeen {
  const text = (field: string) => ownText(record, field) ?? '';
  switch (kind) {
    case 'device':
      return {
        kind,
        id: text('DeviceID'),
        serial: text('SerialNumber'),
        name: text('DeviceFriendlyName'),
        platform: text('Platform'),
        model: text('Model'),
        owners: ownTexts(record, 'Emails'),
      };
    case 'user':
      return { ...UNSAID, kind, id: text('Email'), name: text('Name') };
    case 'service':
      return { ...UNSAID, kind, id: text('ServiceID'), name: text('ServiceName') };
  }
}

const UNSAID = { serial: '', platform: '', model: '', owners: undefined };

/** As names are compared: servers and people differ in case. */
export function nameKey(text: string): string {
  return text.trim().toLowerCase();
}

/** A fingerprint of 53 bits of what is kept, without the owners. */
export function printOf({ id, serial, name, platform, model }: Omit<IdentitySeen, 'kind' | 'owners'>): number {
  return fingerprint([id, serial, name, platform, model]);
}

/** The same with the owners. */
export function ownersPrintOf(seen: IdentitySeen & { owners: readonly string[] }): number {
  const { id, serial, name, platform, model, owners } = seen;
  return fingerprint([id, serial, name, platform, model, 'owners', ...owners]);
}

/** cyrb53, over the texts and the ends of each. Two of a million differ with overwhelming probability. */
function fingerprint(texts: readonly string[]): number {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (const text of texts) {
    for (let at = 0; at < text.length; at += 1) {
      const unit = text.charCodeAt(at);
      a = Math.imul(a ^ unit, 2_654_435_761);
      b = Math.imul(b ^ unit, 1_597_334_677);
    }
    a = Math.imul(a ^ 0x10000, 2_654_435_761);
    b = Math.imul(b ^ 0x10000, 1_597_334_677);
  }
  a = Math.imul(a ^ (a >>> 16), 2_246_822_507) ^ Math.imul(b ^ (b >>> 13), 3_266_489_909);
  b = Math.imul(b ^ (b >>> 16), 2_246_822_507) ^ Math.imul(a ^ (a >>> 13), 3_266_489_909);
  return 4_294_967_296 * (b & 0x1fffff) + (a >>> 0);
}

const OWNERS_SHOWN = 2;

/** `Ada's MacBook, C02XXXX, ada@example.com (device 4f1c…)`. Names in it are as they came: escape it where it is shown. */
export function identityText({ kind, id, name, serial, owners, goneAt }: Identity): string {
  const [first, ...others] = [name, serial, ...(owners ?? []).slice(0, OWNERS_SHOWN)].filter((text) => text !== '');
  const more = (owners?.length ?? 0) > OWNERS_SHOWN ? [`${(owners?.length ?? 0) - OWNERS_SHOWN} more owners`] : [];
  const gone = goneAt === undefined ? '' : `, gone since ${isoTime(goneAt)}`;
  const own = `${kind} ${shownName(id)}${gone}`;
  return first === undefined ? own : `${[first, ...others].map(shownName).concat(more).join(', ')} (${own})`;
}
