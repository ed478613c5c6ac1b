// test: a warning that repeats is logged once a minute, and no other one is held back by it.
import { expect, it } from 'vitest';
import type { Log } from '../../../src/domain/ports.ts';
import { seldom } from '../../../src/runtime/jobs/jobs.ts';

it('a warning is repeated after a minute, another one and an error at once', () => {
  const lines: string[] = [];
  const write = (_fields: object, message: string) => void lines.push(message);
  const log: Log = { debug: write, info: write, warn: write, error: write };
  let now = 5;
  const quiet = seldom(log, { monotonicMs: () => now });
  for (const at of [5, 1_000, 60_004]) {
    now = at;
    quiet.warn({}, 'gone');
  }
  expect(lines).toEqual(['gone']);
  quiet.warn({}, 'full');
  quiet.error({}, 'gone');
  quiet.error({}, 'gone');
  now = 60_005;
  quiet.warn({}, 'gone');
  expect(lines).toEqual(['gone', 'full', 'gone', 'gone', 'gone']);
});
