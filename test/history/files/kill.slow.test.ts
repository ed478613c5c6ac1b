// test: a killed recorder leaves whole runs. In: a process that records and merges, killed at any moment. Out: what is in the folder.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { killOften } from './killing.ts';

it('killed ten times while it records and merges, a history is whole and has only whole runs', {
  timeout: 120_000,
}, async () => {
  const dir = mkdtempSync(join(tmpdir(), 'history-'));
  try {
    await killOften(join(dir, 'db.history'), 10);
  } finally {
    rmSync(dir, { recursive: true });
  }
  expect.hasAssertions();
});
