// store: identities: by which names people find subjects. In: what a trusted reading changes; a text. Out: rows, by any of their names.
// Nothing that acts reads these tables: they are written without an audit entry, beside the commit of a run.

import { canonicalJson } from '../base/json.ts';
import { PRINT_WORDS, type PrintKey } from '../base/print-bits.ts';
import { giveWay } from '../base/turns.ts';
import { SELECTOR_FIELDS } from '../domain/exemption.ts';
import { sortKey, wordKeys } from '../domain/fleet.ts';
import {
  type Identity,
  type IdentityChanges,
  type IdentitySeen,
  type ListedIdentity,
  NAMED_MAX,
  type NamedBy,
  type NamedIdentity,
  nameKey,
  type PresentPrints,
  type SelectedIdentities,
} from '../domain/identity.ts';
import { IdentityPrinter } from '../domain/identity-print.ts';
import { NO_FACTS } from '../domain/listed-facts.ts';
import { isOverlong, type SubjectKind } from '../domain/subjects.ts';
import { type Db, keepMeta, type Row, readMeta, type Value, type Work } from './queries.ts';
import { storedJson } from './stored-json.ts';

// The keys by which identities are found: 32 bits of each name, in one index.

/** Of which an index has a key; owners have a table of their own. */
type KeyedBy = Exclude<NamedBy, 'owner'>;

/** Of the index alone, and no secret: migrations have it, so it never changes (cyrb53, two characters a step). */
export function nameHash(by: string, key: string): number {
  let [a, b] = [0xdeadbeef | 0, 0x41c6ce57];
  for (const text of [by, key]) {
    for (let at = 0; at < text.length; at += 2) {
      const units = text.charCodeAt(at) | (at + 1 < text.length ? text.charCodeAt(at + 1) << 16 : 0);
      a = Math.imul(a ^ units, 2_654_435_761);
      b = Math.imul(b ^ units, 1_597_334_677);
    }
    // A text of an even length ends with a step of its own.
    if (text.length % 2 === 0) [a, b] = [Math.imul(a, 2_654_435_761), Math.imul(b, 1_597_334_677)];
    a ^= text.length;
    b ^= text.length;
  }
  const hash = Math.imul(a ^ (a >>> 16), 2_246_822_507) ^ Math.imul(b ^ (b >>> 13), 3_266_489_909);
  return hash >>> 0;
}

function hashOf(by: KeyedBy, name: string): number {
  return nameHash(by, nameKey(name));
}

/** An empty serial number or name is not looked for. */
function hashesOf({ id, serial, name }: Pick<IdentitySeen, KeyedBy>): number[] {
  const hashes = [hashOf('id', id)];
  for (const [by, text] of [
    ['serial', nameKey(serial)],
    ['name', nameKey(name)],
  ] as const)
    if (text !== '') hashes.push(nameHash(by, text));
  return hashes;
}

export const HASH_FUNCTION = 'trustward_name_hash';

/** For the migrations: `key` is in the form of `nameKey`. */
export function hashInSql(by: unknown, key: unknown): number {
  return nameHash(by as string, key as string);
}

/** The hash and, below it, a number that is less: in the order of hashes, one number sorts both. */
const BELOW = 2 ** 21;
/** Subjects whose keys are sorted at once. */
const SORTED_AT_ONCE = 20_000;

/** Keys of many identities, in the order of the index: each page of it is written once. */
class SortedKeys {
  private readonly keys: Float64Array;
  private length = 0;

  constructor(identities: number) {
    this.keys = new Float64Array(3 * identities);
  }

  /** `index`: of the identity, less than 2 million. */
  add(identity: Pick<IdentitySeen, KeyedBy>, index: number): void {
    for (const hash of hashesOf(identity)) {
      this.keys[this.length] = hash * BELOW + index;
      this.length += 1;
    }
  }

  /** The number of keys. To be called when all have been added. */
  sort(): number {
    this.keys.subarray(0, this.length).sort();
    return this.length;
  }

