// history files: the bytes of one segment in Parquet. In: rows, in order, and what they are of. Out: the bytes of the whole file.
// Columns have dictionaries, since ids, paths and values repeat; measured at 9 bytes a row for a day of 3,000 changes a run.
import { gunzipSync, gzipSync } from 'node:zlib';
import type { ColumnMetaData, KeyValue, SchemaElement } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { HistoryRow } from '../codec/run-encoder.ts';
import { stepDone } from './steps.ts';

/** Of the rows and their kinds. A reader refuses any other. */
export const SCHEMA_VERSION = 1;

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
export interface ForgottenMark {
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

/** Whoever reads or writes a segment holds one group: with 250,000 rows, recording 200,000 devices took 300 MB more. */
const GROUP_ROWS = 50_000;

/** INVARIANT: the names and types of the columns are those of SCHEMA_VERSION. */
export const COLUMNS = ['run', 'at', 'kind', 'subject', 'path', 'value'] as const;
export type ColumnName = (typeof COLUMNS)[number];

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
  #group = emptyGroup();
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
      codec: 'GZIP',
      compressors: { GZIP: GZIP.compress },
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

  add(run: number, at: number, kind: string, subject: string, path: string, value: string | undefined): void {
    const group = this.#group;
    group.run.push(run);
    group.at.push(at);
    group.kind.push(kind);
    group.subject.push(subject);
    group.path.push(path);
    group.value.push(value ?? null);
    if (this.#rows === 0) this.#fromMs = at;
    this.#toMs = at;
    this.#rows++;
    if (group.run.length >= GROUP_ROWS) this.#flush();
  }

  addRow({ run, at, kind, subject, path, value }: HistoryRow): void {
    this.add(run, at, kind, subject, path, value);
  }

  /** What has not been taken. */
  finish(): Uint8Array {
    this.#flush();
    this.#parquet.finish();
    return this.#bytes.getBytes();
  }

  #flush(): void {
    const { run, at, kind, subject, path, value } = this.#group;
    if (run.length === 0) return;
    this.#parquet.write({
      rowGroupSize: run.length,
      columnData: [
        { name: 'run', data: run, encoding: 'RLE_DICTIONARY' },
        { name: 'at', data: at.map(BigInt), encoding: 'RLE_DICTIONARY' },
        { name: 'kind', data: kind, encoding: 'RLE_DICTIONARY' },
        { name: 'subject', data: subject, encoding: 'RLE_DICTIONARY' },
        { name: 'path', data: path, encoding: 'RLE_DICTIONARY' },
        { name: 'value', data: value, encoding: 'RLE_DICTIONARY' },
      ],
    });
    this.#group = emptyGroup();
    stepDone();
  }

  /** The program and the address, for one more file of the same. */
  get about(): SegmentAbout {
    return this.#about;
  }
}

interface Group {
  run: number[];
  at: number[];
  kind: string[];
  subject: string[];
  path: string[];
  value: (string | null)[];
}

function emptyGroup(): Group {
  return { run: [], at: [], kind: [], subject: [], path: [], value: [] };
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

type PageHeader = ReturnType<typeof parquetHeader>;

interface Page {
  header: PageHeader;
  bytes: Uint8Array;
}

export interface ColumnPages {
  dictionary: Page;
  data: Page[];
}

/** Errors: a line of what is of another form, or that of a decoder. */
export function pagesOf(
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
