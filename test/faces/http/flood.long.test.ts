// test: 100,000 random requests with a `trigger` token against the real daemon: every scheduled run is done, and each stop is
// answered within 200 ms, on a machine with a core to spare. Not part of the normal run. Out: one line of figures, within ten minutes.
import { expect, it } from 'vitest';
import { figuresLine, flood } from './flooding.ts';

const STOP_WITHIN_MS = 200;

it('100,000 random requests keep no scheduled run away, and each stop is answered within 200 ms', async () => {
  const schedule = { cron: '*/2 * * * * *', everyMs: 2_000 };
  const figures = await flood({ requests: 100_000, withinMs: 510_000, seed: 7, schedule, stopEveryMs: 1_000 });
  process.stdout.write(`${figuresLine(figures)}\n`);
  expect(figures.bare).toEqual([]);
  expect([...figures.statuses.keys()].filter((status) => status >= 500)).toEqual([]);
  const { isOk, text, times, expected, runs } = figures.schedule;
  expect({ isOk, runs: [...runs.keys()] }).toEqual({ isOk: true, runs: ['completed'] });
  expect(text).not.toContain('refused');
  expect(Math.abs(times - expected)).toBeLessThanOrEqual(1);
  expect(figures.stops.filter(({ status, ms }) => status !== 200 || ms > STOP_WITHIN_MS)).toEqual([]);
}, 600_000);
