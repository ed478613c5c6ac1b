// management client: lists of devices and users, in pages or whole, as records or as pieces of bytes. In: a caller and a source. Out: what
// the list has, in order, with its boundaries checked (`pages.ts`).
import { inOrder } from '../../domain/in-order.ts';
import type { ListPiece, PieceRead } from '../../domain/list-piece.ts';
import type { Page } from '../../domain/ports.ts';
import type { Caller } from './caller.ts';
import { asListed, ownBytes, PAGED } from './list-pieces.ts';
import { type PageParts, partsOfPage } from './page-parts.ts';
import { type PagesOptions, readPages, readPieces } from './pages.ts';
import { refuseStatus } from './read-answer.ts';
import { subjectOf } from './requests.ts';

export type PagedSource = 'devices' | 'users';
export type ReadPiece<T> = (piece: ListPiece) => Promise<PieceRead<T>>;

export const UNPAGED = { devices: 'list_devices', users: 'list_endusers', services: 'list_services' } as const;
const PAGE_SIZE = 1_000;
/** Pieces that are parsed, or wait for it, while the next ones are fetched. */
const AHEAD = 4;

export function pagesOf(
  caller: Caller,
  source: PagedSource,
  options: Partial<PagesOptions>,
): AsyncGenerator<Page, void> {
  const { lists, concurrency } = caller.settings;
  const reader = {
    about: subjectOf(PAGED[source][lists].id),
    keyField: PAGED[source].key,
    fetch: (skip: number, limit: number, signal: AbortSignal) => fetchPage(caller, source, skip, limit, signal),
  };
  return readPages(reader, { pageSize: PAGE_SIZE, concurrency, ...options });
}

export function pagesInPieces<T>(
  caller: Caller,
  source: 'devices',
  read: ReadPiece<T>,
): AsyncGenerator<PieceRead<T>, void> {
  const { lists, concurrency } = caller.settings;
  const reader = {
    about: subjectOf(PAGED[source][lists].id),
    fetch: async (skip: number, limit: number, isFirst: boolean, signal: AbortSignal) => {
      const { about, answer } = await fetchAnswer(caller, source, skip, limit, signal);
      refuseStatus(about, answer, answer.body, caller.redactor);
      return read({ source, lists, form: 'page', at: Math.ceil(skip / limit), isFirst, bytes: ownBytes(answer.body) });
    },
  };
  return readPieces(reader, { pageSize: PAGE_SIZE, concurrency: concurrency + AHEAD });
}

export function listInPieces<T>(
  caller: Caller,
  source: 'devices',
  read: ReadPiece<T>,
): AsyncGenerator<PieceRead<T>, void> {
  const pieces = caller.pieces(UNPAGED[source]);
  let at = 0;
  return inOrder(pieces, AHEAD, (bytes) =>
    read({ source, lists: 'v1', form: 'elements', at: at++, isFirst: true, bytes: ownBytes(bytes) }),
  );
}

/** One page, parsed in its turn. */
export async function fetchPage(
  caller: Caller,
  source: PagedSource,
  skip: number,
  limit: number,
  signal?: AbortSignal,
): Promise<() => PageParts> {
  const { about, answer } = await fetchAnswer(caller, source, skip, limit, signal);
  const { lists } = caller.settings;
  return () => asListed(lists, source, partsOfPage(about, answer, PAGED[source].list, caller.redactor));
}

function fetchAnswer(caller: Caller, source: PagedSource, skip: number, limit: number, signal?: AbortSignal) {
  const { lists } = caller.settings;
  const { id, orderBy } = PAGED[source][lists];
  const query =
    lists === 'v1'
      ? { Skip: skip, Limit: limit, Order: 'asc', OrderBy: orderBy }
      : { skip, limit, order: 'asc', order_by: orderBy };
  return caller.fetch(id, { query }, signal);
}
