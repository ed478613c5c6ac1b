// test: kills a process that records and merges, again and again, and looks at what is left. In: how often. Out: what is wrong, run by run.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as after } from 'node:timers/promises';
import { expect } from 'vitest';
import { verifyHistory } from '../../../src/history/files/forget.ts';
import { historyReader } from '../../../src/history/files/read-items.ts';
import { built } from '../../support/built.ts';
import { plainDecoder } from './plain-decoder.ts';
import { DAY, START } from './rows.ts';

const CHILD = built('test/history/files/writing-child.ts');
const ADDRESS = 'http://127.0.0.1:1';

/** Half of them live until they have recorded something, however slow the machine is. */
async function toldBy(output: Readable, word: string): Promise<void> {
  for (let told = ''; !told.includes(word); ) told += String((await once(output, 'data'))[0]);
}

export async function killOften(folder: string, times: number): Promise<void> {
  let reached = 0;
  for (let time = 0; time < times; time++) {
    const child = spawn(process.execPath, [CHILD, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(child, 'exit');
    await toldBy(child.stdout, time % 2 === 0 ? 'begun' : 'recorded');
    await after((time * 37) % 400);
    child.kill('SIGKILL');
    await ended;
    const { ok, problems, runs } = verifyHistory(folder, ADDRESS);
    expect({ ok, problems }).toEqual({ ok: true, problems: [] });
    const reader = historyReader({ folder, address: ADDRESS, newDecoder: plainDecoder });
    const read: number[] = [];
    for await (const item of reader.items({ fromMs: 0, toMs: START + 4000 * DAY })) {
      expect(item.kind).not.toBe('gap');
      if (item.kind !== 'run') continue;
      read.push(item.run.frame.run.seq);
      expect(item.run.changes).toHaveLength(50);
    }
    // The oldest go when they are older than they are kept: a fast machine comes so far.
    const [first = 1] = read;
    expect(read).toEqual(Array.from({ length: read.length }, (_, index) => first + index));
    expect(read).toHaveLength(runs);
    const last = read.at(-1) ?? 0;
    expect(last).toBeGreaterThanOrEqual(reached);
    reached = last;
  }
  expect(reached).toBeGreaterThan(times);
}
