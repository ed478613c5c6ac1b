// test: segments: the rows that were written are the rows that are read; merging and bases keep the same runs in fewer files.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HistoryRow } from '../../../src/history/codec/run-encoder.ts';
import { rowsOf } from '../../../src/history/files/begin.ts';
import { historyReader } from '../../../src/history/files/read-items.ts';
import {
  bytesOf,
  fileNameOf,
  parseFileName,
  readColumns,
  SegmentBytes,
} from '../../../src/history/files/segment-bytes.ts';
import { listHistory, readSegment, type SegmentFile } from '../../../src/history/files/segment-files.ts';
import { HistoryWriter, lastStanding, tidyHistory } from '../../../src/history/files/tidy.ts';
import { plainDecoder } from './plain-decoder.ts';
import { DAY, HOUR, lastRows, MINUTE, runRows, START } from './rows.ts';

const ABOUT = { program: 'trustward 0.1.0', address: 'http://127.0.0.1:1' };

describe('segments', () => {
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
      for (let index = 0; index < 300_000; index++)
        bytes.add(0, index, 'device', `id${index % 999}`, 'p', value(index));
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
});

describe('merging, bases and keeping', () => {
  const KEEP = { ...ABOUT, nowMs: START + 3 * DAY, keepMs: 30 * DAY };
  let folder: string;
  beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), 'history-')), 'db.history');
  });
  afterEach(() => rmSync(dirname(folder), { recursive: true }));

  /** Everything that is read, as text, from a time on. */
  async function everything(fromMs = 0): Promise<string[]> {
    const reader = historyReader({ folder, address: ABOUT.address, newDecoder: plainDecoder });
    const read: string[] = [];
    for await (const item of reader.items({ fromMs, toMs: START + 400 * DAY })) {
      if (item.kind === 'gap') read.push(`gap ${item.gap.cause} ${item.gap.text}`);
      if (item.kind === 'run') read.push(`run ${item.run.frame.run.seq} ${JSON.stringify(item.run.changes)}`);
      if (item.kind === 'state') {
        const facts: string[] = [];
        for await (const piece of item.facts) facts.push(...piece.map((one) => JSON.stringify(one)));
        const events: string[] = [];
        for await (const piece of item.events) events.push(...piece.map(({ id }) => id));
        read.push(`state ${facts.sort()} ${events}`);
      }
    }
    return read;
  }

  /** A run each half hour, over some days; devices change, come and go. */
  function record(days: number): void {
    const writer = new HistoryWriter(folder, ABOUT);
    for (let run = 1; run <= days * 48; run++) {
      const device = (no: number, path: string, value?: string) => ['device', `d${no % 10}`, path, value] as const;
      writer.writeRun(
        runRows(run, START + (run - 1) * 30 * MINUTE, [
          [...device(run, 'OS', `"${run}"`)],
          [...device(run * 7, run % 5 === 0 ? '' : 'Model', run % 5 === 0 ? undefined : `"m${run}"`)],
          ['event', `e${run}`, '', '{}'],
        ]),
      );
    }
  }

  const levels = () =>
    listHistory(folder).segments.map(({ day, level, first, last }) => `${day} ${level} ${first}-${last}`);

  it('what holds after the last run is known to a recorder that begins, unless something is lost', async () => {
    expect(await lastRows(folder, ABOUT.address)).toEqual([]);
    const writer = new HistoryWriter(folder, ABOUT);
    writer.writeRun(
      runRows(1, START, [
        ['device', 'd1', 'OS', '1'],
        ['claim', 'c1', '', '{}'],
        ['event', 'e', '', '{}'],
      ]),
    );
    writer.writeRun(runRows(2, START + DAY, [['device', 'd1', 'OS', '2']]));
    const last = async () => (await lastRows(folder, ABOUT.address)).map(({ kind, value }) => `${kind} ${value}`);
    expect(await last()).toEqual(['device 2', 'claim {}']);
    await tidyHistory(folder, KEEP);
    expect(await last()).toEqual(['device 2', 'claim {}']);
    for (const { file } of listHistory(folder).segments) writeFileSync(file, '');
    expect(await lastStanding(folder, ABOUT.address)).toBeUndefined();
    writer.writeBase([]);
    expect(await last()).toEqual([]);
  });

  describe('tidying', () => {
    it('makes hours and days of runs, and a base for each next day, and nothing that is read changes', async () => {
      record(2);
      const before = await everything();
      const later = await Promise.all([1, 2, 3].map((step) => everything(START + step * 11 * HOUR)));
      const { needsBase } = await tidyHistory(folder, KEEP);
      expect(needsBase).toBe(false);
      expect(levels()).toEqual([
        '2026-06-01 day 1-28',
        '2026-06-02 base 28-28',
        '2026-06-02 day 29-76',
        '2026-06-03 base 76-76',
        ...[77, 79, 81, 83, 85, 87, 89, 91, 93].map((run) => `2026-06-03 hour ${run}-${run + 1}`),
        ...[95, 96].map((run) => `2026-06-03 run ${run}-${run}`),
      ]);
      expect(await everything()).toEqual(before);
      expect(await Promise.all([1, 2, 3].map((step) => everything(START + step * 11 * HOUR)))).toEqual(later);
      expect(await tidyHistory(folder, KEEP)).toEqual({ merged: 0, bases: 0, removed: 0, needsBase: false });
    });

    it('reads the same while a merged segment and what it was made of are both there', async () => {
      record(2);
      const before = await everything();
      const copy = `${folder}.copy`;
      cpSync(folder, copy, { recursive: true });
      await tidyHistory(folder, KEEP);
      cpSync(copy, folder, { recursive: true });
      expect(await everything()).toEqual(before);
      const { removed } = await tidyHistory(folder, KEEP);
      expect(removed).toBe(96 - 2);
      expect(await everything()).toEqual(before);
    });

    it('takes what a damaged segment was made of, when that is still there', async () => {
      record(1);
      const before = await everything();
      const copy = `${folder}.copy`;
      cpSync(folder, copy, { recursive: true });
      await tidyHistory(folder, KEEP);
      cpSync(copy, folder, { recursive: true });
      const day = listHistory(folder).segments.find(({ level }) => level === 'day') as SegmentFile;
      writeFileSync(day.file, 'damaged');
      expect(await everything()).toEqual(before);
      await tidyHistory(folder, KEEP);
      expect(await everything()).toEqual(before);
    });

    it('leaves a damaged segment where it is, and asks for a base when none can be made', async () => {
      record(2);
      const damaged = listHistory(folder).segments.find(({ first }) => first === 80) as SegmentFile;
      writeFileSync(damaged.file, 'damaged');
      await tidyHistory(folder, KEEP);
      expect((await everything()).some((item) => item.startsWith('gap damaged'))).toBe(true);
      const writer = new HistoryWriter(folder, ABOUT);
      writer.writeRun(runRows(97, START + 2 * DAY + 20 * HOUR));
      expect((await tidyHistory(folder, KEEP)).needsBase).toBe(true);
      writer.writeBase([{ at: START, kind: 'device', subject: 'd1', path: 'OS', value: '1' }]);
      expect((await tidyHistory(folder, KEEP)).needsBase).toBe(false);
      writer.writeRun(runRows(98, START + 2 * DAY + 21 * HOUR));
      expect((await everything()).at(-1)).toContain('run 98');
    });

    it('removes days that are older than they are kept; the oldest one keeps its base', async () => {
      record(4);
      await tidyHistory(folder, KEEP);
      const before = await everything(START + 2 * DAY);
      await tidyHistory(folder, { ...KEEP, nowMs: START + 4 * DAY, keepMs: 2 * DAY });
      expect(levels().slice(0, 2)).toEqual(['2026-06-03 base 76-76', '2026-06-03 day 77-124']);
      expect(await everything(START + 2 * DAY)).toEqual(before);
      expect((await everything()).slice(0, 2).map((item) => item.split(' ')[0])).toEqual(['state', 'run']);
      expect(listHistory(folder).segments.every(({ day }) => day >= '2026-06-03')).toBe(true);
    });

    it('carries events on in bases only as long as windows may reach back', async () => {
      record(3);
      await tidyHistory(folder, { ...KEEP, eventsKeptMs: HOUR });
      const [state] = await everything(START + 2 * DAY - 10 * HOUR);
      expect(state?.split(' ').at(-1)?.split(',')).toHaveLength(3);
    });
  });

  describe('a day with more changes than are held at once', () => {
    const changes = async (changesMax?: number) => {
      const writer = new HistoryWriter(folder, ABOUT);
      const devices = Array.from({ length: 60 }, (_, no) => `d${no}`);
      for (let run = 1; run <= 4; run++) {
        const said = devices
          .filter((_, no) => run === 1 || no % run === 0)
          .map((one): [kind: 'device', subject: string, path: string, value?: string] =>
            run === 3 && one === 'd3' ? ['device', one, ''] : ['device', one, 'OS', `"${run}"`],
          );
        writer.writeRun(runRows(run, START + (run - 1) * 8 * HOUR, said));
      }
      const before = (await lastRows(folder, ABOUT.address, changesMax)).map((row) => JSON.stringify(row)).sort();
      const tidied = await tidyHistory(folder, { ...KEEP, ...(changesMax && { changesMax }) });
      const base = listHistory(folder).segments.find(({ level }) => level === 'base');
      const rows = [...rowsOf(readSegment(base as SegmentFile))].map((row) => JSON.stringify(row)).sort();
      rmSync(folder, { recursive: true });
      return { before, rows, tidied };
    };

    it('has the same base, made in parts of its subjects', async () => {
      const whole = await changes();
      expect(whole.tidied.bases).toBe(1);
      expect(whole.rows.length).toBeGreaterThan(50);
      expect(await changes(3)).toEqual(whole);
    });
  });

  it('a file that is too large to be held gives the same rows, also when it was removed meanwhile', async () => {
    new HistoryWriter(folder, ABOUT).writeRun(runRows(1, START, [['device', 'd1', 'OS', '"1"']]));
    const [segment] = listHistory(folder).segments as [SegmentFile];
    const held = [...rowsOf(readSegment(segment))];
    const onDisk = readSegment(segment, 0);
    rmSync(segment.file);
    expect([...rowsOf(onDisk)]).toEqual(held);
  });
});
