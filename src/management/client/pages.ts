// management client: a paged list, several pages at once, in order, with every shift between two pages noticed. In: a
// function that reads one page. Out: pages without gaps or repeats. Neighbours overlap by one record: a list that moved
// during the read shows different records on the two sides. It must never rely on a server's count alone.

import { setMaxListeners } from 'node:events';
import { isFacts } from '../../domain/facts.ts';
import { inOrder } from '../../domain/in-order.ts';
import type { PieceRead } from '../../domain/list-piece.ts';
import type { Page } from '../../domain/ports.ts';
import { stringifyExact } from '../contract/exact-json.ts';
import { problem, type Subject } from './fault.ts';
import { type PageParts, wholePage } from './page-parts.ts';

export interface PageReader {
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
export interface PieceReader<T> {
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
export function identifying(keyField: string, record: unknown): string {
  const key = isFacts(record) && Object.hasOwn(record, keyField) ? record[keyField] : undefined;
  return typeof key === 'string' && key !== '' ? `key ${key}` : `record ${stringifyExact(record)}`;
}

function shifted(reader: { about: Subject }, skip: number): Error {
  const words = `the list changed while it was read (noticed at record ${skip}): it is read again on the next run`;
  return problem('api_answer', reader.about, 'shifted', words);
}
