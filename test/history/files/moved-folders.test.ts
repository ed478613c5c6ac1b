// test: what people do to the folder of a history: links in the place of it, of a day or of a file, and a folder that is deleted while its recorder
// runs. In: segments. Out: the same runs, or a gap that says what is missing.
import { mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { verifyHistory } from '../../../src/history/files/forget.ts';
import { historyReader } from '../../../src/history/files/read-items.ts';
import { listHistory } from '../../../src/history/files/segment-files.ts';
import { HistoryWriter } from '../../../src/history/files/tidy.ts';
import { plainDecoder } from './plain-decoder.ts';
import { DAY, HOUR, runRows, START } from './rows.ts';

const ABOUT = { program: 'trustward 0.1.0', address: 'http://127.0.0.1:1' };
let folder: string;
let writer: HistoryWriter;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'history-')), 'db.history');
  writer = new HistoryWriter(folder, ABOUT);
  for (const run of [1, 2]) writer.writeRun(runRows(run, START + run * HOUR));
});
afterEach(() => rmSync(dirname(folder), { recursive: true }));

async function read(): Promise<string[]> {
  const items: string[] = [];
  const reader = historyReader({ folder, address: ABOUT.address, newDecoder: plainDecoder });
  for await (const item of reader.items({ fromMs: 0, toMs: START + DAY })) {
    if (item.kind === 'gap') items.push(`${item.gap.cause}: ${item.gap.text}`);
    else items.push(item.kind === 'run' ? `run ${item.run.frame.run.seq}` : item.kind);
  }
  return items;
}

it.each([
  ['the whole folder', () => folder],
  ['a day', () => join(folder, '2026-06-01')],
  ['a file', () => listHistory(folder).segments[0]?.file as string],
])('a link in the place of %s is read and written through', async (_, place) => {
  const moved = join(dirname(folder), 'elsewhere');
  const link = place();
  renameSync(link, moved);
  symlinkSync(moved, link);
  writer.writeRun(runRows(3, START + 3 * HOUR));
  expect(await read()).toEqual(['state', 'run 1', 'run 2', 'run 3']);
  expect(verifyHistory(folder, ABOUT.address)).toMatchObject({ ok: true, runs: 3 });
});

it('a link that leads nowhere is a gap', async () => {
  const { file } = listHistory(folder).segments[0] as { file: string };
  rmSync(file);
  symlinkSync(join(folder, 'nowhere'), file);
  expect(await read()).toEqual([expect.stringMatching(/^damaged: .*no longer there.*no base after it is kept/)]);
  expect(verifyHistory(folder, ABOUT.address).ok).toBe(false);
});

it('a folder that is deleted while its recorder runs is made again, and what was lost is a gap', async () => {
  rmSync(folder, { recursive: true });
  writer.writeRun(runRows(3, START + 3 * HOUR));
  expect(await read()).toEqual([expect.stringMatching(/^damaged: what held before it is not kept/)]);
  expect(verifyHistory(folder, ABOUT.address)).toMatchObject({ ok: false, runs: 1 });
});
