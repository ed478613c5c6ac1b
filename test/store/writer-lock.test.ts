// test store: the writer's lock within one process.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, expect, test } from 'vitest';
import { takeWriterLock } from '../../src/store/sqlite/writer-lock.ts';

const folder = mkdtempSync(join(tmpdir(), 'trustward-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a lock is held until it is released, also when nothing refers to it', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const file = join(folder, 'trustward.db');
  takeWriterLock(file);
  for (let rounds = 0; rounds < 5; rounds += 1) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(() => takeWriterLock(file)).toThrow('has an active writer');
});
