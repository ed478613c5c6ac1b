// test: merging, bases and keeping: the same runs in fewer files, whatever step it was killed at. In: segments. Out: items, files.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { rowsOf } from '../../../src/history/files/begin.ts';
import { historyReader } from '../../../src/history/files/read-items.ts';
import { listHistory, readSegment, type SegmentFile } from '../../../src/history/files/segment-files.ts';
import { HistoryWriter, lastStanding, tidyHistory } from '../../../src/history/files/tidy.ts';
import { plainDecoder } from './plain-decoder.ts';
import { DAY, HOUR, lastRows, MINUTE, runRows, START } from './rows.ts';

const ABOUT = { program: 'trustward 0.1.0', address: 'http://127.0.0.1:1' };
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