  /** `[hash, no]` of some of them, without those that are there twice. `firstNo`: of the identity with the index 0. */
  part(from: number, to: number, firstNo: number): number[][] {
    const part: number[][] = [];
    for (let at = from; at < Math.min(to, this.length); at += 1) {
      const key = this.keys[at] as number;
      if (at > 0 && key === this.keys[at - 1]) continue;
      part.push([Math.floor(key / BELOW), firstNo + (key % BELOW)]);
    }
    return part;
  }
}

// Identities and owners as rows.

/** In the order of `COLUMNS`. */
function rowOfIdentity(seen: ListedIdentity, sortedBy: string, firstAt: number, atMs: number): Row {
  const { kind, id, serial, name, platform, model, owners, facts } = seen;
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
    facts,
    sort_key: sortedBy,
  };
}

const NOBODY: ListedIdentity = {
  kind: 'device',
  id: '',
  serial: '',
  name: '',
  platform: '',
  model: '',
  owners: undefined,
  facts: NO_FACTS,
};
const COLUMNS = ['no', ...Object.keys(rowOfIdentity(NOBODY, '', 0, 0))];

/** By an owner whose name is too long nothing is found; the record has it. */
function ownerRows({ owners = [] }: IdentitySeen, no: number): [string, number][] {
  const keys = new Set(owners.map(nameKey).filter((key) => key !== '' && !isOverlong(key)));
  return [...keys].map((key) => [key, no]);
}

function namesOfRow(row: Row): Omit<IdentitySeen, 'kind'> {
  return {
    id: row.id as string,
    serial: row.serial as string,
    name: row.name as string,
    platform: row.platform as string,
    model: row.model as string,
    owners: row.owners === null ? undefined : storedJson<string[]>(row.owners as string),
  };
}

/** As they are printed. */
const PRINTED = 'no, id, serial, name, platform, model, owners, facts';

function listedOfRow(row: Row): Omit<ListedIdentity, 'kind'> {
  return { ...namesOfRow(row), facts: row.facts as number };
}

export function identityOfRow(row: Row): Identity {
  return {
    kind: row.kind as SubjectKind,
    ...namesOfRow(row),
    firstAt: row.first_at as number,
    changedAt: row.changed_at as number,
    goneAt: row.gone_at === null ? undefined : (row.gone_at as number),
  };
}

// The identities that the last trusted list had, with their keyed fingerprints (domain/identity-print.ts).

/** Without and with owners. */
const IDENTITY_WORDS = 2 * PRINT_WORDS;

export interface PresentIdentities {
  /** In any order. */
  nos: Float64Array;
  /** In the same order, `IDENTITY_WORDS` of each. */
  prints: PresentPrints;
  key: PrintKey;
}

/** So few that they are gone when the collector looks. */
const ROWS_AT_ONCE = 250;
const ROWS_OF_TURN = 2_000;

/** There may be a million. Nobody else writes them meanwhile. */
export async function presentIdentities(db: Db, kind: SubjectKind, key: PrintKey): Promise<PresentIdentities> {
  const present = 'FROM identities WHERE kind = ? AND gone_at IS NULL';
  // In the order of rows: the index of lists has another one.
  const sql = `SELECT ${PRINTED} ${present.replace('identities', `identities ${db.dialect.unindexed}`)} AND no > ? ORDER BY no LIMIT ${ROWS_AT_ONCE}`;
  const count = Number((await db.reading(db.get<{ n: number }>(`SELECT count(*) AS n ${present}`, kind)))?.n);
  const all = emptyPresent(count, key);
  for (let [read, last] = [0, 0]; ; ) {
    const rows = await db.reading(db.all(sql, kind, last));
    print(
      rows.map((row) => [row.no as number, listedOfRow(row)]),
      all,
      read,
    );
    read += rows.length;
    if (rows.length < ROWS_AT_ONCE) return all;
    last = rows.at(-1)?.no as number;
    if (read % ROWS_OF_TURN === 0) await giveWay();
  }
}

