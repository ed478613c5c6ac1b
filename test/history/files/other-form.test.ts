// test: a segment whose checksum holds and whose content is not as segments are written: a tool wrote it again, or another version did. In: segments.
// Out: a gap that names the file and what is of another form, from each reader; never an internal error, never rows.
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { HistoryGap } from '../../../src/domain/recorded-history.ts';
import { rowsOf } from '../../../src/history/files/begin.ts';
import { forgetSubject, verifyHistory } from '../../../src/history/files/forget.ts';
import { historyReader } from '../../../src/history/files/read-items.ts';
import { COLUMNS, fileNameOf, GZIP, SCHEMA } from '../../../src/history/files/segment-bytes.ts';
import { listHistory, readSegment, type SegmentFile } from '../../../src/history/files/segment-files.ts';
import { HistoryWriter, tidyHistory } from '../../../src/history/files/tidy.ts';
import { FolderRecording } from '../../../src/history/record/folder-recording.ts';
import { PRINT_KEY } from '../../support/print-key.ts';
import { plainDecoder } from './plain-decoder.ts';
import { DAY, HOUR, lastRows, runRows, type Said, START } from './rows.ts';

const ABOUT = { program: 'trustward 0.1.0', address: 'http://127.0.0.1:1' };
let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'history-')), 'db.history');
  const writer = new HistoryWriter(folder, ABOUT);
  for (const day of [0, 1, 2]) {
    if (day > 0)
      writer.writeBase([{ at: START, kind: 'device', subject: 'd1', path: 'Day', value: `${day}` }], START + day * DAY);
    for (const run of [1, 2])
      writer.writeRun(runRows(day * 2 + run, START + day * DAY + run * HOUR, [device('Day', `${day}.${run}`)]));
  }
});
afterEach(() => rmSync(dirname(folder), { recursive: true }));

const device = (path: string, value?: string): Said => ['device', 'd1', path, value];
const ofRun = (place: number) =>
  listHistory(folder).segments.find(({ first, level }) => first === place && level === 'run') as SegmentFile;
const bases = () => listHistory(folder).segments.filter(({ level }) => level === 'base');

interface Form {
  schema?: SchemaElement[];
  version?: string;
  forgotten?: string;
  codec?: 'GZIP' | 'SNAPPY' | 'UNCOMPRESSED';
  encoding?: 'PLAIN' | 'RLE_DICTIONARY';
}

/** The same rows, written as something else would write them. */
function writtenAgain(segment: SegmentFile, form: Form): Uint8Array {
  const { schema = SCHEMA, version = '1', forgotten = '[]', codec = 'GZIP', encoding = 'RLE_DICTIONARY' } = form;
  const rows = [...rowsOf(readSegment(segment))];
  const writer = new ByteWriter();
  const parquet = new ParquetWriter({
    writer,
    schema,
    codec,
    compressors: { GZIP: GZIP.compress },
    kvMetadata: Object.entries({ schema: version, address: ABOUT.address, forgotten }).map(([key, value]) => ({
      key: `trustward.${key}`,
      value,
    })),
  });
  const columnData = schema.slice(1).map(({ name, type }) => ({
    name,
    encoding,
    data: rows.map((row) => {
      const value = row[name as (typeof COLUMNS)[number]] ?? null;
      return type === 'INT64' ? BigInt(value as number) : value;
    }),
  }));
  parquet.write({ rowGroupSize: rows.length, columnData });
  parquet.finish();
  return writer.getBytes();
}

/** One bit of what is packed, so that the file has its form still. */
function packedWrong(segment: SegmentFile): Uint8Array {
  const bytes = readFileSync(segment.file);
  const magic = bytes.indexOf(Buffer.from([0x1f, 0x8b]));
  bytes[magic + 12] = (bytes[magic + 12] as number) ^ 0xff;
  return bytes;
}

/** With the checksum that its name has. */
function replace(segment: SegmentFile, bytes: Uint8Array): void {
  writeFileSync(segment.file, bytes);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  renameSync(segment.file, join(dirname(segment.file), fileNameOf({ ...segment, sha256 })));
}

async function read(): Promise<{ order: string[]; gaps: HistoryGap[] }> {
  const [order, gaps]: [string[], HistoryGap[]] = [[], []];
  const { items } = historyReader({ folder, address: ABOUT.address, newDecoder: plainDecoder });
  for await (const item of items({ fromMs: 0, toMs: START + 9 * DAY })) {
    order.push(item.kind === 'gap' ? item.gap.cause : item.kind === 'run' ? `${item.run.frame.run.seq}` : item.kind);
    if (item.kind === 'gap') gaps.push(item.gap);
    if (item.kind === 'state') for await (const _ of item.facts);
  }
  return { order, gaps };
}

