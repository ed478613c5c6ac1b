// store: whom exemptions cover. In: exemptions, members, identities. Out: exemptions with their members, and those that identities show as
// protected or as joined later. INVARIANT: identities only name members when an exemption is made or confirmed; from then on these rows decide.

import { giveWay } from '../base/turns.ts';
import type { ReasonCode } from '../domain/decision.ts';
import {
  type Exemption,
  type ExemptionMember,
  ExemptionMembers,
  type JoinedLater,
  membersOf,
  SELECTOR_FIELDS,
} from '../domain/exemption.ts';
import { type Identity, nameKey } from '../domain/identity.ts';
import { hasAny, identityOfRow, keyed, SELECTED } from './identities.ts';
import type { Db, Work } from './queries.ts';
import { DECISION } from './rows.ts';

interface MembersRow {
  exemption_id: string;
  prints: string | null;
  forgeable: number;
}

export function* withMembers(db: Db, exemptions: Exemption[]): Work<Exemption[]> {
  const sql = 'SELECT * FROM exemption_members WHERE exemption_id IN (SELECT value FROM json_each(?))';
  const rows = yield* db.all<MembersRow>(sql, JSON.stringify(exemptions.map(({ id }) => id)));
  const known = new Map(rows.map((row) => [row.exemption_id, row]));
  return exemptions.map((exemption) => {
    const row = known.get(exemption.id);
    if (row === undefined) return exemption;
    const members = row.prints === null ? {} : { members: row.prints };
    return { ...exemption, acceptForgeable: row.forgeable === 1, ...members };
  });
}

export function* saveMembers(db: Db, { id, members, acceptForgeable }: Exemption): Work<void> {
  if (members === undefined && acceptForgeable === undefined) return;
  yield* save(db, { exemption_id: id, prints: members ?? null, forgeable: acceptForgeable ? 1 : 0 });
}

/** INVARIANT: read and written in one transaction, so that no other addition is lost. */
export function* addMembers(db: Db, exemption: string, members: readonly ExemptionMember[]): Work<void> {
  const row = yield* db.get<MembersRow>('SELECT * FROM exemption_members WHERE exemption_id = ?', exemption);
  const known = ExemptionMembers.of(exemption, row?.prints ?? '');
  yield* save(db, { exemption_id: exemption, prints: known.with(members).packed(), forgeable: row?.forgeable ?? 0 });
}

function* save(db: Db, row: MembersRow): Work<void> {
  yield* noted(db, 'exemption_members', 'exemption_id', row.exemption_id, function* () {
    yield* db.upsert('exemption_members', { ...row }, 'exemption_id');
  });
}

/** Where no trigger follows the table, its change is noted here (postgres/migrations/0031-exemption-members.sql). */
export function* noted(db: Db, table: string, key: string, value: string, change: () => Work<void>): Work<void> {
  const { noteChange } = db.dialect;
  if (noteChange) yield* db.run(noteChange(table, 'removed', key), value);
  yield* change();
  if (noteChange) yield* db.run(noteChange(table, 'added', key), value);
}

type About = Pick<Exemption, 'subject' | 'selector'>;

export async function membersNow(
  db: Db,
  about: About,
  users?: readonly string[],
): Promise<ExemptionMember[] | undefined> {
  if (!(await db.reading(isKnown(db, about, users !== undefined)))) return undefined;
  const members: ExemptionMember[] = [];
  for await (const some of identitiesAbout(db, about, { users: users ?? [] })) members.push(...membersOf(some));
  return members;
}

/** Clocks may differ, and a reading may be kept after what it saw: so much earlier is looked at, too. */
const MARGIN_MS = 86_400_000;

export async function joinedLater(db: Db, exemption: Exemption, max: number): Promise<JoinedLater> {
  const { id, subject, createdAt, members: packed } = exemption;
  if (packed === undefined) return { count: 0, some: [] };
  const members = ExemptionMembers.of(id, packed);
  const joined = new Map<string, Identity>();
  let count = 0;
  const add = (one: Identity) => {
    const isOwn = subject?.kind === one.kind && nameKey(subject.id) === nameKey(one.id);
    const key = `${one.kind} ${one.id}`;
    if (isOwn || joined.has(key) || members.has({ ...one, serial: one.kind === 'device' ? one.serial : '' })) return;
    count += 1;
    if (joined.size < max) joined.set(key, one);
  };
  // First those that a rule matches: what is selected by a field that identities do not have is not found otherwise.
  for (const one of await db.reading(heldFor(db, id))) add(one);
  const since = { users: [], changedSince: createdAt - MARGIN_MS };
  for await (const some of identitiesAbout(db, exemption, since)) some.forEach(add);
  return { count, some: [...joined.values()] };
}

function* heldFor(db: Db, exemption: string): Work<Identity[]> {
  const reason: ReasonCode = 'joined_later';
  const sql = "SELECT * FROM decisions WHERE ended_seq IS NULL AND decision = 'hold' AND reason = ?";
  const held = (yield* db.all(sql, reason)).map(DECISION.nounOf);
  return held.flatMap(({ subject, subjectName, target, effect, since }) => {
    if (!effect.joined?.includes(exemption)) return [];
    const device = effect.devices.find(({ id }) => subject.kind === 'device' && id === subject.id);
    const { serial = device ? target : '', platform = '', model = '', owners } = device ?? {};
    return [
      {
        ...subject,
        name: subjectName,
        serial,
        platform,
        model,
        owners,
        firstAt: since,
        changedAt: since,
        goneAt: undefined,
      },
    ];
  });
}