function emptyPresent(count: number, key: PrintKey): PresentIdentities {
  return { nos: new Float64Array(count), prints: new Int32Array(IDENTITY_WORDS * count), key };
}

/** `saved`: new and changed ones, by number. */
function afterChanges(
  before: PresentIdentities,
  gone: ReadonlySet<number>,
  saved: ReadonlyMap<number, ListedIdentity>,
): PresentIdentities {
  if (gone.size === 0 && saved.size === 0) return before;
  const { key } = before;
  const kept = before.nos.reduce((sum, no) => sum + (gone.has(no) || saved.has(no) ? 0 : 1), 0);
  const now = emptyPresent(kept + saved.size, key);
  let count = 0;
  for (const [index, no] of before.nos.entries()) {
    if (gone.has(no) || saved.has(no)) continue;
    const from = IDENTITY_WORDS * index;
    now.nos[count] = no;
    for (let word = 0; word < IDENTITY_WORDS; word += 1)
      now.prints[IDENTITY_WORDS * count + word] = before.prints[from + word] as number;
    count += 1;
  }
  print(saved, now, count);
  return now;
}

/** Into places from one on. */
function print(
  identities: Iterable<readonly [number, Omit<ListedIdentity, 'kind'>]>,
  { nos, prints, key }: PresentIdentities,
  at: number,
): void {
  const printer = new IdentityPrinter(key);
  let place = at;
  for (const [no, identity] of identities) {
    nos[place] = no;
    printer.prints(identity, prints, IDENTITY_WORDS * place);
    place += 1;
  }
}

const PRESENT_FIRST = 'ORDER BY gone_at IS NOT NULL, serial, no';
const KEYED = 'no IN (SELECT no FROM identity_keys WHERE hash = ?)';
const KEYED_BY: readonly KeyedBy[] = ['id', 'serial', 'name'];

export function* identitiesNamed(db: Db, text: string): Work<NamedIdentity[]> {
  const key = nameKey(text);
  if (key === '') return [];
  const owned = `SELECT * FROM identities WHERE no IN (SELECT no FROM identity_owners WHERE owner_key = ?)
    ${PRESENT_FIRST} LIMIT ${NAMED_MAX}`;
  return yield* db.snapshot(function* () {
    const named: NamedIdentity[] = [];
    for (const by of KEYED_BY)
      for (const identity of yield* keyed(db, by, key, NAMED_MAX)) named.push({ identity, by });
    for (const row of yield* db.all(owned, key)) named.push({ identity: identityOfRow(row), by: 'owner' });
    return named;
  });
}

const KEYED_AT_ONCE = 500;

/** Names may share a hash, and devices can choose such names: each is compared, and those that only share it hide none. */
export function* keyed(db: Db, by: KeyedBy, key: string, limit = Number.POSITIVE_INFINITY): Work<Identity[]> {
  const sql = `SELECT * FROM identities WHERE ${KEYED} ${PRESENT_FIRST} LIMIT ${KEYED_AT_ONCE} OFFSET ?`;
  const named: Identity[] = [];
  for (let from = 0; ; from += KEYED_AT_ONCE) {
    const rows = yield* db.all(sql, hashOf(by, key), from);
    named.push(...rows.map(identityOfRow).filter((identity) => nameKey(identity[by]) === key));
    if (named.length >= limit || rows.length < KEYED_AT_ONCE) return named.slice(0, limit);
  }
}

const OF_MAX = 2_000;

export function* identitiesOf(db: Db, texts: readonly string[]): Work<Identity[]> {
  const keys = new Set(texts.map(nameKey).filter((key) => key !== ''));
  if (keys.size === 0) return [];
  const hashes = [...keys].flatMap((key) => [nameHash('id', key), nameHash('serial', key)]);
  const sql = `SELECT * FROM identities WHERE no IN (SELECT no FROM identity_keys WHERE hash IN
    (SELECT CAST(value AS BIGINT) FROM json_each(?))) LIMIT ${OF_MAX}`;
  const found = (yield* db.all(sql, JSON.stringify(hashes))).map(identityOfRow);
  const isGone = ({ goneAt }: Identity) => Number(goneAt !== undefined);
  return found
    .filter(({ id, serial }) => keys.has(nameKey(id)) || keys.has(nameKey(serial)))
    .sort((one, other) => isGone(one) - isGone(other) || (one.id < other.id ? -1 : 1));
}

