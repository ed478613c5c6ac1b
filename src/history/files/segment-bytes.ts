// history files: the bytes of one segment in Parquet. In: rows, in order, and what they are of. Out: the bytes of the whole file.
// Columns have dictionaries, since ids, paths and values repeat; measured at 9 bytes a row for a day of 3,000 changes a run.
import { gunzipSync, gzipSync } from 'node:zlib';
import {
  type ColumnMetaData,
  type FileMetaData,
  type KeyValue,
  parquetMetadata,
  parquetSchema,
  type SchemaElement,
  type RowGroup as StoredGroup,
} from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { decompressPage } from 'hyparquet/src/datapage.js';
import type { ColumnChunk, CompressionCodec, PageHeader } from 'hyparquet/src/types.js';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { AppError, lineOf } from '../../domain/errors.ts';
import type { AddRow, HistoryRow, RowKind } from '../codec/run-encoder.ts';
import { ColumnCoder, GROUP_ROWS, RecentCodes } from './column-coder.ts';
import { stepDone } from './steps.ts';

/** Of the rows and their kinds. A reader refuses any other. */
const SCHEMA_VERSION = 1;

/** What the file says of itself, beside its rows. */
export interface SegmentAbout {
  /** Such as `trustward 0.1.0`. */
  program: string;
  /** The API address that the records are of. */
  address: string;
  /** What was removed from it, the oldest first. */
  forgotten: readonly ForgottenMark[];
}

/** Never names whose records they were. */
interface ForgottenMark {
  atMs: number;
  rows: number;
  /** The first and the last run whose rows they were, epoch ms. */
  fromMs: number;
  toMs: number;
}

export const GZIP = {
  compress: (bytes: Uint8Array): Uint8Array => gzipSync(bytes, { level: 1 }),
  decompress: (bytes: Uint8Array): Uint8Array => gunzipSync(bytes),
};

/** INVARIANT: the names and types of the columns are those of SCHEMA_VERSION. */
export const COLUMNS = ['run', 'at', 'kind', 'subject', 'path', 'value'] as const;
type ColumnName = (typeof COLUMNS)[number];

const text = (name: string, repetition_type: 'REQUIRED' | 'OPTIONAL'): SchemaElement => ({
  name,
  type: 'BYTE_ARRAY',
  converted_type: 'UTF8',
  repetition_type,
});
export const SCHEMA: SchemaElement[] = [
  { name: 'root', num_children: COLUMNS.length },
  { name: 'run', type: 'INT32', repetition_type: 'REQUIRED' },
  {
    name: 'at',
    type: 'INT64',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: false, unit: 'MILLIS' },
    repetition_type: 'REQUIRED',
  },
  text('kind', 'REQUIRED'),
  text('subject', 'REQUIRED'),
  text('path', 'REQUIRED'),
  text('value', 'OPTIONAL'),
];

/** Bytes of a group and those before it that nobody has taken yet. */
class BytesSoFar extends ByteWriter {
  constructor(private readonly taken: ((bytes: Uint8Array) => boolean) | undefined) {
    super();
  }

  /** Called after each group of rows. */
  flush(): void {
    if (this.taken?.(this.getBytes())) this.index = 0;
  }
}

/** Takes rows, then gives the bytes. It holds one group of rows, and the bytes of those before it that were not taken. */
export class SegmentBytes {
  readonly #about: SegmentAbout;
  readonly #bytes: BytesSoFar;
  readonly #parquet: ParquetWriter;
  readonly #columns = columnsOf(SCHEMA);
  /** Of the group. */
  #held = 0;
  #rows = 0;
  #fromMs = Number.POSITIVE_INFINITY;
  #toMs = Number.NEGATIVE_INFINITY;

