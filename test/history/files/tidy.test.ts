// test: merging, bases and keeping: the same runs in fewer files, whatever step it was killed at. In: segments. Out: items, files.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { historyReader } from '../../../src/history/files/history-reader.ts';
import { HistoryWriter } from '../../../src/history/files/history-writer.ts';
import { lastStanding } from '../../../src/history/files/last-standing.ts';
import { listHistory, type SegmentFile } from '../../../src/history/files/segment-files.ts';
import { tidyHistory } from '../../../src/history/files/tidy.ts';
import { plainDecoder } from './plain-decoder.ts';
import { DAY, HOUR, MINUTE, runRows, START } from './rows.ts';

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

/** A run each 20 minutes, over some days; devices change, come and go. */
function record(days: number): void {
  const writer = new HistoryWriter(folder, ABOUT);
  for (let run = 1; run <= days * 72; run++) {
    const device = (no: number, path: string, value?: string) => ['device', `d${no % 10}`, path, value] as const;
    writer.writeRun(
      runRows(run, START + (run - 1) * 20 * MINUTE, [
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
  expect(await lastStanding(folder, ABOUT.address)).toEqual([]);
  const writer = new HistoryWriter(folder, ABOUT);
  writer.writeRun(
    runRows(1, START, [
      ['device', 'd1', 'OS', '1'],
      ['claim', 'c1', '', '{}'],
      ['event', 'e', '', '{}'],
    ]),
  );
  writer.writeRun(runRows(2, START + DAY, [['device', 'd1', 'OS', '2']]));
  const last = async () =>
    [...((await lastStanding(folder, ABOUT.address)) ?? [])].map(({ kind, value }) => `${kind} ${value}`);
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
      '2026-06-01 day 1-42',
      '2026-06-02 base 42-42',
      '2026-06-02 day 43-114',
      '2026-06-03 base 114-114',
      ...[115, 118, 121, 124, 127, 130, 133, 136, 139].map((run) => `2026-06-03 hour ${run}-${run + 2}`),
      ...[142, 143, 144].map((run) => `2026-06-03 run ${run}-${run}`),
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
    expect(removed).toBe(144 - 3);
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
    const damaged = listHistory(folder).segments.find(({ first }) => first === 120) as SegmentFile;
    writeFileSync(damaged.file, 'damaged');
    await tidyHistory(folder, KEEP);
    expect((await everything()).some((item) => item.startsWith('gap damaged'))).toBe(true);
    const writer = new HistoryWriter(folder, ABOUT);
    writer.writeRun(runRows(145, START + 2 * DAY + 20 * HOUR));
    expect((await tidyHistory(folder, KEEP)).needsBase).toBe(true);
    writer.writeBase([{ at: START, kind: 'device', subject: 'd1', path: 'OS', value: '1' }]);
    expect((await tidyHistory(folder, KEEP)).needsBase).toBe(false);
    writer.writeRun(runRows(146, START + 2 * DAY + 21 * HOUR));
    expect((await everything()).at(-1)).toContain('run 146');
  });

  it('removes days that are older than they are kept; the oldest one keeps its base', async () => {
    record(4);
    await tidyHistory(folder, KEEP);
    const before = await everything(START + 2 * DAY);
    await tidyHistory(folder, { ...KEEP, nowMs: START + 4 * DAY, keepMs: 2 * DAY });
    expect(levels().slice(0, 2)).toEqual(['2026-06-03 base 114-114', '2026-06-03 day 115-186']);
    expect(await everything(START + 2 * DAY)).toEqual(before);
    expect((await everything()).slice(0, 2).map((item) => item.split(' ')[0])).toEqual(['state', 'run']);
    expect(listHistory(folder).segments.every(({ day }) => day >= '2026-06-03')).toBe(true);
  });

  it('carries events on in bases only as long as windows may reach back', async () => {
    record(3);
    await tidyHistory(folder, { ...KEEP, eventsKeptMs: HOUR });
    const [state] = await everything(START + 2 * DAY - 10 * HOUR);
    expect(state?.split(' ').at(-1)?.split(',')).toHaveLength(4);
  });
});