/** Of all whose id, serial number, name or owner this may be: whoever asks compares them. */
export function* numbersNamed(db: Db, text: string): Work<number[]> {
  const hashes = KEYED_BY.map((by) => hashOf(by, text));
  const sql = `SELECT no FROM identity_keys WHERE hash IN (SELECT CAST(value AS BIGINT) FROM json_each(?))
    UNION ALL SELECT no FROM identity_owners WHERE owner_key = ? LIMIT ${KEYED_AT_ONCE}`;
  return (yield* db.all<{ no: number }>(sql, JSON.stringify(hashes), nameKey(text))).map(({ no }) => Number(no));
}

/** The number of each that is known. */
export function* numbersOfIds(db: Db, kind: SubjectKind, ids: readonly string[]): Work<Map<string, number>> {
  const sql = `SELECT no, id FROM identities WHERE kind = ? AND no IN (
    SELECT no FROM identity_keys WHERE hash IN (SELECT CAST(value AS BIGINT) FROM json_each(?)))`;
  const nos = new Map<string, number>();
  for (const some of inParts(ids, KEYED_AT_ONCE)) {
    const hashes = JSON.stringify(some.map((id) => hashOf('id', id)));
    for (const { no, id } of yield* db.all<{ no: number; id: string }>(sql, kind, hashes)) nos.set(id, Number(no));
  }
  return nos;
}

const WORD_ROWS_AT_ONCE = 20;

/** Numbers with words from `begin` on and before `end`, each with the place after it: a word, the first number of its row, and how many of that row. */
export function* numbersOfWords(
  db: Db,
  begin: number,
  end: number,
  from: string,
  limit: number,
): Work<{ no: number; at: string }[]> {
  const sql = `SELECT word, first_no, rest FROM identity_words WHERE word < ? AND (word, first_no) >= (?, ?)
    ORDER BY word, first_no LIMIT ${WORD_ROWS_AT_ONCE}`;
  const found: { no: number; at: string }[] = [];
  let [word = begin, first = 0, skip = 0] = from === '' ? [] : from.split(' ').map(Number);
  for (;;) {
    const rows = yield* db.all<{ word: number; first_no: number; rest: string }>(sql, end, word, first);
    for (const row of rows) {
      [word, first] = [Number(row.word), Number(row.first_no)];
      let no = first;
      const distances = row.rest === '' ? [] : row.rest.split(' ');
      for (let at = 0; at <= distances.length; at += 1) {
        if (at > 0) no += Number(distances[at - 1]);
        if (at < skip) continue;
        found.push({ no, at: `${word} ${first} ${at + 1}` });
        if (found.length === limit) return found;
      }
      skip = 0;
    }
    if (rows.length < WORD_ROWS_AT_ONCE) return found;
    first += 1;
  }
}

/** The ids of users by their e-mail address. */
export function* usersOf(db: Db, address: string): Work<string[]> {
  const users = (yield* keyed(db, 'id', nameKey(address))).filter(({ kind }) => kind === 'user');
  return users.map(({ id }) => id);
}

/** Serial numbers and what is said of people are compared in any case, as exemptions compare them. */
export const SELECTED: Readonly<Record<string, { by: KeyedBy; exact: boolean } | { column: string }>> = {
  DeviceID: { by: 'id', exact: true },
  SerialNumber: { by: 'serial', exact: false },
  DeviceFriendlyName: { by: 'name', exact: true },
  Platform: { column: 'platform' },
  Model: { column: 'model' },
  Email: { by: 'id', exact: false },
  Name: { by: 'name', exact: false },
  ServiceID: { by: 'id', exact: true },
  ServiceName: { by: 'name', exact: true },
};
const EXAMPLES = 3;

