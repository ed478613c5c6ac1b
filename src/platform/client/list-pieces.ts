// management client: pieces of paged lists, parsed in whichever thread. In: a piece as bytes. Out: its records, part by part, and what its
// ends show. An error only says that a piece is not as it should be: who fetched it reads the list again, and reports.
import { setMaxListeners } from 'node:events';
import { inOrder } from '../../base/turns.ts';
import { type Fact, type Facts, isFacts, own } from '../../domain/facts.ts';
import {
  type ListPiece,
  type Lists,
  type PieceRead,
  type RecordBatch,
  V2_FACTS,
  type V2Type,
} from '../../domain/lists.ts';
import type { Page } from '../../domain/ports.ts';
import { stringifyExact } from '../contract/exact-json.ts';
import { problem, type Subject } from './fault.ts';
import { type PageParts, partsOfElements, partsOfPage, wholePage } from './page-parts.ts';
import { Redactor } from './redactor.ts';

// A paged list, several pages at once, in order, with every shift between two pages noticed.

interface PageReader {
  about: Subject;
  /** The field that identifies a record. */
  keyField: string;
  /** An unparsed page. It is parsed in its turn: waiting pages are kept as bytes, without objects. */
  fetch(skip: number, limit: number, signal: AbortSignal): Promise<() => PageParts>;
}

export interface PagesOptions {
  /** Records per request. */
  pageSize: number;
  /** Pages under way at once. */
  concurrency: number;
}

/**
 * All pages of a list, a large one in parts; an empty list is one empty page. Memory: the bytes of `concurrency` pages. Errors: AppError `api_answer` with
 * cause `shifted` when the list changed meanwhile (read it again from the start), and those of `fetch`.
 */
export async function* readPages(reader: PageReader, options: PagesOptions): AsyncGenerator<Page, void> {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal); // one listener a page under way
  try {
    const first = wholePage((await reader.fetch(0, options.pageSize, stop.signal))());
    const size = first.records.length;
    const { total } = first;
    if (total !== undefined && total > 0 && size === 0) throw shifted(reader, 0);
    yield first;
    if (size === 0) return;
    // A server without paging returns everything; its whole array is proof enough.
    if (size > options.pageSize) {
      if (total !== undefined && total !== size) throw shifted(reader, size);
      return;
    }
    if (total !== undefined && total > size && size > 1) {
      yield* readCounted(reader, options, { last: first.records.at(-1), size, total }, stop.signal);
    } else {
      yield* readUncounted(reader, options, first, stop.signal);
    }
  } finally {
    stop.abort();
  }
}

/** A reader that parses pages elsewhere. `isFirst`: no page is before it. */
interface PieceReader<T> {
  about: Subject;
  fetch(skip: number, limit: number, isFirst: boolean, signal: AbortSignal): Promise<PieceRead<T>>;
}

/** All pages of a counted list, read several at once, with the checks of `readPages`. Errors: the same. */
export async function* readPieces<T>(
  reader: PieceReader<T>,
  options: PagesOptions,
): AsyncGenerator<PieceRead<T>, void> {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  try {
    const first = await reader.fetch(0, options.pageSize, true, stop.signal);
    const { count: size, total } = first;
    if (total === undefined || size <= 1 || size > options.pageSize || total < size) throw uncounted(reader);
    yield first;
    if (total === size) return;
    let { last } = first;
    const ahead = inOrder(skipsOf(size, total), options.concurrency, async (skip) => ({
      skip,
      page: await reader.fetch(skip, size, false, stop.signal),
    }));
    for await (const { skip, page } of ahead) {
      if (page.count > 0 && page.first !== last) throw shifted(reader, skip);
      const counted = page.total ?? total;
      if (skip === total ? counted > total : counted !== total) throw shifted(reader, skip);
      if (page.count !== Math.min(size, total - skip)) throw shifted(reader, skip);
      last = page.last;
      yield { ...page, total };
    }
  } finally {
    stop.abort();
  }
}

function uncounted({ about }: { about: Subject }): Error {
  return problem('api_answer', about, 'garbage', 'the answer is not a page of a counted list');
}

