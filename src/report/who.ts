// report: a subject as people know it: name, serial number, owners and id. In: what is known of it. Out: lines that may hold
// hostile names: each writer escapes them. Ids, serial numbers and addresses are marked as whole.
import { shownName } from '../domain/clip.ts';
import { type CellLine, joinedLine, type Marked, marked, whole } from './marked.ts';

/** What is not known is absent, null or empty. */
export interface Who {
  id: string;
  name?: string | null | undefined;
  serial?: string | null | undefined;
  owners?: readonly string[] | null | undefined;
}

const OWNERS_MAX = 3;

/** `Ana's laptop, C02MQHAHEA, ana@example.com (7d2f…)`, or the id alone. */
export function whoLine(who: Who): Marked {
  const known = [...nameOf(who), ...serialOf(who), ...ownersOf(who)];
  if (known.length === 0) return whole(who.id);
  return marked(joinedLine(known, ', '), ' (', whole(who.id), ')');
}

/** The same, each on a line of its own, for a column. `shown`: the serial number that another cell of the row shows. */
export function whoLines(who: Who, shown?: string): CellLine[] {
  const serial = serialOf(who).filter(() => who.serial !== shown);
  return [
    ...nameOf(who),
    ...serial.map((number) => marked('serial ', number)),
    ...ownersOf(who).map((owner) => (typeof owner === 'string' ? owner : marked('owner ', owner))),
    whole(who.id),
  ];
}

function nameOf({ name, id }: Who): string[] {
  return name && name !== id ? [shownName(name)] : [];
}

function serialOf({ serial, id }: Who): Marked[] {
  return serial && serial !== id ? [whole(serial)] : [];
}

function ownersOf({ owners }: Who): CellLine[] {
  const all = owners ?? [];
  const more = all.length - OWNERS_MAX;
  return [...all.slice(0, OWNERS_MAX).map(whole), ...(more > 0 ? [`and ${more} more`] : [])];
}
