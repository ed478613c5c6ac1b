// store: identities: by which names people find subjects. In: what a trusted reading changes; a text. Out: rows, by any of their names.
// Nothing that acts reads these tables: they are written without an audit entry, beside the commit of a run.
import { canonicalJson } from '../domain/canonical.ts';
import { SELECTOR_FIELDS } from '../domain/exemption.ts';
import { giveWay } from '../domain/give-way.ts';
import {
  type Identity,
  type IdentityChanges,
  type IdentityPrints,
  type IdentitySeen,
  NAMED_MAX,
  type NamedBy,
  type NamedIdentity,
  nameKey,
  type PresentPrints,
  type SelectedIdentities,
} from '../domain/identity.ts';
import { printsOf } from '../domain/identity-print.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import type { Db, Row } from './database.ts';
import { storedJson } from './stored-json.ts';

const PRESENT_FIRST = `ORDER BY gone_at IS NOT NULL, no LIMIT ${NAMED_MAX}`;
const WAYS: Record<NamedBy, string> = {
  id: `SELECT * FROM identities WHERE id_key = ? ${PRESENT_FIRST}`,
  serial: `SELECT * FROM identities WHERE serial_key = ? ${PRESENT_FIRST}`,
  name: `SELECT * FROM identities WHERE name_key = ? ${PRESENT_FIRST}`,
  owner: `SELECT * FROM identities WHERE no IN (SELECT no FROM identity_owners WHERE owner_key = ?) ${PRESENT_FIRST}`,
};

export function identitiesNamed(db: Db, text: string): NamedIdentity[] {
  const key = nameKey(text);
  if (key === '') return [];
  return db.snapshot(() =>
    (Object.entries(WAYS) as [NamedBy, string][]).flatMap(([by, sql]) => {
      return db.all(sql, key).map((row) => ({ identity: identityOfRow(row), by }));
    }),
  );
}

/** Serial numbers and what is said of people are compared in any case, as exemptions compare them. */
const SELECTED: Readonly<Record<string, string>> = {
  DeviceID: 'id = ?',
  SerialNumber: 'serial_key = ?',
  DeviceFriendlyName: 'name = ?',
  Platform: 'platform = ?',
  Model: 'model = ?',
  Email: 'id_key = ?',
  Name: 'name_key = ?',
  ServiceID: 'id = ?',
  ServiceName: 'name = ?',
};
const EXAMPLES = 3;

export function identitiesSelected(db: Db, field: string, value: string): SelectedIdentities | undefined {
  const condition = Object.hasOwn(SELECTED, field) ? SELECTED[field] : undefined;
  const kind = SELECTOR_FIELDS[field];
  if (condition === undefined || kind === undefined) return undefined;
  if (!db.get('SELECT 1 FROM identities WHERE kind = ? LIMIT 1', kind)) return undefined;
  const where = `FROM identities WHERE gone_at IS NULL AND kind = ? AND ${condition}`;
  const given = condition.includes('_key') ? nameKey(value) : value;
  return db.snapshot(() => ({
    count: Number(db.get<{ n: number }>(`SELECT count(*) AS n ${where}`, kind, given)?.n),
    examples: db.all(`SELECT * ${where} ORDER BY no LIMIT ${EXAMPLES}`, kind, given).map(identityOfRow),
  }));
}

export async function presentPrints(db: Db, kind: SubjectKind): Promise<PresentPrints> {
  const parts: PresentPrints[] = [];
  for await (const rows of presentRows(db, kind)) {
    parts.push(Float64Array.from(rows.flatMap(({ print, owners_print }) => [print, owners_print ?? -1])));
  }
  const prints = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    prints.set(part, at);
    at += part.length;
  }
  return prints;
}

const ROWS_AT_ONCE = 5_000;

interface PresentRow {
  no: number;
  print: number;
  owners_print: number | null;
}

/** There may be a million. */
async function* presentRows(db: Db, kind: SubjectKind): AsyncGenerator<PresentRow[]> {
  const sql = `SELECT no, print, owners_print FROM identities
    WHERE kind = ? AND gone_at IS NULL AND no > ? ORDER BY no LIMIT ${ROWS_AT_ONCE}`;
  for (let last = 0; ; ) {
    const rows = db.all<PresentRow>(sql, kind, last);
    yield rows;
    if (rows.length < ROWS_AT_ONCE) return;
    last = (rows.at(-1) as PresentRow).no;
    await giveWay();
  }
}

const SAVED_AT_ONCE = 500;

/**
 * In several transactions, so that others get their turn: the next reading completes what a crash left out. Returns whether there was
 * anything to save.
 */
export async function saveIdentities(db: Db, { kind, changed, had }: IdentityChanges, atMs: number): Promise<boolean> {
  // What is gone is marked first: a changed one has a fingerprint that the list no longer has, and comes back at once.
  if (had) await markGone(db, kind, had, atMs);
  let saved = had !== undefined;
  for (const some of inParts(changed, SAVED_AT_ONCE)) {
    if (saved) await giveWay();
    db.transaction(() => {
      for (const seen of some) saveIdentity(db, seen, atMs);
    });
    saved = true;
  }
  return saved;
}

async function markGone(
  db: Db,
  kind: SubjectKind,
  had: (prints: IdentityPrints) => boolean,
  atMs: number,
): Promise<void> {
  for await (const rows of presentRows(db, kind)) {
    const gone = rows.filter(({ print, owners_print }) => !had({ print, ownersPrint: owners_print ?? undefined }));
    if (gone.length === 0) continue;
    db.transaction(() => {
      for (const { no } of gone)
        db.run('UPDATE identities SET gone_at = ?, changed_at = ? WHERE no = ?', atMs, atMs, no);
    });
  }
}

function* inParts<T>(all: Iterable<T>, size: number): Generator<T[]> {
  let part: T[] = [];
  for (const one of all) {
    part.push(one);
    if (part.length < size) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
}

function saveIdentity(db: Db, seen: IdentitySeen, atMs: number): void {
  const known = db.get('SELECT * FROM identities WHERE kind = ? AND id = ?', seen.kind, seen.id);
  const before = known && identityOfRow(known);
  const { owners = before?.owners, ...rest } = seen;
  const { print, ownersPrint } = printsOf({ ...rest, owners });
  const row = {
    kind: rest.kind,
    id: rest.id,
    serial: rest.serial,
    name: rest.name,
    platform: rest.platform,
    model: rest.model,
    owners: owners === undefined ? null : canonicalJson(owners),
    id_key: nameKey(rest.id),
    serial_key: nameKey(rest.serial) || null,
    name_key: nameKey(rest.name) || null,
    first_at: before?.firstAt ?? atMs,
    changed_at: atMs,
    gone_at: null,
    print,
    owners_print: ownersPrint ?? null,
  };
  db.upsert('identities', row, 'kind, id');
  if (owners !== undefined && owners !== before?.owners) saveOwners(db, seen, owners);
}

function saveOwners(db: Db, { kind, id }: IdentitySeen, owners: readonly string[]): void {
  const no = Number(db.get<{ no: number }>('SELECT no FROM identities WHERE kind = ? AND id = ?', kind, id)?.no);
  db.run('DELETE FROM identity_owners WHERE no = ?', no);
  for (const key of new Set(owners.map(nameKey))) if (key !== '') db.insert('identity_owners', { owner_key: key, no });
}

function identityOfRow(row: Row): Identity {
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