  /** `taken`: asked after each group of rows: whether its bytes, and those before them, are kept elsewhere now. */
  constructor(about: SegmentAbout, taken?: (bytes: Uint8Array) => boolean) {
    this.#about = about;
    this.#bytes = new BytesSoFar(taken);
    this.#parquet = new ParquetWriter({
      writer: this.#bytes,
      schema: SCHEMA,
      kvMetadata: metadataOf(about),
      createdBy: about.program,
    });
  }

  get rows(): number {
    return this.#rows;
  }

  /** When the first and the last run of the rows began; undefined without rows. */
  get times(): { fromMs: number; toMs: number } | undefined {
    return this.#rows === 0 ? undefined : { fromMs: this.#fromMs, toMs: this.#toMs };
  }

  readonly add: AddRow = (run, at, kind, subject, path, value) => {
    const row = this.#held;
    const columns = this.#columns;
    columns.run.put(row, run);
    columns.at.put(row, at);
    columns.kind.put(row, kind);
    columns.subject.put(row, subject);
    columns.path.put(row, path);
    columns.value.put(row, value);
    if (this.#rows === 0) this.#fromMs = at;
    this.#toMs = at;
    this.#rows++;
    this.#held++;
    if (this.#held === GROUP_ROWS) this.#flush();
  };

  addRow({ run, at, kind, subject, path, value }: HistoryRow): void {
    this.add(run, at, kind, subject, path, value);
  }

  /** Rows whose run was not known when they were made. */
  addAhead(ahead: RowsAhead, run: number, at: number, kind: RowKind): void {
    for (const { rows, bytes, chunks } of ahead.groups()) {
      this.#flush();
      const { run: runs, at: times, kind: kinds } = this.#columns;
      for (let row = 0; row < rows; row++) {
        runs.put(row, run);
        times.put(row, at);
        kinds.put(row, kind);
      }
      const from = this.#bytes.offset;
      const columns = [runs, times, kinds].map((column) => column.write(this.#bytes, rows));
      const place = BigInt(this.#bytes.offset);
      this.#bytes.appendBytes(bytes);
      if (this.#rows === 0) this.#fromMs = at;
      this.#toMs = at;
      this.#rows += rows;
      this.#addGroup(rows, from, [...columns, ...chunks.map((chunk) => movedBy(place, chunk))]);
    }
  }

  /** What has not been taken. */
  finish(): Uint8Array {
    this.#flush();
    this.#parquet.finish();
    return this.#bytes.getBytes();
  }

  #flush(): void {
    const rows = this.#held;
    if (rows === 0) return;
    const from = this.#bytes.offset;
    this.#addGroup(
      rows,
      from,
      COLUMNS.map((name) => this.#columns[name].write(this.#bytes, rows)),
    );
    this.#held = 0;
  }

  #addGroup(rows: number, from: number, columns: ColumnChunk[]): void {
    this.#parquet.num_rows += BigInt(rows);
    this.#parquet.row_groups.push({
      columns,
      total_byte_size: columns.reduce((sum, { meta_data: of }) => sum + (of?.total_uncompressed_size ?? 0n), 0n),
      num_rows: BigInt(rows),
      total_compressed_size: BigInt(this.#bytes.offset - from),
    });
    this.#bytes.flush();
    stepDone();
  }

  /** The program and the address, for one more file of the same. */
  get about(): SegmentAbout {
    return this.#about;
  }
}

/** Of a group whose rows have no run yet: the other columns, whose places are within these bytes. */
interface GroupAhead {
  rows: number;
  bytes: Uint8Array;
  chunks: ColumnChunk[];
}

/** Where groups lie until their run is known. */
export interface GroupStore {
  append(bytes: Uint8Array): void;
  read(from: number, to: number): Uint8Array;
  discard(): void;
}

/** Subjects, paths and values of one kind, before the run that saw them is known: which it is, and whether it is trusted, shows when all are read. */
export class RowsAhead {
  readonly #columns = columnsOf(SCHEMA);
  readonly #made: (Omit<GroupAhead, 'bytes'> & { from: number; to: number })[] = [];
  #held = 0;

  constructor(private readonly store: GroupStore) {}

  add(subject: string, path: string, value: string | undefined): void {
    const columns = this.#columns;
    columns.subject.put(this.#held, subject);
    columns.path.put(this.#held, path);
    columns.value.put(this.#held, value);
    this.#held++;
    if (this.#held === GROUP_ROWS) this.#flush();
  }

  /** They are written, or never will be. */
  discard(): void {
    this.store.discard();
  }

  *groups(): Generator<GroupAhead> {
    this.#flush();
    for (const { rows, chunks, from, to } of this.#made) yield { rows, chunks, bytes: this.store.read(from, to) };
  }

  #flush(): void {
    const rows = this.#held;
    if (rows === 0) return;
    const { subject, path, value } = this.#columns;
    const writer = new ByteWriter();
    const chunks = [subject, path, value].map((column) => column.write(writer, rows));
    const from = this.#made.at(-1)?.to ?? 0;
    this.store.append(writer.getBytes());
    this.#made.push({ rows, chunks, from, to: from + writer.offset });
    this.#held = 0;
    stepDone();
  }
}

/** The same chunk elsewhere. */
function movedBy(place: bigint, { meta_data: of, file_offset, ...chunk }: ColumnChunk): ColumnChunk {
  return {
    ...chunk,
    file_offset: place + file_offset,
    ...(of && {
      meta_data: {
        ...of,
        data_page_offset: place + of.data_page_offset,
        dictionary_page_offset: place + (of.dictionary_page_offset ?? 0n),
      },
    }),
  };
}

function columnsOf([root, run, at, kind, subject, path, value]: SchemaElement[]) {
  const coder = <T extends string | number>(element: SchemaElement | undefined, known?: RecentCodes) =>
    new ColumnCoder<T>(root as SchemaElement, element as SchemaElement, GZIP.compress, known as never);
  return {
    ...{ run: coder<number>(run), at: coder<number>(at), kind: coder<string>(kind) },
    ...{ subject: coder<string>(subject), path: coder<string>(path), value: coder<string>(value, new RecentCodes()) },
  };
}

/** Rows and times are in the columns and the name: what is here cannot be known from those. */
function metadataOf({ program, address, forgotten }: SegmentAbout): KeyValue[] {
  return [
    { key: 'trustward.schema', value: String(SCHEMA_VERSION) },
    { key: 'trustward.program', value: program },
    { key: 'trustward.address', value: address },
    { key: 'trustward.forgotten', value: JSON.stringify(forgotten) },
  ];
}

// The name of a segment: its places, level, number of rewrites, times and checksum.

/**
 * A run's own segment; those of an hour and of a day, which are segments one after another; and what held after the run of the last place.
 */
export type SegmentLevel = 'run' | 'hour' | 'day' | 'base';

export interface SegmentName {
  /** Each recorded run has a place: 1, 2, 3 …, in the order of recording. Of a base, both are the place after which it holds. */
  first: number;
  last: number;
  level: SegmentLevel;
  /** How often something was removed from it. Of two with the same places the one with more holds. */
  rewrites: number;
  /** When its first and its last run began, epoch ms. The clock may have been set back between them. */
  fromMs: number;
  toMs: number;
  /** SHA-256 of the file, in hex. */
  sha256: string;
}

export function fileNameOf({ first, last, level, rewrites, fromMs, toMs, sha256 }: SegmentName): string {
  return `${placeText(first)}-${placeText(last)}.${level}.${rewrites}.${stamp(fromMs)}.${stamp(toMs)}.${sha256}.parquet`;
}

/** Undefined: it is the name of no segment. */
export function parseFileName(name: string): SegmentName | undefined {
  const found = NAME.exec(name);
  if (!found) return undefined;
  const [, first, last, level, rewrites, from, to, sha256] = found as unknown as [string, ...string[]];
  const parsed: SegmentName = {
    first: Number(first),
    last: Number(last),
    level: level as SegmentLevel,
    rewrites: Number(rewrites),
    fromMs: timeOf(from as string),
    toMs: timeOf(to as string),
    sha256: sha256 as string,
  };
  return fileNameOf(parsed) === name ? parsed : undefined;
}

/** The folder of a time: one a day, UTC. */
export function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

export const DAY_FOLDER = /^\d{4}-\d{2}-\d{2}$/;

const NAME = /^(\d{8,})-(\d{8,})\.(run|hour|day|base)\.(\d+)\.(\d{8}T\d{9}Z)\.(\d{8}T\d{9}Z)\.([0-9a-f]{64})\.parquet$/;

function placeText(place: number): string {
  return String(place).padStart(8, '0');
}

function stamp(atMs: number): string {
  return new Date(atMs).toISOString().replace(/[-:.]/g, '');
}

function timeOf(text: string): number {
  const [, year, month, day, hour, minute, second, ms] = STAMP.exec(text) as unknown as [string, ...string[]];
  return Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
    Number(ms),
  );
}

const STAMP = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})(\d{3})Z$/;

// The pages of a column, and whether they have the form in which segments are written.

/** The bytes of a file: in memory, or read when they are asked for. */
export interface SegmentSource {
  size: number;
  read(from: number, to: number): Uint8Array;
}

type ReadHeader = ReturnType<typeof parquetHeader>;

interface Page {
  header: ReadHeader;
  bytes: Uint8Array;
}

interface ColumnPages {
  dictionary: Page;
  data: Page[];
}

/** Errors: a line of what is of another form, or that of a decoder. */
function pagesOf(
  source: SegmentSource,
  meta: ColumnMetaData,
  stored: SchemaElement | undefined,
  wanted: SchemaElement,
  rows: number,
): ColumnPages {
  const forms = [
    [stored?.name, wanted.name],
    [meta.path_in_schema.join('.'), wanted.name],
    [stored?.type, wanted.type],
    [meta.type, wanted.type],
    [stored?.repetition_type, wanted.repetition_type],
    [meta.codec, 'GZIP'],
  ];
  for (const [is, should] of forms) demand(is, should);
  const from = Number(meta.dictionary_page_offset ?? meta.data_page_offset);
  const bytes = source.read(from, from + Number(meta.total_compressed_size));
  const reader = { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), offset: 0 };
  const next = (): Page => {
    const header = parquetHeader(reader);
    const page = new Uint8Array(bytes.buffer, bytes.byteOffset + reader.offset, header.compressed_page_size);
    reader.offset += header.compressed_page_size;
    return { header, bytes: page };
  };
  const dictionary = next();
  demand(dictionary.header.type, 'DICTIONARY_PAGE');
  demand(dictionary.header.dictionary_page_header?.encoding, 'PLAIN');
  const data: Page[] = [];
  for (let found = 0; found < rows; ) {
    const page = next();
    demand(page.header.type, 'DATA_PAGE_V2');
    demand(page.header.data_page_header_v2?.encoding, 'RLE_DICTIONARY');
    found += page.header.data_page_header_v2?.num_rows ?? rows;
    if (found > rows) throw new Error('more rows than its group');
    data.push(page);
  }
  return { dictionary, data };
}

function demand(is: string | undefined, should: string | undefined): void {
  if (is !== should) throw new Error(`${is ?? 'nothing'} where ${should} is written`);
}

// The columns of a segment as they are stored: codes into a dictionary. In: the bytes of a whole file whose checksum held. Out: its
// groups of rows, each column decoded when it is asked for. Texts that repeat are one string each, so that 26 million rows are read in seconds.

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
  const metadata = footerOf(source);
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

function footerOf({ size, read }: SegmentSource): FileMetaData {
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