export function* identitiesSelected(db: Db, field: string, value: string): Work<SelectedIdentities | undefined> {
  const way = Object.hasOwn(SELECTED, field) ? SELECTED[field] : undefined;
  const kind = SELECTOR_FIELDS[field];
  if (way === undefined || kind === undefined) return undefined;
  if (!(yield* hasAny(db, kind))) return undefined;
  if ('column' in way) return yield* selectedByColumn(db, kind, way.column, value);
  const isSelected = (identity: Identity) =>
    identity.kind === kind && identity.goneAt === undefined && (!way.exact || identity[way.by] === value);
  const found = nameKey(value) === '' ? [] : (yield* keyed(db, way.by, nameKey(value))).filter(isSelected);
  return { count: found.length, examples: found.slice(0, EXAMPLES) };
}

function* selectedByColumn(db: Db, kind: SubjectKind, column: string, value: string): Work<SelectedIdentities> {
  const where = `FROM identities WHERE gone_at IS NULL AND kind = ? AND ${column} = ?`;
  return yield* db.snapshot(function* () {
    return {
      count: Number((yield* db.get<{ n: number }>(`SELECT count(*) AS n ${where}`, kind, value))?.n),
      examples: (yield* db.all(`SELECT * ${where} ORDER BY no LIMIT ${EXAMPLES}`, kind, value)).map(identityOfRow),
    };
  });
}

export function* hasAny(db: Db, kind: SubjectKind): Work<boolean> {
  const sql = `SELECT 1 FROM identities WHERE kind = ? AND gone_at IS NULL
    UNION ALL SELECT 1 FROM identities WHERE kind = ? AND gone_at IS NOT NULL LIMIT 1`;
  return (yield* db.get(sql, kind, kind)) !== undefined;
}

const SAVED_AT_ONCE = 500;

/**
 * In several transactions, so that others get their turn: the next reading completes what a crash left out. `known`: those that the last
 * trusted list had, if they are at hand. Returns the same afterwards; undefined: they are to be read again.
 */
export async function saveIdentities(
  db: Db,
  changes: IdentityChanges,
  atMs: number,
  known?: PresentIdentities,
): Promise<PresentIdentities | undefined> {
  const now = await saveChanges(db, changes, atMs, known);
  await db.passingTransaction(() => keepMeta(db, listedAtKey(changes.kind), String(changes.readAt)));
  return now;
}

const listedAtKey = (kind: SubjectKind) => `listed_${kind}`;

/** When the last reading ended that all stored identities of a kind show; undefined: of this version there is none. */
export function* readListedAt(db: Db, kind: SubjectKind): Work<number | undefined> {
  const at = yield* readMeta(db, listedAtKey(kind));
  return at === undefined ? undefined : Number(at);
}

async function saveChanges(
  db: Db,
  { kind, changed, had }: IdentityChanges,
  atMs: number,
  known: PresentIdentities | undefined,
): Promise<PresentIdentities | undefined> {
  if (!(await db.reading(hasAny(db, kind)))) {
    const hasAdded = await addIdentities(db, changed, atMs);
    return hasAdded ? undefined : known;
  }
  const before = known ?? (had && (await presentIdentities(db, kind, had.key)));
  // What is gone is marked first: a changed one has a fingerprint that the list no longer has, and comes back at once.
  const gone = had && before ? await markGone(db, before, had.has, atMs) : new Set<number>();
  const saved = new Map<number, ListedIdentity>();
  for (const some of inParts(changed, SAVED_AT_ONCE)) {
    if (had || saved.size > 0) await giveWay();
    await db.passingTransaction(function* () {
      for (const seen of some) {
        const { no, now } = yield* saveIdentity(db, seen, atMs);
        saved.set(no, now);
      }
    });
  }
  return before && afterChanges(before, gone, saved);
}

const ROWS_OF_SLICE = 1_000;
const KEYS_OF_SLICE = 4_000;

/**
 * The first list of a kind. INVARIANT: the keys come before their rows: a row whose keys a crash left out would not be found, and no
 * reading would show it as changed. A key without its row finds nothing.
 */