function kindOf({ subject, selector }: About) {
  return (subject ?? selector)?.kind;
}

/** Owners are known for all devices or for none: one form of a list shows them. */
function* isKnown(db: Db, about: About, hasUsers: boolean): Work<boolean> {
  const { subject, selector } = about;
  const kind = kindOf(about);
  // Devices name the addresses of their owners: those of an address are known without a list of users.
  const needsUsers = selector !== undefined && kind === 'user' && selector.field !== 'Email' && !hasUsers;
  if (needsUsers && !(SELECTED[selector.field] && (yield* hasAny(db, 'user')))) return false;
  if (subject?.kind === 'user' || selector?.kind === 'user') {
    // A device whose record does not name its owners is no member: whoever it names later waits for a person.
    const known = "SELECT 1 FROM identities WHERE kind = 'device' AND gone_at IS NULL AND owners IS NOT NULL LIMIT 1";
    if ((yield* db.get(known)) === undefined) return false;
  }
  return yield* hasAny(db, kind === 'service' ? 'service' : 'device');
}

interface AboutNow {
  users: readonly string[];
  /** Of those that a value selects which very many may have. */
  changedSince?: number;
}

/** Present identities: of users and services themselves, and of all devices of each serial number that is protected. */
async function* identitiesAbout(db: Db, about: About, now: AboutNow): AsyncGenerator<Identity[]> {
  const serials = new Set<string>();
  const ids = new Set<string>();
  for await (const direct of directlyAbout(db, about, now)) {
    const all: Identity[] = [];
    for (const one of direct) {
      const key = nameKey(one.serial);
      if (one.kind !== 'device' || key === '') all.push(one);
      else if (!serials.has(key)) all.push(...(await db.reading(devicesOfSerial(db, key))));
      serials.add(key);
    }
    yield all.filter(({ kind, id }) => ids.size !== ids.add(`${kind} ${id}`).size);
    await giveWay();
  }
}

function* devicesOfSerial(db: Db, serial: string): Work<Identity[]> {
  return (yield* keyed(db, 'serial', serial)).filter(isPresentDevice);
}

function isPresentDevice({ kind, goneAt }: Identity): boolean {
  return kind === 'device' && goneAt === undefined;
}

async function* directlyAbout(db: Db, about: About, { users, changedSince }: AboutNow): AsyncGenerator<Identity[]> {
  const { subject, selector } = about;
  const kind = kindOf(about);
  const way = selector && Object.hasOwn(SELECTED, selector.field) ? SELECTED[selector.field] : undefined;
  if (selector && way && 'column' in way) return yield* byColumn(db, way.column, selector.value, changedSince ?? 0);
  const own = subject ? await db.reading(byId(db, subject.kind, subject.id)) : [];
  const selected = selector && way ? await db.reading(byKey(db, selector.field, selector.value)) : [];
  yield [...own, ...selected];
  if (kind !== 'user') return;
  const owners = [...own, ...selected].map(({ id }) => id);
  for (const owner of new Set([...owners, ...users, ...(subject ? [subject.id] : []), ...emailOf(about)]))
    yield [...(await db.reading(byId(db, 'user', owner))), ...(await db.reading(devicesOfOwner(db, owner)))];
}

/** A user who is only known as the owner of devices. */
function emailOf({ selector }: About): string[] {
  return selector?.field === 'Email' ? [selector.value] : [];
}

/** A device that nothing was known of may have been named by its serial number. */
function* byId(db: Db, kind: Identity['kind'], id: string): Work<Identity[]> {
  const named = yield* keyed(db, 'id', nameKey(id));
  const own = named.filter(
    (one) => one.kind === kind && one.goneAt === undefined && (kind === 'user' || one.id === id),
  );
  return kind === 'device' && own.length === 0 ? yield* devicesOfSerial(db, nameKey(id)) : own;
}

function* byKey(db: Db, field: string, value: string): Work<Identity[]> {
  const way = SELECTED[field];
  if (way === undefined || 'column' in way || nameKey(value) === '') return [];
  return (yield* keyed(db, way.by, nameKey(value))).filter(
    (one) => one.kind === SELECTOR_FIELDS[field] && one.goneAt === undefined && (!way.exact || one[way.by] === value),
  );
}

function* devicesOfOwner(db: Db, owner: string): Work<Identity[]> {
  const sql = 'SELECT * FROM identities WHERE no IN (SELECT no FROM identity_owners WHERE owner_key = ?)';
  return (yield* db.all(sql, nameKey(owner))).map(identityOfRow).filter(isPresentDevice);
}

const AT_ONCE = 500;

async function* byColumn(db: Db, column: string, value: string, changedSince: number): AsyncGenerator<Identity[]> {
  const sql = `SELECT * FROM identities WHERE kind = 'device' AND gone_at IS NULL AND no > ? AND ${column} = ? AND changed_at >= ?
    ORDER BY no LIMIT ${AT_ONCE}`;
  for (let last = 0; ; ) {
    const rows = await db.reading(db.all<Record<string, unknown> & { no: number }>(sql, last, value, changedSince));
    yield rows.map((row) => identityOfRow(row as never));
    if (rows.length < AT_ONCE) return;
    last = (rows.at(-1) as { no: number }).no;
  }
}
