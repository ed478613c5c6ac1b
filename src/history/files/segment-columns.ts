// history files: the columns of a segment as they are stored: codes into a dictionary. In: the bytes of a whole file whose checksum held. Out: its
// groups of rows, each column decoded when it is asked for. Texts that repeat are one string each, so that 26 million rows are read in seconds.
import { type ColumnMetaData, type FileMetaData, parquetMetadata, parquetSchema } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { decompressPage, readDataPageV2 } from 'hyparquet/src/datapage.js';
import {
  COLUMNS,
  type ColumnName,
  type ForgottenMark,
  GZIP,
  SCHEMA_VERSION,
  type SegmentAbout,
} from './segment-bytes.ts';

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
export class UnreadableSegment extends Error {
  constructor(
    readonly reason: 'damaged' | 'foreign' | 'version' | 'gone',
    message: string,
  ) {
    super(message);
  }
}

/** Errors: UnreadableSegment `foreign` or `version`; what is damaged may also throw when a column is decoded. */
export function readColumns(bytes: Uint8Array): SegmentColumns {
  const metadata = metadataOf(bytes);
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
    forgotten: JSON.parse(said.get('trustward.forgotten') ?? '[]') as ForgottenMark[],
  };
  const tree = parquetSchema(metadata);
  const groups = metadata.row_groups.map((group): RowGroup => {
    const rows = Number(group.num_rows);
    const stored = (name: ColumnName): StoredColumn => {
      const meta = group.columns[COLUMNS.indexOf(name)]?.meta_data;
      const child = tree.children[COLUMNS.indexOf(name)];
      if (meta?.path_in_schema[0] !== name || !child)
        throw new UnreadableSegment('damaged', `it has no column ${name}`);
      return readStored(bytes, meta, [tree, child], rows);
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
  });
  return { about, rows: Number(metadata.num_rows), groups };
}

function metadataOf(bytes: Uint8Array): FileMetaData {
  try {
    return parquetMetadata(bytes);
  } catch {
    throw new UnreadableSegment('foreign', 'it is no Parquet file');
  }
}

type ColumnDecoder = Parameters<typeof readDataPageV2>[2];
type SchemaPath = ColumnDecoder['schemaPath'];

/** A column as it is stored: the plain bytes of its dictionary, and a code for each row. */
interface StoredColumn {
  codes: Int32Array;
  count: number;
  dictionary: Uint8Array;
}

/** As hyparquet reads a column, but without putting a value in the place of each code. INVARIANT: every column has a dictionary. */
function readStored(bytes: Uint8Array, meta: ColumnMetaData, schemaPath: SchemaPath, rows: number): StoredColumn {
  const start = bytes.byteOffset + Number(meta.dictionary_page_offset ?? meta.data_page_offset);
  const reader = { view: new DataView(bytes.buffer, start, Number(meta.total_compressed_size)), offset: 0 };
  const compressors = { GZIP: GZIP.decompress };
  const element = (schemaPath[1] as SchemaPath[number]).element;
  const decoder = { type: meta.type, element, schemaPath, codec: meta.codec, compressors } as unknown as ColumnDecoder;
  const column: StoredColumn = { codes: new Int32Array(rows), count: 0, dictionary: new Uint8Array() };
  for (let filled = 0; filled < rows; ) {
    const header = parquetHeader(reader);
    const page = new Uint8Array(bytes.buffer, start + reader.offset, header.compressed_page_size);
    reader.offset += header.compressed_page_size;
    if (header.dictionary_page_header) {
      column.dictionary = decompressPage(page, header.uncompressed_page_size, meta.codec, compressors);
      column.count = header.dictionary_page_header.num_values;
    } else if (header.data_page_header_v2?.encoding === 'RLE_DICTIONARY') {
      filled = fill(column.codes, filled, header.data_page_header_v2.num_rows, readDataPageV2(page, header, decoder));
    } else throw new UnreadableSegment('damaged', `it has a page of another form (${header.type})`);
  }
  return column;
}

function fill(
  codes: Int32Array,
  from: number,
  rows: number,
  { definitionLevels, dataPage }: ReturnType<typeof readDataPageV2>,
): number {
  const levels = definitionLevels?.length ? definitionLevels : undefined;
  let next = 0;
  for (let row = 0; row < rows; row++) {
    codes[from + row] = levels === undefined || levels[row] === 1 ? (dataPage[next++] as number) : -1;
  }
  return from + rows;
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
