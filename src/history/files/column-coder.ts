// history files: a column of a group of rows, as it is written in Parquet: its values once each, and a code for each row. In: values, row by row. Out: its
// bytes, and what the file says of them. The library's own way would look through all values again.
import type { ColumnChunk, ParquetType, SchemaElement } from 'hyparquet';
import type { ByteWriter } from 'hyparquet-writer';
import { writeDataPageV2, writePageHeader } from 'hyparquet-writer/src/datapage.js';
import { placeOf } from '../../base/text.ts';

/** Whoever reads or writes a segment holds one group: with 250,000 rows, recording 200,000 devices took 300 MB more. */
export const GROUP_ROWS = 50_000;

export class ColumnCoder<T extends string | number> {
  private readonly codes: Int32Array = new Int32Array(GROUP_ROWS);
  private bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  private end = 0;
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
    if (typeof value === 'string') {
      // Of UTF-8, a unit has three bytes at most.
      this.makeRoom(LENGTH_BYTES + 3 * value.length);
      const from = this.end + LENGTH_BYTES;
      const to = from + writeText(this.bytes, value, from);
      this.bytes.writeUInt32LE(to - from, this.end);
      this.end = to;
    } else {
      this.makeRoom(8);
      this.end =
        this.element.type === 'INT64'
          ? this.bytes.writeBigInt64LE(BigInt(value), this.end)
          : this.bytes.writeInt32LE(value as number, this.end);
    }
  }

  private makeRoom(length: number): void {
    if (this.end + length <= this.bytes.length) return;
    const bytes = Buffer.allocUnsafeSlow(Math.max(2 * this.bytes.length, this.end + length));
    this.bytes.copy(bytes, 0, 0, this.end);
    this.bytes = bytes;
  }

  /** As the library writes a column with a dictionary, which it would look for again. It is empty afterwards. */
  write(writer: ByteWriter, rows: number): ColumnChunk {
    const { element, nones } = this;
    const codes = this.codes.subarray(0, rows);
    const from = writer.offset;
    const packed = this.compress(this.bytes.subarray(0, this.end));
    writePageHeader(writer, {
      type: 'DICTIONARY_PAGE',
      uncompressed_page_size: this.end,
      compressed_page_size: packed.length,
      dictionary_page_header: { num_values: this.count, encoding: 'PLAIN' },
    });
    const plain = writer.offset - from + this.end;
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
    [this.end, this.count, this.nones] = [0, 0, 0];
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
const FIRST_BYTES = 65_536;
const LENGTH_BYTES = 4;
/** A call of the platform for fewer characters takes longer than a loop. */
const SHORT = 32;

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

/** Returns how many bytes it takes. */
function writeText(bytes: Buffer, text: string, from: number): number {
  if (text.length > SHORT) return bytes.write(text, from);
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit > 0x7f) return bytes.write(text, from);
    bytes[from + at] = unit;
  }
  return text.length;
}
