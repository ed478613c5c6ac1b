// domain: fingerprints of identities: one number for all that is kept of a record, so that an unchanged one is known without a look at
// what is stored. In: a record, or an identity. Out: 53 bits (cyrb53, two characters a step). It runs for every record of a fleet.
import { type Facts, own } from './facts.ts';
import { FIELDS, fieldText, type IdentityPrints, type IdentitySeen } from './identity.ts';
import type { SubjectKind } from './subjects.ts';

/** Without and with its owners. */
export function printsOf({ id, serial, name, platform, model, owners }: Omit<IdentitySeen, 'kind'>): IdentityPrints {
  begin();
  for (const text of [id, serial, name, platform, model]) mix(text);
  const print = result();
  return { print, ownersPrint: owners === undefined ? undefined : mixOwners(owners) };
}

/** The same of a record: with its owners if it shows them, otherwise without. */
export function printOfRecord(kind: SubjectKind, record: Facts): number {
  begin();
  for (const field of FIELDS[kind]) mix(fieldText(record, field));
  const owners = kind === 'device' ? own(record, 'Emails') : undefined;
  return Array.isArray(owners) ? mixOwners(owners) : result();
}

/** 32 bits of one name, as it is compared. `by`: what names it so: an id and a serial number of equal text differ. */
export function nameHash(by: string, key: string): number {
  begin();
  mix(by);
  mix(key);
  return result() % 2 ** 32;
}

let a = 0;
let b = 0;

function begin(): void {
  a = 0xdeadbeef | 0;
  b = 0x41c6ce57;
}

function mix(text: string): void {
  let [c, d] = [a, b];
  const { length } = text;
  for (let at = 1; at < length; at += 2) {
    const units = text.charCodeAt(at - 1) | (text.charCodeAt(at) << 16);
    c = Math.imul(c ^ units, 2_654_435_761);
    d = Math.imul(d ^ units, 1_597_334_677);
  }
  const rest = length % 2 === 1 ? text.charCodeAt(length - 1) : 0;
  a = Math.imul(c ^ rest, 2_654_435_761) ^ length;
  b = Math.imul(d ^ rest, 1_597_334_677) ^ length;
}

/** No owners are another fingerprint than unknown ones. */
function mixOwners(owners: readonly unknown[]): number {
  mix('owners');
  for (const owner of owners) if (typeof owner === 'string') mix(owner);
  return result();
}

function result(): number {
  const c = Math.imul(a ^ (a >>> 16), 2_246_822_507) ^ Math.imul(b ^ (b >>> 13), 3_266_489_909);
  const d = Math.imul(b ^ (b >>> 16), 2_246_822_507) ^ Math.imul(c ^ (c >>> 13), 3_266_489_909);
  return 4_294_967_296 * (d & 0x1fffff) + (c >>> 0);
}
