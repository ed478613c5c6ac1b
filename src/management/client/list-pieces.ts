// management client: pieces of paged lists, parsed in whichever thread. In: a piece as bytes. Out: its records, part by part, and what its
// ends show. An error only says that a piece is not as it should be: who fetched it reads the list again, and reports.
import type { ListPiece, PieceRead, RecordBatch } from '../../domain/list-piece.ts';
import type { Lists } from '../../domain/lists.ts';
import { type PageParts, partsOfElements, partsOfPage } from './page-parts.ts';
import { identifying } from './pages.ts';
import { Redactor } from './redactor.ts';
import { recordOfV2 } from './v2-records.ts';

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
