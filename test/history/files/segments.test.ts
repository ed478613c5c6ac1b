// test: segments: the rows that were written are the rows that are read; a file is whole or not there. In: a folder. Out: rows, names, modes.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HistoryRow } from '../../../src/history/codec/run-encoder.ts';
import { rowsOf } from '../../../src/history/files/begin.ts';
import { fileNameOf, parseFileName, SegmentBytes } from '../../../src/history/files/segment-bytes.ts';
import { bytesOf, readColumns } from '../../../src/history/files/segment-columns.ts';
import { listHistory, readSegment } from '../../../src/history/files/segment-files.ts';
import { HistoryWriter } from '../../../src/history/files/tidy.ts';
import { HOUR, runRows, START } from './rows.ts';

const ABOUT = { program: 'trustward 0.1.0', address: 'http://127.0.0.1:1' };
let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'history-')), 'db.history');
});
afterEach(() => rmSync(join(folder, '..'), { recursive: true }));

const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('', 'a', 'b', 'DeviceID'));
const row = fc.record<HistoryRow>({
  run: fc.nat(),
  at: fc.integer({ min: 0, max: 4e12 }),
  kind: fc.constantFrom('device', 'user', 'event', 'run'),
  subject: text,
  path: text,
  value: fc.option(text, { nil: undefined }),
});

describe('a segment', () => {
  it('has every row that was written, in order, whatever is in it', () => {
    fc.assert(
      fc.property(fc.array(row, { maxLength: 60 }), (rows) => {
        const bytes = new SegmentBytes({ ...ABOUT, forgotten: [] });
        for (const one of rows) bytes.addRow(one);
        const columns = readColumns(bytesOf(bytes.finish()));
        expect([...rowsOf(columns)]).toEqual(rows);
        expect(columns.about).toEqual({ ...ABOUT, forgotten: [] });
      }),
    );
  });

  it('has every row where there are more than one page and one group hold', () => {
    const bytes = new SegmentBytes({ ...ABOUT, forgotten: [] });
    const value = (index: number) => (index % 3 === 0 ? undefined : `"${'v'.repeat(index % 50)}${index}"`);
    for (let index = 0; index < 300_000; index++) bytes.add(0, index, 'device', `id${index % 999}`, 'p', value(index));
    let index = 0;
    for (const { at, subject, value: read } of rowsOf(readColumns(bytesOf(bytes.finish())))) {
      if (at !== index || subject !== `id${index % 999}` || read !== value(index)) expect.unreachable(`row ${index}`);
      index++;
    }
    expect(index).toBe(300_000);
  });

  it('is found by its name, which says where it belongs', () => {
    const name = fc.record({
      first: fc.integer({ min: 1, max: 1e9 }),
      last: fc.integer({ min: 1, max: 1e9 }),
      level: fc.constantFrom('run' as const, 'hour' as const, 'day' as const, 'base' as const),
      rewrites: fc.nat(9),
      fromMs: fc.integer({ min: 0, max: 4e12 }),
      toMs: fc.integer({ min: 0, max: 4e12 }),
      sha256: fc.constant('0a'.repeat(32)),
    });
    const same = fc.property(name, (one) => {
      expect(parseFileName(fileNameOf(one))).toEqual(one);
    });
    fc.assert(same);
    expect(parseFileName('notes.parquet')).toBeUndefined();
  });

  it('is readable by its owner alone, and stands in the folder of its day', () => {
    const writer = new HistoryWriter(folder, ABOUT);
    const { file, day } = writer.writeRun(runRows(1, START));
    expect(day).toBe('2026-06-01');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, day)).mode & 0o777).toBe(0o700);
  });

  it('keeps its place, in the order of recording, when the clock is set back', () => {
    const writer = new HistoryWriter(folder, ABOUT);
    for (const at of [START, START + HOUR, START - 24 * HOUR, START + 2 * HOUR]) writer.writeRun(runRows(1, at));
    expect(listHistory(folder).segments.map(({ first, fromMs }) => [first, (fromMs - START) / HOUR])).toEqual([
      [1, 0],
      [2, 1],
      [3, -24],
      [4, 2],
    ]);
    expect(new HistoryWriter(folder, ABOUT).place).toBe(4);
  });

  it('that a killed process left unfinished is removed by the next writer, and never read', () => {
    const { file } = new HistoryWriter(folder, ABOUT).writeRun(runRows(1, START));
    writeFileSync(`${file}.new`, 'half');
    expect(listHistory(folder)).toMatchObject({ segments: [{ first: 1 }], foreign: [] });
    new HistoryWriter(folder, ABOUT);
    expect(readdirSync(join(folder, '2026-06-01'))).toHaveLength(1);
  });

  it('with a bit flipped anywhere, cut or emptied is damaged', () => {
    const segment = new HistoryWriter(folder, ABOUT).writeRun(runRows(1, START, [['device', 'd1', 'OS', '"14"']]));
    const whole = readFileSync(segment.file);
    expect([...rowsOf(readSegment(segment))]).toHaveLength(2);
    for (let at = 0; at < whole.length; at += 7) {
      const flipped = Buffer.from(whole);
      flipped[at] = (flipped[at] as number) ^ (1 << (at % 8));
      writeFileSync(segment.file, flipped);
      expect(() => readSegment(segment)).toThrow('checksum');
    }
    for (const length of [0, 4, whole.length - 1]) {
      writeFileSync(segment.file, whole.subarray(0, length));
      expect(() => readSegment(segment)).toThrow('checksum');
    }
  });
});
