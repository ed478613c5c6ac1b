// history files: the columns of a segment as they are stored: codes into a dictionary. In: the bytes of a whole file whose checksum held. Out: its
// groups of rows, each column decoded when it is asked for. Texts that repeat are one string each, so that 26 million rows are read in seconds.
import { type ColumnMetaData, type FileMetaData, parquetMetadata } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { readRleBitPackedHybrid } from 'hyparquet/src/encoding.js';
import { readPlain } from 'hyparquet/src/plain.js';
import {
  COLUMNS,
  type ColumnName,
  type ForgottenMark,
  GZIP,
  SCHEMA_VERSION,
  type SegmentAbout,
} from './segment-bytes.ts';
import { StoredTexts } from './stored-texts.ts';

/** A value of a row is `dictionary[codes[row]]`, or none for a code of -1. */
export interface CodedColumn<T> {
  codes: Int32Array;
  dictionary: readonly T[];
}

/** The text of a row is `texts.at(codes[row])`, or none for a code of -1. */
export interface TextColumn {
  codes: Int32Array;
  texts: StoredTexts;
}

export interface RowGroup {
  rows: number;
  run(): CodedColumn<number>;
  /** Epoch ms. */
  at(): CodedColumn<number>;
  kind(): CodedColumn<string>;
  subject(): CodedColumn<string>;
  path(): CodedColumn<string>;
  value(): TextColumn;
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
  const groups = metadata.row_groups.map((group): RowGroup => {
    const rows = Number(group.num_rows);
    const metaOf = (name: ColumnName): ColumnMetaData => {
      const meta = group.columns[COLUMNS.indexOf(name)]?.meta_data;
      if (meta?.path_in_schema[0] !== name) throw new UnreadableSegment('damaged', `it has no column ${name}`);
      return meta;
    };
    const numbers = (name: ColumnName): CodedColumn<number> => {
      const dictionary: number[] = [];
      const add = (page: Uint8Array, count: number, type: ColumnMetaData['type']) => {
        for (const value of readPlain(viewOf(page, 0), type, count, undefined)) dictionary.push(Number(value));
      };
      return decode(bytes, metaOf(name), rows, { add, length: () => dictionary.length }, () => ({ dictionary }));
    };
    const stored = (name: ColumnName): TextColumn => {
      const texts = new StoredTexts();
      const how = { add: texts.add.bind(texts), length: () => texts.length };
      return decode(bytes, metaOf(name), rows, how, () => ({ texts }));
    };
    const coded = (name: ColumnName): CodedColumn<string> => {
      const { codes, texts } = stored(name);
      return { codes, dictionary: texts.all() };
    };
    return {
      rows,
      run: () => numbers('run'),
      at: () => numbers('at'),
      kind: () => coded('kind'),
      subject: () => coded('subject'),
      path: () => coded('path'),
      value: () => stored('value'),
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

/** As hyparquet reads a column, but without putting a value in the place of each code. */
function decode<T extends object>(
  bytes: Uint8Array,
  meta: ColumnMetaData,
  rows: number,
  { add, length }: { add(page: Uint8Array, count: number, type: ColumnMetaData['type']): void; length(): number },
  made: () => T,
): { codes: Int32Array } & T {
  const start = Number(meta.dictionary_page_offset ?? meta.data_page_offset);
  const reader = {
    view: new DataView(bytes.buffer, bytes.byteOffset + start, Number(meta.total_compressed_size)),
    offset: 0,
  };
  const codes = new Int32Array(rows);
  let filled = 0;
  while (filled < rows) {
    const header = parquetHeader(reader);
    const stored = bytes.subarray(start + reader.offset, start + reader.offset + header.compressed_page_size);
    reader.offset += header.compressed_page_size;
    if (header.dictionary_page_header) {
      add(unpacked(stored, header.uncompressed_page_size), header.dictionary_page_header.num_values, meta.type);
      continue;
    }
    const page = header.data_page_header_v2;
    if (!page) throw new UnreadableSegment('damaged', `it has a page of another form (${header.type})`);
    const { num_values: values, num_nulls: nulls, definition_levels_byte_length: levelBytes } = page;
    const rest = stored.subarray(levelBytes);
    const size = header.uncompressed_page_size - levelBytes;
    const body = page.is_compressed === false ? rest : unpacked(rest, size);
    const found = new Int32Array(values - nulls);
    if (page.encoding === 'RLE_DICTIONARY') {
      const width = body[0] as number;
      if (width > 0) readRleBitPackedHybrid(viewOf(body, 1), width, found as never, body.length - 1);
    } else {
      const base = length();
      add(body, values - nulls, meta.type);
      for (let index = 0; index < found.length; index++) found[index] = base + index;
    }
    if (filled + values > rows) throw new UnreadableSegment('damaged', 'a column has more rows than its group');
    if (nulls === 0) codes.set(found, filled);
    else spread(found, levelsOf(stored, levelBytes, values), codes.subarray(filled, filled + values));
    filled += values;
  }
  return { codes, ...made() };
}

function unpacked(stored: Uint8Array, size: number): Uint8Array {
  const page = GZIP.decompress(stored);
  if (page.length !== size) throw new UnreadableSegment('damaged', 'a page does not have its length');
  return page;
}

/** 1 where a row has a value. */
function levelsOf(stored: Uint8Array, length: number, rows: number): Uint8Array {
  const levels = new Uint8Array(rows);
  readRleBitPackedHybrid(viewOf(stored, 0), 1, levels as never, length);
  return levels;
}

function spread(found: Int32Array, levels: Uint8Array, into: Int32Array): void {
  let next = 0;
  for (let row = 0; row < levels.length; row++) into[row] = levels[row] === 1 ? (found[next++] as number) : -1;
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array, offset: number): { view: DataView; offset: number } {
  return { view: new DataView(buffer, byteOffset, byteLength), offset };
}
