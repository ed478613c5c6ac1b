// history files: a column of a group of rows, as it is written in Parquet: its values once each, and a code for each row. In: values, row by row. Out: its
// bytes, and what the file says of them. The library's own way would look through all values again.
import type { ColumnChunk, ParquetType, SchemaElement } from 'hyparquet';
import type { ByteWriter } from 'hyparquet-writer';
import { writeDataPageV2, writePageHeader } from 'hyparquet-writer/src/datapage.js';
import { GrowingBytes } from '../../base/growing.ts';
import { placeOf } from '../../base/text.ts';

/** Whoever reads or writes a segment holds one group: with 250,000 rows, recording 200,000 devices took 300 MB more. */
export const GROUP_ROWS = 50_000;

export class ColumnCoder<T extends string | number> {
  private readonly codes: Int32Array = new Int32Array(GROUP_ROWS);
  private readonly bytes = new GrowingBytes();
  private count = 0;
  private nones = 0;
  private last: T | undefined;
  private lastCode = 0;

  constructor(
    private readonly root: SchemaElement,
    private readonly element: SchemaElement,
    private readonly compress: (bytes: Uint8Array) => Uint8Array,
    private readonly known: KnownCodes<T> = new AllCodes(),
  ) {}

  /** Undefined: none, in an optional column. */
  put(row: number, value: T | undefined): void {
    if (value === undefined) {
      this.nones++;
      this.codes[row] = NO_CODE;
      return;
    }
    // Rows of one run, and of one subject, follow each other.
    if (value !== this.last || this.count === 0) {
      this.last = value;
      this.lastCode = this.codeOf(value);
    }
    this.codes[row] = this.lastCode;
  }

  private codeOf(value: T): number {
    const known = this.known.of(value, this.count);
    if (known === this.count) {
      this.append(value);
      this.count++;
    }
    return known;
  }

  private append(value: T): void {
    const { bytes } = this;
    if (typeof value === 'string') {
      const at = bytes.skip(LENGTH_BYTES);
      const length = bytes.addText(value);
      bytes.all.writeUInt32LE(length, at);
      return;
    }
    const at = bytes.skip(this.element.type === 'INT64' ? 8 : 4);
    if (this.element.type === 'INT64') bytes.all.writeBigInt64LE(BigInt(value), at);
    else bytes.all.writeInt32LE(value as number, at);
  }

  /** As the library writes a column with a dictionary, which it would look for again. It is empty afterwards. */
  write(writer: ByteWriter, rows: number): ColumnChunk {
    const { element, nones } = this;
    const codes = this.codes.subarray(0, rows);
    const from = writer.offset;
    const values = this.bytes.taken();
    const packed = this.compress(values);
    writePageHeader(writer, {
      type: 'DICTIONARY_PAGE',
      uncompressed_page_size: values.length,
      compressed_page_size: packed.length,
      dictionary_page_header: { num_values: this.count, encoding: 'PLAIN' },
    });
    const plain = writer.offset - from + values.length;
    writer.appendBytes(packed);
    const pages = writer.offset;
    const isOptional = element.repetition_type === 'OPTIONAL';
    const size = writeDataPageV2({
      writer,
      column: {
        ...{ columnName: element.name, element, schemaPath: [this.root, element], codec: 'GZIP' },
        ...{ compressors: { GZIP: this.compress }, stats: false, pageSize: Number.POSITIVE_INFINITY },
        ...{ columnIndex: false, offsetIndex: false },
      },
      encoding: 'RLE_DICTIONARY',
      pageData: {
        values: nones === 0 ? codes : Array.from(codes, (code) => (code === NO_CODE ? null : code)),
        definitionLevels: isOptional ? Array.from(codes, (code) => (code === NO_CODE ? 0 : 1)) : [],
        repetitionLevels: [],
        maxDefinitionLevel: isOptional ? 1 : 0,
      },
    });
    [this.count, this.nones] = [0, 0];
    this.known.clear();
    return {
      meta_data: {
        ...{
          type: element.type as ParquetType,
          encodings: ['PLAIN', 'RLE_DICTIONARY'],
          path_in_schema: [element.name],
        },
        ...{ codec: 'GZIP', num_values: BigInt(rows) },
        total_compressed_size: BigInt(writer.offset - from),
        total_uncompressed_size: BigInt(plain + size),
        data_page_offset: BigInt(pages),
        dictionary_page_offset: BigInt(from),
      },
      file_offset: BigInt(from),
    };
  }
}

const NO_CODE = -1;
const LENGTH_BYTES = 4;

interface KnownCodes<T> {
  /** Its code; `fresh`, which is its code from now on: it has none. */
  of(value: T, fresh: number): number;
  clear(): void;
}

/** INVARIANT: a value has one code: that of a subject is looked for. */
class AllCodes<T> implements KnownCodes<T> {
  private readonly codes = new Map<T, number>();

  of(value: T, fresh: number): number {
    const known = this.codes.get(value);
    if (known === undefined) this.codes.set(value, fresh);
    return known ?? fresh;
  }

  clear(): void {
    this.codes.clear();
  }
}

/** A power of two. */
const RECENT = 8_192;

/** A text that comes again long after it came last has another code: whoever knew all of them would keep as many texts alive. */
export class RecentCodes implements KnownCodes<string> {
  private readonly texts: (string | undefined)[] = new Array(RECENT);
  private readonly codes = new Int32Array(RECENT);

  of(text: string, fresh: number): number {
    const place = placeOf(text, RECENT);
    if (this.texts[place] === text) return this.codes[place] as number;
    this.texts[place] = text;
    this.codes[place] = fresh;
    return fresh;
  }

  clear(): void {
    this.texts.fill(undefined);
  }
}
