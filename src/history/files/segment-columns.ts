// history files: the columns of a segment as they are stored: codes into a dictionary. In: the bytes of a whole file whose checksum held. Out: its
// groups of rows, each column decoded when it is asked for. Texts that repeat are one string each, so that 26 million rows are read in seconds.
import { type FileMetaData, parquetMetadata, parquetSchema, type RowGroup as StoredGroup } from 'hyparquet';
import { decompressPage } from 'hyparquet/src/datapage.js';
import type { CompressionCodec, PageHeader } from 'hyparquet/src/types.js';
import { AppError, lineOf } from '../../domain/errors.ts';
import {
  COLUMNS,
  type ColumnName,
  type ColumnPages,
  type ForgottenMark,
  GZIP,
  pagesOf,
  SCHEMA,
  SCHEMA_VERSION,
  type SegmentAbout,
  type SegmentSource,
} from './segment-bytes.ts';

// The codes of one data page, as Parquet packs them: runs of one code, and groups of eight codes bit by bit.

/** What is held of codes that are not complete fits into 32 bits. A group of a segment has at most a million codes, of 20 bits. */
const WIDTH_MAX = 24;

/** Fills all of `codes`. Errors: RangeError for bytes that end too early, or are no codes. */
function unpackCodes(bytes: Uint8Array, width: number, codes: Int32Array | Uint8Array): void {
  if (width > WIDTH_MAX) throw new RangeError(`codes have ${width} bits`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const wholeBytes = (width + 7) >>> 3;
  let at = 0;
  for (let filled = 0; filled < codes.length; ) {
    let header = 0;
    for (let shift = 0, more = true; more; shift += 7) {
      const byte = view.getUint8(at++);
      header |= (byte & 0x7f) << shift;
      more = byte >= 0x80;
    }
    if ((header & 1) === 1) {
      const count = (header >>> 1) * 8;
      // The last group may be filled up with codes that belong to nothing.
      const wanted = Math.min(count, codes.length - filled);
      unpackBits(view, at, width, codes.subarray(filled, filled + wanted));
      at += (header >>> 1) * width;
      filled += count;
    } else {
      let code = 0;
      for (let byte = 0; byte < wholeBytes; byte++) code |= view.getUint8(at++) << (byte * 8);
      const end = Math.min(filled + (header >>> 1), codes.length);
      // A run of none would have it read on for ever.
      if (end === filled) throw new RangeError('a run of codes is empty');
      codes.fill(code, filled, end);
      filled = end;
    }
  }
}

/** The lowest bits come first. */
function unpackBits(view: DataView, from: number, width: number, codes: Int32Array | Uint8Array): void {
  const mask = 2 ** width - 1;
  let at = from;
  let held = 0;
  let bits = 0;
  for (let index = 0; index < codes.length; index++) {
    while (bits < width) {
      held |= view.getUint8(at++) << bits;
      bits += 8;
    }
    codes[index] = held & mask;
    held >>>= width;
    bits -= width;
  }
}

/** A value of a row is `dictionary[codes[row]]`, or none for a code of -1. */
export interface CodedColumn<T> {
  codes: Int32Array;
  dictionary: readonly T[];
}

/** Texts of which most are never asked for: each is made of its bytes when it is. */
export interface CodedTexts {
  codes: Int32Array;
  /** Of codes. */
  count: number;
  /** Several rows may have the same code. */
  repeats: boolean;
  text(code: number): string;
}

export interface RowGroup {
  rows: number;
  run(): CodedColumn<number>;
  /** Epoch ms. */
  at(): CodedColumn<number>;
  kind(): CodedColumn<string>;
  subject(): CodedColumn<string>;
  path(): CodedColumn<string>;
  value(): CodedTexts;
}

export interface SegmentColumns {
  about: SegmentAbout;
  rows: number;
  groups: readonly RowGroup[];
}

/** Why a file cannot be read. `gone`: it was merged or removed since the folder was listed. */
export class UnreadableSegment extends AppError {
  constructor(
    readonly reason: 'damaged' | 'foreign' | 'version' | 'gone',
    message: string,
    cause?: unknown,
  ) {
    super('store_failed', message, { cause });
  }
}

export function bytesOf(bytes: Uint8Array): SegmentSource {
  return { size: bytes.length, read: (from, to) => bytes.subarray(from, to) };
}

/** Errors: UnreadableSegment; what was packed wrong is `damaged` when a column is decoded. */
export function readColumns(source: SegmentSource): SegmentColumns {
  const metadata = metadataOf(source);
  const said = new Map(metadata.key_value_metadata?.map(({ key, value }) => [key, value ?? '']));
  const version = said.get('trustward.schema');
  if (version === undefined) throw new UnreadableSegment('foreign', 'it is no segment of a history');
  if (version !== String(SCHEMA_VERSION)) {
    throw new UnreadableSegment(
      'version',
      `it has schema ${version}, and this version of Trustward reads ${SCHEMA_VERSION}`,
    );
  }
  const about: SegmentAbout = {
    program: said.get('trustward.program') ?? '',
    address: said.get('trustward.address') ?? '',
    forgotten: forgottenOf(said.get('trustward.forgotten')),
  };
  const tree = parquetSchema(metadata);
  const groups = metadata.row_groups.map((group) => groupOf(source, tree, group));
  return { about, rows: Number(metadata.num_rows), groups };
}

function groupOf(source: SegmentSource, tree: SchemaTree, group: StoredGroup): RowGroup {
  const rows = Number(group.num_rows);
  // A form of another kind is found before a row is read.
  for (const index of COLUMNS.keys()) columnOf(source, tree, group, index, rows);
  const stored = (name: ColumnName): StoredColumn => {
    try {
      return readStored(columnOf(source, tree, group, COLUMNS.indexOf(name), rows), rows);
    } catch (error) {
      if (error instanceof UnreadableSegment) throw error;
      const text = `a segment of the history cannot be decoded (${lineOf(error)}): \`trustward history verify\` names it`;
      throw new UnreadableSegment('damaged', text, error);
    }
  };
  return {
    rows,
    run: () => numbersOf(stored('run'), 4, (view, at) => view.getInt32(at, true)),
    at: () => numbersOf(stored('at'), 8, (view, at) => Number(view.getBigInt64(at, true))),
    kind: () => allTextsOf(stored('kind')),
    subject: () => allTextsOf(stored('subject')),
    path: () => allTextsOf(stored('path')),
    value: () => textsOf(stored('value')),
  };
}

function columnOf(source: SegmentSource, tree: SchemaTree, group: StoredGroup, index: number, rows: number): Column {
  const child = tree.children[index];
  const meta = group.columns[index]?.meta_data;
  const [name, wanted] = [COLUMNS[index], SCHEMA[index + 1]];
  try {
    if (!child || !meta || !wanted) throw new Error('nothing');
    const isOptional = child.element.repetition_type === 'OPTIONAL';
    return { pages: pagesOf(source, meta, child.element, wanted, rows), codec: meta.codec, isOptional };
  } catch (error) {
    throw new UnreadableSegment('damaged', `its column ${name} is of another form (${lineOf(error)})`, error);
  }
}

function forgottenOf(text = '[]'): ForgottenMark[] {
  try {
    return JSON.parse(text) as ForgottenMark[];
  } catch {
    throw new UnreadableSegment('damaged', 'what was removed from it cannot be read');
  }
}

/** The end of a file: the length of the metadata before it, and a word. */
const FOOTER_BYTES = 8;

function metadataOf({ size, read }: SegmentSource): FileMetaData {
  try {
    const footer = read(size - FOOTER_BYTES, size);
    const length = new DataView(footer.buffer, footer.byteOffset).getUint32(0, true);
    return parquetMetadata(read(Math.max(0, size - FOOTER_BYTES - length), size));
  } catch {
    throw new UnreadableSegment('foreign', 'it is no Parquet file');
  }
}

type SchemaTree = ReturnType<typeof parquetSchema>;
const COMPRESSORS = { GZIP: GZIP.decompress };

interface Column {
  pages: ColumnPages;
  codec: CompressionCodec;
  isOptional: boolean;
}

/** A column as it is stored: the plain bytes of its dictionary, and a code for each row. */
interface StoredColumn {
  codes: Int32Array;
  count: number;
  dictionary: Uint8Array;
}

/** As hyparquet reads a column, but without putting a value in the place of each code. */
function readStored({ pages, codec, isOptional }: Column, rows: number): StoredColumn {
  const { header, bytes } = pages.dictionary;
  const dictionary = decompressPage(bytes, header.uncompressed_page_size, codec, COMPRESSORS);
  const codes = new Int32Array(rows);
  let filled = 0;
  for (const page of pages.data) {
    const end = filled + (page.header.data_page_header_v2?.num_rows ?? 0);
    readPage(page.bytes, page.header, codec, isOptional, codes.subarray(filled, end));
    filled = end;
  }
  return { codes, count: header.dictionary_page_header?.num_values ?? 0, dictionary };
}

/** Of an optional column, which rows have a value comes before the codes of those that do. */
function readPage(
  page: Uint8Array,
  { data_page_header_v2: about, uncompressed_page_size: size }: PageHeader,
  codec: CompressionCodec,
  isOptional: boolean,
  codes: Int32Array,
): void {
  const {
    definition_levels_byte_length: levelsSize = 0,
    is_compressed: isCompressed,
    num_nulls: nulls = 0,
  } = about ?? {};
  const packed = page.subarray(levelsSize);
  const data = isCompressed === false ? packed : decompressPage(packed, size - levelsSize, codec, COMPRESSORS);
  const values = codes.length - nulls;
  if (values > 0) unpackCodes(data.subarray(1), data[0] as number, codes.subarray(0, values));
  if (!isOptional || nulls === 0) return;
  const levels = new Uint8Array(codes.length);
  unpackCodes(page.subarray(0, levelsSize), 1, levels);
  for (let row = codes.length - 1, next = values; row >= 0; row--) {
    codes[row] = levels[row] === 1 ? (codes[--next] as number) : -1;
  }
}

function numbersOf(
  { codes, count, dictionary }: StoredColumn,
  size: number,
  read: (view: DataView, at: number) => number,
): CodedColumn<number> {
  const view = new DataView(dictionary.buffer, dictionary.byteOffset, dictionary.byteLength);
  return { codes, dictionary: Array.from({ length: count }, (_, code) => read(view, code * size)) };
}

/** Each text is its length in four bytes, then itself. */
function textsOf({ codes, count, dictionary }: StoredColumn): CodedTexts {
  const bytes = Buffer.from(dictionary.buffer, dictionary.byteOffset, dictionary.byteLength);
  const starts = new Uint32Array(count + 1);
  for (let code = 0, at = 0; code < count; code++) {
    at += 4 + bytes.readUInt32LE(at);
    starts[code + 1] = at;
  }
  const text = (code: number) => bytes.toString('utf8', (starts[code] as number) + 4, starts[code + 1]);
  return { codes, count, repeats: 2 * count < codes.length, text };
}

function allTextsOf(stored: StoredColumn): CodedColumn<string> {
  const { codes, count, text } = textsOf(stored);
  return { codes, dictionary: Array.from({ length: count }, (_, code) => text(code)) };
}