/** The total is known: pages are requested ahead. `size` is the server's maximum, which may be less than requested. */
async function* readCounted(
  reader: PageReader,
  options: PagesOptions,
  start: { last: unknown; size: number; total: number },
  signal: AbortSignal,
): AsyncGenerator<Page, void> {
  const { size, total } = start;
  let last = start.last;
  for await (const { skip, read } of inOrder(skipsOf(size, total), options.concurrency, async (skip) => ({
    skip,
    read: await reader.fetch(skip, size, signal),
  }))) {
    const parts = read();
    let seen = 0;
    let part = parts.next();
    for (; !part.done; part = parts.next()) {
      const { records } = part.value;
      if (seen === 0 && !isSameRecord(reader, records[0], last)) throw shifted(reader, skip);
      yield { records: seen === 0 ? records.slice(1) : records, total };
      seen += records.length;
      last = records.at(-1);
    }
    const counted = part.value ?? total;
    // The last is read past the end: nothing is there, and the total has not grown by now.
    if (skip === total ? counted > total : counted !== total) throw shifted(reader, skip);
    if (seen !== Math.min(size, total - skip)) throw shifted(reader, skip);
  }
}

/** Each page begins with its predecessor's last record; the last of all is the read past the end. */
function* skipsOf(size: number, total: number): Generator<number, void> {
  for (let skip = size - 1; skip < total - 1; skip += size - 1) yield skip;
  yield total;
}

/** No total, or one that may be the page's own size: one page after the other, until a read past the end is empty. */
async function* readUncounted(
  reader: PageReader,
  options: PagesOptions,
  first: Page,
  signal: AbortSignal,
): AsyncGenerator<Page, void> {
  let last = first.records.at(-1);
  let position = first.records.length;
  for (;;) {
    const page = wholePage((await reader.fetch(position - 1, options.pageSize, signal))());
    if (page.records.length > options.pageSize) throw shifted(reader, position - 1);
    if (!isSameRecord(reader, page.records[0], last)) throw shifted(reader, position - 1);
    let records = page.records.slice(1);
    let total = page.total;
    if (records.length === 0) {
      const beyond = wholePage((await reader.fetch(position, options.pageSize, signal))());
      if (beyond.records.length === 0) return;
      // Only a server that gives one record at a time may still have one here.
      if (beyond.records.length > 1) throw shifted(reader, position);
      records = beyond.records;
      total = beyond.total;
    }
    const isPagesOwn = total === undefined || total === page.records.length || total === records.length;
    if (!isPagesOwn && total !== first.total) throw shifted(reader, position);
    last = records.at(-1);
    position += records.length;
    yield { records, total: undefined };
  }
}

function isSameRecord({ keyField }: PageReader, a: unknown, b: unknown): boolean {
  if (a === undefined || b === undefined) return false;
  return identifying(keyField, a) === identifying(keyField, b);
}

/** What identifies a record: its key; without one, all of it. */
function identifying(keyField: string, record: unknown): string {
  const key = isFacts(record) && Object.hasOwn(record, keyField) ? record[keyField] : undefined;
  return typeof key === 'string' && key !== '' ? `key ${key}` : `record ${stringifyExact(record)}`;
}

function shifted(reader: { about: Subject }, skip: number): Error {
  const words = `the list changed while it was read (noticed at record ${skip}): it is read again on the next run`;
  return problem('api_answer', reader.about, 'shifted', words);
}

// Records of version 2 as records of version 1, right where they come in: nothing behind this file knows of another
// shape. In: a parsed record of a v2 list. Out: the facts of the table in domain/lists.ts under the names of version 1,
// integers exact. Pure. INVARIANT: it never guesses: a field that is missing or of another type is absent, also one in
// the shape of version 1.

interface Step {
  from: readonly string[];
  key: string;
  /** The field of version 1 that holds it: `TrustData`. */
  within: string | undefined;
  as: V2Type;
}

const STEPS = { devices: stepsOf('devices'), users: stepsOf('users') };

/** What is no record stays as it is: reading it reports what it is. */
export function recordOfV2(source: 'devices' | 'users', value: unknown): unknown {
  if (!isFacts(value)) return value;
  const record: Facts = {};
  for (const { from, key, within, as } of STEPS[source]) {
    let found: Fact | undefined = value;
    for (const name of from) found = own(found, name);
    const fact = converted(found, as);
    if (fact === undefined) continue;
    if (within === undefined) record[key] = fact;
    else record[within] = { ...(record[within] as Facts | undefined), [key]: fact };
  }
  return record;
}

