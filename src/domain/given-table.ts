// domain: a source of facts from elsewhere as records are judged by it: its rows, packed into memory that all threads share. In: rows by folded key.
// Out: the row of a record, and why there is none that counts. INVARIANT: a row of a source in doubt is never read.
import { spanText } from '../base/time.ts';
import { factText } from './fact-packs.ts';
import { type Facts, ownText } from './facts.ts';
import { GIVEN_KEYS, type GivenKey, type GivenSource } from './given-facts.ts';
import { nameKey } from './identity.ts';

/** `unread`: no reading is known; `stale`: its data is too old; `untrusted`: the trust gate refused it. */
export const GIVEN_DOUBTS = ['unread', 'stale', 'untrusted'] as const;

export interface GivenDoubt {
  why: (typeof GIVEN_DOUBTS)[number];
  /** For people. */
  text: string;
}

/** What a run knows of a source; plain data. */
export interface GivenState {
  source: string;
  key: GivenKey;
  /** Of its rows; empty: none are known. */
  hash: string;
  /** The time of its data, and when it was read, epoch ms; undefined: never. */
  atMs: number | undefined;
  readAt: number | undefined;
  /** Later it is stale. */
  freshUntilMs: number;
  /** Why it is no better when it is fresh. */
  doubt: GivenDoubt | undefined;
}

/** Plain data over shared memory: other threads take it as it is. */
export interface GivenTable extends GivenState {
  rows: PackedRows;
  /** Fields that its source did not have when it was read: they are unknown in each row. Absent: it had all. */
  lacking?: readonly string[] | undefined;
}

/** By the names of the sources. */
export type GivenTables = ReadonlyMap<string, GivenTable>;

/** Beside a row's key: several rows have it, so that none counts. */
export const REPEATED = 'repeated';
export type GivenRow = Facts | typeof REPEATED;

/** In a rule's tests, in place of a row. */
export const GIVEN_WORDS = [...GIVEN_DOUBTS, REPEATED] as const;

export interface PackedRows {
  count: number;
  /** Each row: its key, a line feed, its JSON. */
  bytes: Uint8Array;
  /** By hash of the key, where its row begins and ends, as a pair; both 0: free. INVARIANT: at most half of the places are taken. */
  places: Uint32Array;
}

const END_OF_KEY = '\n';

export function packRows(rows: Iterable<readonly [key: string, row: GivenRow]>): PackedRows {
  const texts: [string, Buffer][] = [];
  // The first place is never 0, which is a free one.
  let length = 1;
  for (const [key, row] of rows) {
    const text = Buffer.from(`${key}${END_OF_KEY}${row === REPEATED ? '' : factText(row)}`);
    texts.push([key, text]);
    length += text.length;
  }
  const size = 2 ** Math.ceil(Math.log2(2 * texts.length + 2));
  const bytes = new Uint8Array(new SharedArrayBuffer(length));
  const places = new Uint32Array(new SharedArrayBuffer(8 * size));
  let at = 1;
  for (const [key, text] of texts) {
    bytes.set(text, at);
    let place = hashOf(key) & (size - 1);
    while (places[2 * place] !== 0) place = (place + 1) & (size - 1);
    places.set([at, at + text.length], 2 * place);
    at += text.length;
  }
  return { count: texts.length, bytes, places };
}

export const NO_ROWS: PackedRows = packRows([]);

/** In place of their count, for the history: it has these rows already, or they do not count. */
export const ROWS_AS_BEFORE = -1;

/** FNV-1a: names collide by chance or on purpose; then a look-up takes longer, and finds the same. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at += 1) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return hash ^ (hash >>> 15);
}

export function rowOf({ bytes, places }: PackedRows, key: string): GivenRow | undefined {
  const size = places.length / 2;
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let place = hashOf(key) & (size - 1); places[2 * place] !== 0; place = (place + 1) & (size - 1)) {
    const text = buffer.toString('utf8', places[2 * place], places[2 * place + 1]);
    if (text.startsWith(key) && text[key.length] === END_OF_KEY) return rowIn(text.slice(key.length + 1));
  }
  return undefined;
}

/** In no order. */
export function* rowsOf({ bytes, places }: PackedRows): Generator<[key: string, row: GivenRow]> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let place = 0; place < places.length; place += 2) {
    if (places[place] === 0) continue;
    const text = buffer.toString('utf8', places[place], places[place + 1]);
    const end = text.indexOf(END_OF_KEY);
    yield [text.slice(0, end), rowIn(text.slice(end + 1))];
  }
}

function rowIn(text: string): GivenRow {
  if (text === '') return REPEATED;
  return (/\d{16}/.test(text) ? JSON.parse(text, exact) : JSON.parse(text)) as Facts;
}

/** No digit is lost of a number beyond 2^53. */
function exact(_: string, value: unknown, { source = '' }: { source?: string } = {}): unknown {
  return typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? BigInt(source) : value;
}

/** The folded key by which a record is found in a source; undefined: it has none. */
export function givenKeyOf(key: GivenKey, record: Facts): string | undefined {
  const name = nameKey(ownText(record, GIVEN_KEYS[key].field) ?? '');
  return name === '' || name.includes(END_OF_KEY) ? undefined : name;
}

/** A source that nobody read. */
export function unreadTable({ name, key }: Pick<GivenSource, 'name' | 'key'>, text: string): GivenTable {
  const doubt = { why: 'unread', text } as const;
  const never = { hash: '', atMs: undefined, readAt: undefined, freshUntilMs: Number.NEGATIVE_INFINITY };
  return { source: name, key: key.is, ...never, doubt, rows: NO_ROWS };
}

/**
 * Recorded tables as these sources would have them: one of another key or place was never read, and a field that was read otherwise is unknown. `recorded`: the
 * sources of the rules that were in force.
 */
export function tablesFor(
  sources: readonly GivenSource[],
  tables: GivenTables,
  recorded: readonly GivenSource[],
): GivenTables {
  const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
  const found = new Map(tables);
  for (const source of sources) {
    const [table, was] = [tables.get(source.name), recorded.find(({ name }) => name === source.name)];
    if (!table || !was) continue;
    const isOther = !isSame([was.key, was.origin], [source.key, source.origin]);
    const lacking = source.fields.filter((field) => !was.fields.some((one) => isSame(one, field)));
    const freshUntilMs = table.atMs === undefined ? table.freshUntilMs : table.atMs + source.freshMs;
    const again = { ...table, freshUntilMs, ...(lacking.length > 0 && { lacking: lacking.map(({ name }) => name) }) };
    found.set(source.name, isOther ? unreadTable(source, 'has not been read from there, or by this key') : again);
  }
  return found;
}

/** Why none of its rows counts at a time; undefined: they do. */
export function doubtAt({ doubt, freshUntilMs, atMs }: GivenState, nowMs: number): GivenDoubt | undefined {
  if (doubt || nowMs <= freshUntilMs) return doubt;
  const text = `its data is ${spanText(nowMs - (atMs ?? 0))} old, and counted for ${spanText(freshUntilMs - (atMs ?? 0))}`;
  return { why: 'stale', text };
}
