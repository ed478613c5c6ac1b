// test: 1,000 random requests with a `trigger` token against the real daemon; 100,000 in flood.long. That a stop does not wait in
// the queue is shown by an event in test/runtime/daemon/flood: here the machine may be busy, and no time is asserted.
import { expect, it } from 'vitest';
import { flood } from './flooding.ts';

it('1,000 random requests keep no scheduled run and no stop away', async () => {
  const schedule = { cron: '* * * * * *', everyMs: 1_000 };
  const figures = await flood({ requests: 1_000, withinMs: 60_000, seed: 1, schedule, stopEveryMs: 400 });
  expect(figures.bare).toEqual([]);
  expect([...figures.statuses.keys()].filter((status) => status >= 500)).toEqual([]);
  expect(figures.schedule).toMatchObject({ isOk: true, text: expect.not.stringContaining('refused') });
  expect([...figures.schedule.runs.keys()]).toEqual(['completed']);
  expect(new Set(figures.stops.map(({ status }) => status))).toEqual(new Set([200]));
}, 120_000);