const without = (name: string) => SCHEMA.filter((one) => one.name !== name).map(counted);
const counted = (one: SchemaElement, index: number): SchemaElement =>
  index === 0 ? { ...one, num_children: COLUMNS.length - 1 } : one;
const optional = SCHEMA.map((one, index) => (index === 0 ? one : { ...one, repetition_type: 'OPTIONAL' as const }));

const FORMS: [string, (segment: SegmentFile) => Uint8Array, HistoryGap['cause'], RegExp][] = [
  ['is packed otherwise', (one) => writtenAgain(one, { codec: 'SNAPPY' }), 'damaged', /SNAPPY where GZIP is written/],
  ['is not packed', (one) => writtenAgain(one, { codec: 'UNCOMPRESSED' }), 'damaged', /column run is of another form/],
  ['has no dictionaries', (one) => writtenAgain(one, { encoding: 'PLAIN' }), 'damaged', /DICTIONARY_PAGE is written/],
  [
    'may lack values',
    (one) => writtenAgain(one, { schema: optional }),
    'damaged',
    /OPTIONAL where REQUIRED is written/,
  ],
  ['lacks a column', (one) => writtenAgain(one, { schema: without('path') }), 'damaged', /value where path is written/],
  ['has notes of another form', (one) => writtenAgain(one, { forgotten: '{' }), 'damaged', /was removed from it/],
  [
    'is of a later version',
    (one) => writtenAgain(one, { version: '2' }),
    'version',
    /it has schema 2, and this version/,
  ],
  ['is packed wrong', packedWrong, 'damaged', /it cannot be decoded/],
];

it.each(FORMS)('a segment that %s is a gap that names it, for every reader', async (_, form, cause, text) => {
  replace(ofRun(2), form(ofRun(2)));
  const { order, gaps } = await read();
  expect(order).toEqual(['state', '1', cause, 'state', '3', '4', '5', '6']);
  expect(gaps[0]?.text).toMatch(text);
  expect(gaps[0]?.text).toContain('2026-06-01/');
  const { problems } = verifyHistory(folder, ABOUT.address);
  expect(problems).toMatchObject([
    { file: expect.stringContaining('2026-06-01/') },
    { text: expect.stringMatching(/lost/) },
  ]);
  expect(problems[0]?.text).toMatch(text);
  const forgotten = forgetSubject(folder, { subject: { kind: 'device', id: 'd1' }, atMs: START, standIn: 'x' });
  expect(forgotten.unreadable).toEqual([ofRun(2).file]);
  await expect(reader().ruleSet('h1')).resolves.toBeUndefined();
});

const UNREADABLE = FORMS.filter(([, form]) => form !== packedWrong);

it.each(UNREADABLE)(
  'a base that %s is left out, and the runs before it serve, for readers and a recorder',
  async (_, form) => {
    for (const base of bases()) replace(base, form(base));
    expect((await read()).order).toEqual(['state', '1', '2', '3', '4', '5', '6']);
    expect(await lastRows(folder, ABOUT.address)).toMatchObject([{ subject: 'd1', value: '2.2' }]);
  },
);

it('a recorder whose base is packed wrong begins anew, with a base of its own', async () => {
  for (const base of bases()) replace(base, packedWrong(base));
  await new FolderRecording({ folder, ...ABOUT, keepMs: 30 * DAY, printKey: PRINT_KEY }).presentPrints(
    'device',
    'paged',
  );
  expect(bases()).toHaveLength(3);
  expect(await lastRows(folder, ABOUT.address)).toEqual([]);
});

it.each(FORMS)('a segment that %s stays where it is when those around it are merged', async (_, form, cause) => {
  replace(ofRun(4), form(ofRun(4)));
  const { file } = ofRun(4);
  await tidyHistory(folder, { ...ABOUT, nowMs: START + 3 * DAY, keepMs: 30 * DAY });
  expect(listHistory(folder).segments.map((one) => one.file)).toContain(file);
  expect((await read()).order).toEqual(['state', '1', '2', '3', cause, 'state', '5', '6']);
});

function reader() {
  return historyReader({ folder, address: ABOUT.address, newDecoder: plainDecoder });
}