async function addIdentities(db: Db, all: Iterable<ListedIdentity>, atMs: number): Promise<boolean> {
  let saved = false;
  for await (const part of inPartsInTurns(all, SORTED_AT_ONCE)) {
    const sortKeys = part.map(sortKey);
    const order = inOrderOfLists(part, sortKeys);
    const some = order.map((index) => part[index] as ListedIdentity);
    await giveWay();
    const firstNo = Number(
      (await db.reading(db.get<{ no: number }>('SELECT coalesce(max(no), 0) + 1 AS no FROM identities')))?.no,
    );
    const keys = new SortedKeys(some.length);
    const words = new SortedWords();
    for (const [index, seen] of some.entries()) {
      keys.add(seen, index);
      words.add(wordKeys(seen), firstNo + index);
      if (index % KEYS_OF_SLICE === 0) await giveWay();
    }
    const count = keys.sort();
    await giveWay();
    for (let at = 0; at < count; at += KEYS_OF_SLICE) {
      await giveWay();
      const part = keys.part(at, at + KEYS_OF_SLICE, firstNo);
      await db.passingTransaction(() => db.insertMany('identity_keys', KEY_COLUMNS, part, 'ON CONFLICT DO NOTHING'));
    }
    await insertInTurns(db, 'identity_words', WORD_COLUMNS, words.rows());
    const owners = some.flatMap((seen, index) => ownerRows(seen, firstNo + index));
    owners.sort(([one], [other]) => (one < other ? -1 : 1));
    await insertInTurns(db, 'identity_owners', OWNER_COLUMNS, owners);
    for (let at = 0; at < some.length; at += ROWS_OF_SLICE) {
      await giveWay();
      const rows = some
        .slice(at, at + ROWS_OF_SLICE)
        .map((seen, index) => rowOfIdentity(seen, sortKeys[order[at + index] as number] as string, atMs, atMs))
        .map((row, index) => [firstNo + at + index, ...Object.values(row)]);
      await db.passingTransaction(() => db.insertMany('identities', COLUMNS, rows));
    }
    saved = true;
  }
  return saved;
}

/** In the order of the index of lists, so that each page of it is written once, too. `keys`: by what each is sorted. */
function inOrderOfLists(part: readonly ListedIdentity[], keys: readonly string[]): number[] {
  const groups = new Map<number, number[]>();
  for (const [index, { facts }] of part.entries()) {
    const group = groups.get(facts);
    if (group) group.push(index);
    else groups.set(facts, [index]);
  }
  const byName = (a: number, b: number) => {
    const [one, other] = [keys[a] as string, keys[b] as string];
    return one === other ? a - b : one < other ? -1 : 1;
  };
  return [...groups].sort(([one], [other]) => one - other).flatMap(([, group]) => group.sort(byName));
}

/** The words of many identities, in the order of their table: in a row all that have one word, as the distance of each number from the one before. */
class SortedWords {
  private readonly nos = new Map<number, number[]>();

  /** In the order of numbers. */
  add(keys: readonly number[], no: number): void {
    for (const key of keys) {
      const nos = this.nos.get(key);
      if (nos) nos.push(no);
      else this.nos.set(key, [no]);
    }
  }

  rows(): Value[][] {
    const keys = Float64Array.from(this.nos.keys()).sort();
    return Array.from(keys, (key) => wordRow(key, this.nos.get(key) as number[]));
  }
}

function wordRow(key: number, nos: readonly number[]): Value[] {
  const [first = 0, ...rest] = nos;
  return [key, first, rest.map((no, at) => no - (nos[at] as number)).join(' ')];
}

async function insertInTurns(db: Db, table: string, columns: readonly string[], rows: Value[][]): Promise<void> {
  for (const part of inParts(rows, KEYS_OF_SLICE)) {
    await giveWay();
    await db.passingTransaction(() => db.insertMany(table, columns, part, 'ON CONFLICT DO NOTHING'));
  }
}

