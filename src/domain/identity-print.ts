// domain: fingerprints of identities: one number for all that is kept of a record, so that an unchanged one is known without a look at
// what is stored. In: a record, or an identity. Out: 53 bits. It runs for every record of a fleet.
import { type Facts, own } from './facts.ts';
import { FIELDS, fieldText, type IdentityPrints, type IdentitySeen } from './identity.ts';
import { begin, finishStored, mix } from './print-bits.ts';
import type { SubjectKind } from './subjects.ts';

/** Without and with its owners. */
export function printsOf({ id, serial, name, platform, model, owners }: Omit<IdentitySeen, 'kind'>): IdentityPrints {
  begin();
  for (const text of [id, serial, name, platform, model]) mix(text);
  const print = finishStored();
  return { print, ownersPrint: owners === undefined ? undefined : mixOwners(owners) };
}

/** The same of a record: with its owners if it shows them, otherwise without. */
export function printOfRecord(kind: SubjectKind, record: Facts): number {
  begin();
  for (const field of FIELDS[kind]) mix(fieldText(record, field));
  const owners = kind === 'device' ? own(record, 'Emails') : undefined;
  return Array.isArray(owners) ? mixOwners(owners) : finishStored();
}

/** 32 bits of one name, as it is compared. `by`: what names it so: an id and a serial number of equal text differ. */
export function nameHash(by: string, key: string): number {
  begin();
  mix(by);
  mix(key);
  return finishStored() % 2 ** 32;
}

/** No owners are another fingerprint than unknown ones. */
function mixOwners(owners: readonly unknown[]): number {
  mix('owners');
  for (const owner of owners) if (typeof owner === 'string') mix(owner);
  return finishStored();
}
