// history files: the columns of a segment as they are stored: codes into a dictionary. In: the bytes of a whole file whose checksum held. Out: its
// groups of rows, each column decoded when it is asked for. Texts that repeat are one string each, so that 26 million rows are read in seconds.
import { type ColumnMetaData, type FileMetaData, parquetMetadata, parquetSchema } from 'hyparquet';
import { parquetHeader, readPage } from 'hyparquet/src/column.js';
import { readDataPageV2 } from 'hyparquet/src/datapage.js';
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
    const column = <T>(name: ColumnName, convert: (raw: unknown) => T): CodedColumn<T> => {
      const meta = group.columns[COLUMNS.indexOf(name)]?.meta_data;
      const child = tree.children[COLUMNS.indexOf(name)];
      if (meta?.path_in_schema[0] !== name || !child)
        throw new UnreadableSegment('damaged', `it has no column ${name}`);
      return decode(bytes, meta, [tree, child], rows, convert);
    };
    return {
      rows,
      run: () => column('run', Number),
      at: () => column('at', Number),
      kind: () => column('kind', textOf),
      subject: () => column('subject', textOf),
      path: () => column('path', textOf),
      value: () => lazily(column('value', (raw) => raw as Uint8Array)),
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

type ColumnDecoder = Parameters<typeof readPage>[2];
type SchemaPath = ColumnDecoder['schemaPath'];

/** As hyparquet reads a column, but without putting a text in the place of each code. */
function decode<T>(
  bytes: Uint8Array,
  meta: ColumnMetaData,
  schemaPath: SchemaPath,
  rows: number,
  convert: (raw: unknown) => T,
): CodedColumn<T> {
  const start = Number(meta.dictionary_page_offset ?? meta.data_page_offset);
  const length = Number(meta.total_compressed_size);
  const reader = { view: new DataView(bytes.buffer, bytes.byteOffset + start, length), offset: 0 };
  const decoder = {
    pathInSchema: meta.path_in_schema,
    type: meta.type,
    element: (schemaPath[1] as SchemaPath[number]).element,
    schemaPath,
    codec: meta.codec,
    compressors: { GZIP: GZIP.decompress },
  } as unknown as ColumnDecoder;
  const codes = new Int32Array(rows);
  let dictionary: T[] = [];
  let filled = 0;
  while (filled < rows) {
    const header = parquetHeader(reader);
    if (header.type === 'DICTIONARY_PAGE') {
      dictionary = mapped(readPage(reader, header, decoder, undefined, undefined, 0).data ?? [], convert);
      continue;
    }
    const page = header.data_page_header_v2;
    if (!page) throw new UnreadableSegment('damaged', `it has a page of another form (${header.type})`);
    const from = bytes.byteOffset + start + reader.offset;
    const compressed = new Uint8Array(bytes.buffer, from, header.compressed_page_size);
    reader.offset += header.compressed_page_size;
    const { definitionLevels, dataPage } = readDataPageV2(compressed, header, decoder);
    let next = 0;
    const isCoded = page.encoding === 'RLE_DICTIONARY';
    const base = dictionary.length;
    if (!isCoded) for (let index = 0; index < dataPage.length; index++) dictionary.push(convert(dataPage[index]));
    for (let row = 0; row < page.num_rows; row++) {
      const isThere = definitionLevels === undefined || definitionLevels.length === 0 || definitionLevels[row] === 1;
      codes[filled++] = isThere ? (isCoded ? (dataPage[next++] as number) : base + next++) : -1;
    }
  }
  return { codes, dictionary };
}

function lazily({ codes, dictionary }: CodedColumn<Uint8Array>): CodedTexts {
  const count = dictionary.length;
  return { codes, count, repeats: count < codes.length, text: (code) => textOf(dictionary[code]) };
}

function mapped<T>(raw: ArrayLike<unknown>, convert: (raw: unknown) => T): T[] {
  const values = new Array<T>(raw.length);
  for (let index = 0; index < raw.length; index++) values[index] = convert(raw[index]);
  return values;
}

function textOf(raw: unknown): string {
  const { buffer, byteOffset, byteLength } = raw as Uint8Array;
  return Buffer.from(buffer, byteOffset, byteLength).toString();
}
