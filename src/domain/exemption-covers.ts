// domain: what an exemption covers now, as far as identities show it: for people, who see at once when it covers nothing. What is protected
// is decided elsewhere (decide/exemptions.ts), by what the API shows at that time.
import type { Exemption } from './exemption.ts';
import { type IdentityReader, identityText, type SelectedIdentities } from './identity.ts';
import { resolveName } from './resolve-name.ts';
import { ID_FIELD, type SubjectKind } from './subjects.ts';

export interface Covered {
  kind: SubjectKind;
  /** Of those that the last trusted list had. */
  count: number;
  /** Up to three of them, one line each. */
  examples: string[];
}

/** Undefined: it cannot be known. No list of this kind was read, or its field is not kept. */
export async function coveredBy(
  reader: IdentityReader,
  { subject, selector }: Pick<Exemption, 'subject' | 'selector'>,
): Promise<Covered | undefined> {
  const kind = (subject ?? selector)?.kind;
  if (kind === undefined) return undefined;
  const field = subject ? ID_FIELD[subject.kind] : (selector?.field ?? '');
  const value = subject?.id ?? selector?.value ?? '';
  const selected = await reader.identitiesSelected(field, value);
  if (field === 'Email' && !selected?.count) {
    // A user who is only known as the owner of devices is protected with them.
    const owner = await resolveName(reader, value, { kinds: ['user'] });
    if (owner.found === 'one') return { kind, count: 1, examples: [owner.named.text] };
  }
  if (field === 'DeviceID' && subject && selected?.count === 0) return bySerial(reader, kind, value);
  return selected && coveredOf(kind, selected);
}

/** A device that nothing was known of may have been named by its serial number. */
async function bySerial(reader: IdentityReader, kind: SubjectKind, value: string): Promise<Covered | undefined> {
  const selected = await reader.identitiesSelected('SerialNumber', value);
  return selected && coveredOf(kind, selected);
}

function coveredOf(kind: SubjectKind, { count, examples }: SelectedIdentities): Covered {
  return { kind, count, examples: examples.map(identityText) };
}

/** `covers 1 device: Ada's MacBook, C02…`. Names in it are as they came: escape it where it is shown. */
export function coveredText({ kind, count, examples }: Covered): string {
  if (count === 0) return 'covers nothing that is known now';
  const more = count > examples.length ? ` and ${count - examples.length} more` : '';
  return `covers ${count} ${kind}${count === 1 ? '' : 's'}: ${examples.join('; ')}${more}`;
}
