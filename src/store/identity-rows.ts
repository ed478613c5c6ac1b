// store: identities and owners as rows. In: nouns. Out: rows, and back.
import { canonicalJson } from '../domain/canonical.ts';
import { type Identity, type IdentitySeen, nameKey } from '../domain/identity.ts';
import { isOverlong } from '../domain/kept-name.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import type { Row } from './queries.ts';
import { storedJson } from './stored-json.ts';

/** In the order of `COLUMNS`. */
export function rowOfIdentity(seen: IdentitySeen, firstAt: number, atMs: number): Row {
  const { kind, id, serial, name, platform, model, owners } = seen;
  return {
    kind,
    id,
    serial,
    name,
    platform,
    model,
    owners: owners === undefined ? null : canonicalJson(owners),
    first_at: firstAt,
    changed_at: atMs,
    gone_at: null,
    // A neighbouring version compares them, and finds none that it knows: it prints what it reads anew.
    print: 0,
    owners_print: owners === undefined ? null : 0,
  };
}

const NOBODY: IdentitySeen = {
  kind: 'device',
  id: '',
  serial: '',
  name: '',
  platform: '',
  model: '',
  owners: undefined,
};
export const COLUMNS = ['no', ...Object.keys(rowOfIdentity(NOBODY, 0, 0))];

/** By an owner whose name is too long nothing is found; the record has it. */
export function ownerRows({ owners = [] }: IdentitySeen, no: number): [string, number][] {
  const keys = new Set(owners.map(nameKey).filter((key) => key !== '' && !isOverlong(key)));
  return [...keys].map((key) => [key, no]);
}

export function identityOfRow(row: Row): Identity {
  return {
    kind: row.kind as SubjectKind,
    id: row.id as string,
    serial: row.serial as string,
    name: row.name as string,
    platform: row.platform as string,
    model: row.model as string,
    owners: row.owners === null ? undefined : storedJson<string[]>(row.owners as string),
    firstAt: row.first_at as number,
    changedAt: row.changed_at as number,
    goneAt: row.gone_at === null ? undefined : (row.gone_at as number),
  };
}
