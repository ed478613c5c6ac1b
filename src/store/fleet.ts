// store: lists of devices, users and services, as the last trusted reading showed them. In: filters, an order, where a page begins. Out: a page, with a
// bounded amount of work. INVARIANT: the order is total, so that a page goes on where the one before ended while readings change the list.
import { AppError } from '../domain/errors.ts';
import {
  digitsOf,
  type FleetPage,
  type FleetQuery,
  FOUND_MAX,
  hasWords,
  type ListedSubject,
  wordKeys,
  wordRange,
  wordsOf,
} from '../domain/fleet.ts';
import { type Identity, NEAR_MAX, nameKey } from '../domain/identity.ts';
import { digitOf } from '../domain/listed-facts.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import { identityOfRow, numbersNamed, numbersOfIds, numbersOfWords, readListedAt } from './identities.ts';
import { type Db, OPEN, type Row, type Value, type Work } from './queries.ts';

/** That many are looked at for a page that is short. */
const LOOKED_MAX = 2_000;
/** In one turn. */
const CHUNK = 500;
/** Kinds of facts that one statement reads. */
const AT_ONCE = [20, 5, 1];

export function* fleetPage(db: Db, query: FleetQuery): Work<FleetPage> {
  const digits = digitsOf(query);
  const after = query.after === undefined ? undefined : positionOf(query.after);
  return yield* db.snapshot(function* () {
    const readAt = yield* readListedAt(db, query.kind);
    const counts = readAt === undefined ? new Map<number, number>() : yield* countsOf(db, query.kind);
    const none = { readAt, rows: [], total: 0, isSorted: true, counts, next: undefined };
    const kinds = [...counts.keys()].filter((facts) =>
      [...digits].every(([name, digit]) => digitOf(facts, name) === digit),
    );
    if (kinds.length === 0) return none;
    const wanted = new Set(kinds);
    const isOfFacts = (row: Row) => wanted.has(row.facts as number);
    const found = yield* foundBy(db, query);
    const page =
      found === undefined
        ? yield* inOrder(db, query, kinds, counts, after)
        : found.by === 'walk'
          ? yield* asFound(db, query, isOfFacts, found, after)
          : sorted(query, found.rows.filter(isOfFacts), after);
    return { ...none, ...page, rows: yield* described(db, query.kind, page.rows) };
  });
}

export function* identitiesLike(db: Db, text: string, kinds: readonly SubjectKind[]): Work<Identity[]> {
  const query = { q: text, facts: {}, sort: 'name', isDescending: false, limit: NEAR_MAX + 1 } as const;
  const found: Identity[] = [];
  if (wordsOf(text).length > 0)
    for (const kind of kinds)
      for (const { identity } of (yield* fleetPage(db, { kind, ...query })).rows) found.push(identity);
  return found;
}

interface Part {
  rows: Row[];
  total: number | undefined;
  isSorted: boolean;
  next: string | undefined;
}

// Where a page begins.

/** In the order: a digit of what is sorted by, a name, a number. As found: whatever its finder goes on from. */
type Position = { by: 'order'; digit: number; key: string; no: number } | { by: 'found'; from: string };

function positionOf(text: string): Position {
  try {
    const [by, ...rest] = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown[];
    const [first, second, third] = rest;
    if (by === 'o' && typeof first === 'number' && typeof second === 'string' && Number.isSafeInteger(third))
      return { by: 'order', digit: first, key: second, no: third as number };
    if (by === 'f' && typeof first === 'string') return { by: 'found', from: first };
  } catch {
    // Refused below.
  }
  throw new AppError('usage', '`after` is not the `next` of a page of this list: read it again from its beginning');
}

