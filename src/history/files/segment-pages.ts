// history files: the pages of a column, and whether they have the form in which segments are written. In: a file, what its end says of
// a column. Out: pages, not yet unpacked. A tool that writes a segment again gives it pages of another form: they are named before a row is read.
import type { ColumnMetaData, SchemaElement } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';

/** The bytes of a file: in memory, or read when they are asked for. */
export interface SegmentSource {
  size: number;
  read(from: number, to: number): Uint8Array;
}

export type PageHeader = ReturnType<typeof parquetHeader>;

export interface Page {
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