function stepsOf(source: 'devices' | 'users'): Step[] {
  return V2_FACTS[source].map(({ v1, v2, as }) => {
    const [first = '', second] = v1.split('.');
    const path = second === undefined ? { key: first, within: undefined } : { key: second, within: first };
    return { from: v2.split('.'), ...path, as };
  });
}

function converted(value: Fact | undefined, as: V2Type): Fact | undefined {
  switch (as) {
    case 'text':
      return typeof value === 'string' ? value : undefined;
    case 'flag':
      return isBit(value) ? (value ? 'TRUE' : 'FALSE') : undefined;
    case 'boolean':
      return isBit(value) ? Boolean(value) : undefined;
    case 'time':
      return isNanoseconds(value) ? value : undefined;
    case 'texts':
      return Array.isArray(value) && value.every((each) => typeof each === 'string') ? value : undefined;
  }
}

/** Servers differ: some send booleans, others 0 and 1. */
function isBit(value: Fact | undefined): value is boolean | 0 | 1 {
  return typeof value === 'boolean' || value === 0 || value === 1;
}

/** From 1973 on, their magnitude shows that they are no seconds, milliseconds or microseconds. Such an integer is always a bigint. */
function isNanoseconds(value: Fact | undefined): value is number | bigint {
  return value === 0 || (typeof value === 'bigint' && value >= 10n ** 17n && value < 10n ** 20n);
}

/** How each paged source is read, by version. Version 2 refuses names of parameters that it does not know, and is sorted by what is unique. */
export const PAGED = {
  devices: {
    v1: { id: 'list_devices', orderBy: 'serialnumber' },
    v2: { id: 'list_devices_v2', orderBy: 'id' },
    list: 'devices',
    key: 'DeviceID',
  },
  users: {
    v1: { id: 'list_endusers', orderBy: 'email' },
    v2: { id: 'list_endusers_v2', orderBy: 'email' },
    list: 'endusers',
    key: 'Email',
  },
} as const;

/** Parses a piece; `take` receives its records in batches, without the one that the piece before had. Errors: AppError `api_answer`. */
export function readPiece<T>(piece: ListPiece, take: (batches: Iterable<RecordBatch>) => T): PieceRead<T> {
  const { list, key } = PAGED[piece.source];
  const about = { method: 'GET', path: list };
  const body = Buffer.from(piece.bytes.buffer, piece.bytes.byteOffset, piece.bytes.byteLength);
  const ends = { count: 0, first: undefined as string | undefined, last: undefined as string | undefined };
  let total: number | undefined;
  function* batches(): Generator<RecordBatch, void> {
    const answer = { status: 200, headers: {}, body };
    const parts =
      piece.form === 'page'
        ? asListed(piece.lists, piece.source, partsOfPage(about, answer, list, new Redactor()))
        : partsOfElements(about, body);
    let step = parts.next();
    for (; !step.done; step = parts.next()) {
      const { records, bytes } = step.value;
      const isOverlap = !piece.isFirst && ends.count === 0;
      if (ends.count === 0) ends.first = identifying(key, records[0]);
      ends.count += records.length;
      ends.last = identifying(key, records.at(-1));
      yield isOverlap ? { records: records.slice(1), bytes } : step.value;
    }
    total = step.value ?? undefined;
  }
  const result = take(batches());
  return { ...ends, total, result };
}

/** The parts of a page, with their records in the shape of version 1. */
export function asListed(lists: Lists, source: 'devices' | 'users', parts: PageParts): PageParts {
  return lists === 'v1' ? parts : mapped(source, parts);
}

function* mapped(source: 'devices' | 'users', parts: PageParts): PageParts {
  let step = parts.next();
  for (; !step.done; step = parts.next()) {
    const { records, bytes } = step.value;
    yield { records: records.map((record) => recordOfV2(source, record)), bytes };
  }
  return step.value;
}

/** The bytes with a buffer of their own, which can be passed to another thread. */
export function ownBytes(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const isWhole = bytes.byteLength === bytes.buffer.byteLength && bytes.buffer instanceof ArrayBuffer;
  return isWhole ? new Uint8Array(bytes.buffer as ArrayBuffer) : new Uint8Array(bytes);
}
