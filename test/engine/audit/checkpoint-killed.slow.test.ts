// test: a process that seals its audit is killed (kill -9) at any moment, again and again on the same database.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { built } from '../../support/built.ts';
import { ChainFolder } from './checkpoint-chain.ts';

const WRITER = built('test/engine/audit/checkpoint-writer.ts');
let folder: ChainFolder;
beforeAll(() => {
  folder = new ChainFolder();
});
afterAll(() => folder.remove());

/** Kills the writer after this many reported runs, wherever it is by then. */
async function killAfter(runs: number): Promise<void> {
  const child = spawn(process.execPath, [WRITER, folder.file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  let printed = 0;
  for await (const dots of child.stdout) {
    printed += (dots as Buffer).length;
    if (printed >= runs) child.kill('SIGKILL');
  }
  const [, signal] = await exited;
  expect(signal).toBe('SIGKILL');
}

it.each([1, 2, 5, 11, 40])('that is killed after %i runs leaves a file that the next start completes', async (runs) => {
  await killAfter(runs);
  const { checkpointer, logged, close } = await folder.open();
  expect(checkpointer.restored()).toBeUndefined();
  expect(logged).toEqual([]);
  await close();
  const check = await folder.verify();
  expect(check).toMatchObject({ ok: true, bad: undefined });
  expect(check.sealed).toBe(check.entries);
  expect(folder.lines()).toHaveLength(check.checkpoints);
});