function textOf(position: Position): string {
  const parts = position.by === 'order' ? ['o', position.digit, position.key, position.no] : ['f', position.from];
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/** The filters are the same, and find more or fewer than they did. */
function changed(): AppError {
  return new AppError(
    'usage',
    'what is searched is found by another way than on the page before: read the list again from its beginning',
  );
}

// By facts alone: each kind of facts is sorted by name in the index, and kinds that sort alike are merged.

const LISTED = (db: Db) => `identities ${db.dialect.by('identities_listed')}`;

function* countsOf(db: Db, kind: SubjectKind): Work<Map<number, number>> {
  const sql = `SELECT facts, count(*) AS n FROM ${LISTED(db)} WHERE kind = ? AND gone_at IS NULL GROUP BY facts`;
  return new Map(
    (yield* db.all<{ facts: number; n: number }>(sql, kind)).map(({ facts, n }) => [Number(facts), Number(n)]),
  );
}

interface Key {
  key: string;
  no: number;
}

function* inOrder(
  db: Db,
  { kind, sort, isDescending, limit }: FleetQuery,
  kinds: readonly number[],
  counts: ReadonlyMap<number, number>,
  after: Position | undefined,
): Work<Part> {
  if (after?.by === 'found') throw changed();
  const sign = isDescending ? -1 : 1;
  const groups = new Map<number, number[]>();
  for (const facts of kinds) groups.set(digitIn(facts, sort), [...(groups.get(digitIn(facts, sort)) ?? []), facts]);
  const keys: (Key & { digit: number })[] = [];
  for (const [digit, alike] of [...groups].sort(([one], [other]) => sign * (one - other))) {
    if (keys.length > limit || (after && sign * (digit - after.digit) < 0)) continue;
    const from = after?.digit === digit ? after : undefined;
    const found = yield* keysOf(db, kind, alike, isDescending, from, limit + 1 - keys.length);
    keys.push(...found.map((one) => ({ ...one, digit })));
  }
  const shown = keys.slice(0, limit);
  const last = keys.length > limit ? shown.at(-1) : undefined;
  return {
    rows: yield* rowsOf(
      db,
      shown.map(({ no }) => no),
    ),
    total: kinds.reduce((sum, facts) => sum + (counts.get(facts) ?? 0), 0),
    isSorted: true,
    next: last && textOf({ by: 'order', ...last }),
  };
}

function digitIn(facts: number, sort: FleetQuery['sort']): number {
  return sort === 'name' ? 0 : digitOf(facts, sort);
}

function* keysOf(
  db: Db,
  kind: SubjectKind,
  kinds: readonly number[],
  isDescending: boolean,
  after: Key | undefined,
  limit: number,
): Work<Key[]> {
  const [than, order] = isDescending ? ['<', 'DESC'] : ['>', 'ASC'];
  const beyond = after ? `AND (sort_key, no) ${than} (?, ?)` : '';
  const part = (at: number) => `SELECT * FROM (SELECT sort_key AS key, no FROM ${LISTED(db)}
    WHERE kind = ? AND facts = ? AND gone_at IS NULL ${beyond} ORDER BY sort_key ${order}, no ${order} LIMIT ?) AS part${at}`;
  const keys: Key[] = [];
  for (let at = 0; at < kinds.length; ) {
    const size = AT_ONCE.find((count) => count <= kinds.length - at) as number;
    const values = kinds
      .slice(at, at + size)
      .flatMap((facts): Value[] => [kind, facts, ...(after ? [after.key, after.no] : []), limit]);
    keys.push(
      ...(yield* db.all<Key>(Array.from({ length: size }, (_, each) => part(each)).join(' UNION ALL '), ...values)),
    );
    at += size;
  }
  const sign = isDescending ? -1 : 1;
  return keys
    .map(({ key, no }) => ({ key, no: Number(no) }))
    .sort((a, b) => sign * comparedKeys(a, b))
    .slice(0, limit);
}

function comparedKeys(a: Key, b: Key): number {
  return a.key === b.key ? a.no - b.no : a.key < b.key ? -1 : 1;
}

/** In the order of the numbers; one that is gone meanwhile is missing. */
function* rowsOf(db: Db, nos: readonly number[]): Work<Row[]> {
  const sql =
    'SELECT * FROM identities WHERE no IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) AND gone_at IS NULL';
  const rows = new Map((yield* db.all(sql, JSON.stringify(nos))).map((row) => [Number(row.no), row]));
  return nos.map((no) => rows.get(no)).filter((row) => row !== undefined);
}

// By words, an owner or a rule. Few are read and sorted; more are listed as they are found, and looked at in turn.

interface Candidate {
  no: number;
  /** From where the ones after it are found. */
  at: string;
}

interface Finder {
  /** From a position on, which is empty at first. Fewer than the limit: there are no more. */
  find(from: string, limit: number): Work<Candidate[]>;
  /** Of a row that is found at several places: whether this is the first of them. */
  isFirst?(row: Row, at: string): boolean;
}

type Test = (rows: readonly Row[]) => Work<Row[]>;
type Found = { by: 'number'; rows: Row[] } | { by: 'walk'; finder: Finder; test: Test };

function* foundBy(db: Db, query: FleetQuery): Work<Found | undefined> {
  const finders = findersOf(db, query);
  if (finders.length === 0) return undefined;
  const test: Test = function* (rows) {
    const left = rows.filter((row) => isOfQuery(row, query));
    return query.rule === undefined ? left : yield* matching(db, query.kind, query.rule, left);
  };
  // An id or a serial number in full is no word.
  const named = query.q === undefined ? [] : yield* numbersNamed(db, query.q);
  for (const finder of finders) {
    const found = yield* finder.find('', FOUND_MAX + 1);
    if (found.length > FOUND_MAX) continue;
    const nos = new Set([...found.map(({ no }) => no), ...named]);
    return { by: 'number', rows: yield* test(yield* rowsOf(db, [...nos])) };
  }
  return { by: 'walk', finder: finders[0] as Finder, test };
}

function isOfQuery(row: Row, { kind, q, owner }: FleetQuery): boolean {
  if (row.kind !== kind) return false;
  const identity = identityOfRow(row);
  const { id, serial, name, owners = [] } = identity;
  if (owner !== undefined && !owners.some((one) => nameKey(one) === nameKey(owner))) return false;
  if (q === undefined) return true;
  const words = wordsOf(q);
  if (words.length > 0 && hasWords(identity, words)) return true;
  return [id, serial, name, ...owners].some((one) => nameKey(one) === nameKey(q));
}

function findersOf(db: Db, { kind, q, owner, rule }: FleetQuery): Finder[] {
  // The longest word is most likely the rarest. What has none may be a name all the same.
  const words = q === undefined ? [] : wordsOf(q).sort((one, other) => other.length - one.length);
  return [
    ...(owner === undefined ? [] : [ofOwner(db, owner)]),
    ...(rule === undefined ? [] : [ofRule(db, kind, rule)]),
    ...words.map((word) => ofWord(db, kind, word)),
    ...(q !== undefined && words.length === 0 ? [NOTHING] : []),
  ];
}

const NOTHING: Finder = {
  *find() {
    return [];
  },
};

function ofWord(db: Db, kind: SubjectKind, word: string): Finder {
  const [begin, end] = wordRange(kind, word);
  return {
    find: (from, limit) => numbersOfWords(db, begin, end, from, limit),
    isFirst: (row, at) => {
      const own = wordKeys(identityOfRow(row)).filter((key) => key >= begin && key < end);
      return Math.min(...own) === Number(at.slice(0, at.indexOf(' ')));
    },
  };
}

function ofOwner(db: Db, owner: string): Finder {
  const sql = 'SELECT no FROM identity_owners WHERE owner_key = ? AND no > ? ORDER BY no LIMIT ?';
  return {
    *find(from, limit) {
      const rows = yield* db.all<{ no: number }>(sql, nameKey(owner), Number(from), limit);
      return rows.map(({ no }) => ({ no: Number(no), at: String(no) }));
    },
  };
}

const MATCHING = "rule = ? AND kind = ? AND state <> 'closed' AND state = 'matching'";

function ofRule(db: Db, kind: SubjectKind, rule: string): Finder {
  const sql = `SELECT subject FROM episodes WHERE ${MATCHING} AND subject > ? ORDER BY subject LIMIT ?`;
  return {
    *find(from, limit) {
      const ids = (yield* db.all<{ subject: string }>(sql, rule, kind, from, limit)).map(({ subject }) => subject);
      const nos = yield* numbersOfIds(db, kind, ids);
      // One that is unknown counts: fewer than the limit are the last ones.
      return ids.map((id) => ({ no: nos.get(id) ?? 0, at: id }));
    },
  };
}

function* matching(db: Db, kind: SubjectKind, rule: string, rows: readonly Row[]): Work<Row[]> {
  const sql = `SELECT subject FROM episodes WHERE ${MATCHING} AND subject IN (SELECT value FROM json_each(?))`;
  const ids = JSON.stringify(rows.map(({ id }) => id));
  const found = new Set((yield* db.all<{ subject: string }>(sql, rule, kind, ids)).map(({ subject }) => subject));
  return rows.filter(({ id }) => found.has(id as string));
}

/** All that were found, in the order that is asked for. */
function sorted({ sort, isDescending, limit }: FleetQuery, rows: readonly Row[], after: Position | undefined): Part {
  if (after?.by === 'found') throw changed();
  const sign = isDescending ? -1 : 1;
  const placeOf = (row: Row) => ({
    digit: digitIn(row.facts as number, sort),
    key: row.sort_key as string,
    no: Number(row.no),
  });
  const placed = rows.map((row) => ({ row, place: placeOf(row) })).sort((a, b) => sign * compared(a.place, b.place));
  const from = after ? placed.findIndex(({ place }) => sign * compared(place, after) > 0) : 0;
  const left = from === -1 ? [] : placed.slice(from);
  const last = left.length > limit ? left[limit - 1] : undefined;
  return {
    rows: left.slice(0, limit).map(({ row }) => row),
    total: rows.length,
    isSorted: true,
    next: last && textOf({ by: 'order', ...last.place }),
  };
}

function compared(a: Key & { digit: number }, b: Key & { digit: number }): number {
  return a.digit - b.digit || comparedKeys(a, b);
}

function* asFound(
  db: Db,
  { limit }: FleetQuery,
  isOfFacts: (row: Row) => boolean,
  { finder, test }: Found & { by: 'walk' },
  after: Position | undefined,
): Work<Part> {
  if (after?.by === 'order') throw changed();
  const shown: { row: Row; at: string }[] = [];
  let from: string | undefined = after?.from ?? '';
  for (let looked = 0; from !== undefined && looked < LOOKED_MAX && shown.length <= limit; looked += CHUNK) {
    const some: Candidate[] = yield* finder.find(from, CHUNK);
    const rows = new Map(
      (yield* test(
        yield* rowsOf(
          db,
          some.map(({ no }) => no),
        ),
      )).map((row) => [Number(row.no), row]),
    );
    for (const { no, at } of some) {
      const row = rows.get(no);
      if (row && isOfFacts(row) && finder.isFirst?.(row, at) !== false) shown.push({ row, at });
    }
    from = some.length < CHUNK ? undefined : some.at(-1)?.at;
  }
  const next = shown.length > limit ? shown[limit - 1]?.at : from;
  return {
    rows: shown.slice(0, limit).map(({ row }) => row),
    total: undefined,
    isSorted: false,
    next: next === undefined ? undefined : textOf({ by: 'found', from: next }),
  };
}

// What else is known of those on a page.

const OPEN_RULES = ({ by }: Db['dialect']) => `WITH RECURSIVE named(rule) AS (
    SELECT min(rule) FROM episodes ${by('episodes_open')} WHERE state <> 'closed' AND rule > ''
    UNION ALL SELECT (SELECT min(rule) FROM episodes ${by('episodes_open')} WHERE state <> 'closed' AND rule > named.rule)
    FROM named WHERE named.rule IS NOT NULL)
  SELECT rule FROM named WHERE rule IS NOT NULL`;
const RULES_ON = `SELECT subject, rule AS what FROM episodes WHERE rule IN (SELECT value FROM json_each(?)) AND kind = ?
  AND subject IN (SELECT value FROM json_each(?)) AND state <> 'closed' AND state = 'matching' ORDER BY rule`;
const ACTIONS_ON = `SELECT DISTINCT subject, action AS what FROM claims WHERE status ${OPEN}
  AND subject IN (SELECT value FROM json_each(?)) ORDER BY action`;

function* described(db: Db, kind: SubjectKind, rows: readonly Row[]): Work<ListedSubject[]> {
  if (rows.length === 0) return [];
  const ids = JSON.stringify(rows.map(({ id }) => id));
  const named = JSON.stringify((yield* db.all<{ rule: string }>(OPEN_RULES(db.dialect))).map(({ rule }) => rule));
  const rules = bySubject(yield* db.all<On>(RULES_ON, named, kind, ids));
  const actions = bySubject(yield* db.all<On>(ACTIONS_ON, ids));
  return rows.map((row) => ({
    identity: identityOfRow(row),
    facts: row.facts as number,
    rules: rules.get(row.id as string) ?? [],
    actions: actions.get(row.id as string) ?? [],
  }));
}

interface On {
  subject: string;
  what: string;
}

function bySubject(found: readonly On[]): Map<string, string[]> {
  const of = new Map<string, string[]>();
  for (const { subject, what } of found) of.set(subject, [...(of.get(subject) ?? []), what]);
  return of;
}