/** Returns their numbers. */
async function markGone(
  db: Db,
  { nos, prints }: PresentIdentities,
  has: (prints: Int32Array, at: number) => boolean,
  atMs: number,
): Promise<Set<number>> {
  const gone = new Set<number>();
  for (let at = 0; at < nos.length; at += 1) {
    if (at % KEYS_OF_SLICE === 0) await giveWay();
    if (!has(prints, IDENTITY_WORDS * at)) gone.add(nos[at] as number);
  }
  for (const some of inParts(gone, SAVED_AT_ONCE)) {
    await giveWay();
    await db.passingTransaction(function* () {
      for (const no of some)
        yield* db.run('UPDATE identities SET gone_at = ?, changed_at = ? WHERE no = ?', atMs, atMs, no);
    });
  }
  return gone;
}

/** Each item may be unpacked on its way. */
async function* inPartsInTurns<T>(all: Iterable<T>, size: number): AsyncGenerator<T[]> {
  let part: T[] = [];
  for (const some of inParts(all, KEYS_OF_SLICE)) {
    part.push(...some);
    await giveWay();
    if (part.length < size) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
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

function* saveIdentity(db: Db, seen: ListedIdentity, atMs: number): Work<{ no: number; now: ListedIdentity }> {
  const sql = `SELECT * FROM identities WHERE kind = ? AND id = ? AND ${KEYED}`;
  const known = yield* db.get(sql, seen.kind, seen.id, hashOf('id', seen.id));
  const before = known && identityOfRow(known);
  const now = { ...seen, owners: seen.owners ?? before?.owners };
  const row = rowOfIdentity(now, sortKey(now), before?.firstAt ?? atMs, atMs);
  if (known)
    for (const hash of hashesOf(before as Identity))
      yield* db.run(`DELETE FROM identity_keys WHERE hash = ? AND no = ?`, hash, known.no as number);
  const no = Number(
    known?.no ?? (yield* db.get<{ no: number }>('SELECT coalesce(max(no), 0) + 1 AS no FROM identities'))?.no,
  );
  yield* db.upsert('identities', { no, ...row }, 'no');
  yield* db.insertMany(
    'identity_keys',
    KEY_COLUMNS,
    hashesOf(now).map((hash) => [hash, no]),
    'ON CONFLICT DO NOTHING',
  );
  if (before === undefined || known?.facts === NO_FACTS || before.name !== now.name)
    yield* db.insertMany(
      'identity_words',
      WORD_COLUMNS,
      wordKeys(now).map((key) => wordRow(key, [no])),
      'ON CONFLICT DO NOTHING',
    );
  if (seen.owners === undefined) return { no, now };
  yield* db.run('DELETE FROM identity_owners WHERE no = ?', no);
  yield* db.insertMany('identity_owners', OWNER_COLUMNS, ownerRows(now, no));
  return { no, now };
}

const KEY_COLUMNS = ['hash', 'no'];
const WORD_COLUMNS = ['word', 'first_no', 'rest'];
const OWNER_COLUMNS = ['owner_key', 'no'];

// The secret key of the fingerprints of this database. Whoever writes records cannot read it: with it one could make two records whose
// fingerprints are equal. A copy of the database has it too, and goes on with it.

const KEY = 'print_key';
const KEY_BYTES = 16;

export function* readPrintKey(db: Db): Work<PrintKey | undefined> {
  const bytes = Buffer.from((yield* readMeta(db, KEY)) ?? '', 'hex');
  return bytes.length === KEY_BYTES ? Int32Array.from([0, 4, 8, 12], (at) => bytes.readInt32LE(at)) : undefined;
}

/** A fresh one comes in, and the one that is kept goes out. */
export function* keepPrintKey(db: Db, fresh: PrintKey): Work<PrintKey> {
  const known = yield* readPrintKey(db);
  if (known) return known;
  const bytes = Buffer.alloc(KEY_BYTES);
  for (const [index, word] of fresh.entries()) bytes.writeInt32LE(word, 4 * index);
  yield* keepMeta(db, KEY, bytes.toString('hex'));
  return fresh;
}
