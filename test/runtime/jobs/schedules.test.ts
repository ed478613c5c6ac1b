// jobs: each schedule's job is asked for in time, once, whichever workers notice it; missed times become one.
import { describe, expect, it } from 'vitest';
import type { Job, JobSchedule, Jobs } from '../../../src/domain/jobs.ts';
import { hasNoPostgres, NEEDS_POSTGRES, sharedCluster } from '../../support/postgres.ts';
import { after, held, newDatabase, opened, working } from './opened.ts';

const EVERY_MS = 60_000;
const START_MS = Date.now() - EVERY_MS / 4;

/** Minutes from a moment of this test on: none begins while it looks. */
function everyMinute(organization: string): JobSchedule {
  const times = (ms: number) => Math.floor((ms - START_MS) / EVERY_MS);
  return {
    organization,
    kind: 'run',
    nextMs: (afterMs) => START_MS + (times(afterMs) + 1) * EVERY_MS,
    timesBetween: (afterMs, untilMs) => times(untilMs) - times(afterMs),
  };
}

function keep(jobs: Jobs, schedules: JobSchedule[]): () => Promise<void> {
  const ending = new AbortController();
  const kept = jobs.keepSchedules(() => schedules, ending.signal);
  const stop = () => {
    ending.abort();
    return kept;
  };
  after(stop);
  return stop;
}

/** Moves what was asked for last, as if time had passed or a clock had been set back. */
async function setBack(url: string, ms: number): Promise<void> {
  const cluster = await sharedCluster();
  const sql = `UPDATE trustward_jobs_times.schedules SET asked_at_ms = asked_at_ms - ${ms}`;
  await cluster.query(sql, new URL(url).pathname.slice(1));
}

describe.skipIf(hasNoPostgres)(`schedules${NEEDS_POSTGRES}`, () => {
  it('ask for a first run at once, once for all workers, and for each organization', async () => {
    const url = await newDatabase();
    const workers = [await opened(url), await opened(url), await opened(url)];
    const organizations = ['acme', 'other'];
    const seen = held();
    const stops = workers.map((jobs) => keep(jobs, organizations.map(everyMinute)));
    await working(workers[0] as Jobs, seen.handler, { organizations });
    const begun = await seen.count(2);
    expect(begun.map(({ organization }) => organization).toSorted()).toEqual(organizations);
    expect(begun.map(({ kind, payload }) => [kind, payload])).toEqual(Array(2).fill(['run', { missed: 0, lateMs: 0 }]));
    await Promise.all(stops.map((stop) => stop()));
    // Not even one waits behind what is under way.
    const waiting = (await (workers[1] as Jobs).counts()).reduce((sum, one) => sum + one.waiting, 0);
    expect(waiting).toBe(0);
  });

  it('make one job of all times that were missed while no worker was there, and have their number', async () => {
    const url = await newDatabase();
    const jobs = await opened(url);
    const seen: Job[] = [];
    const first = held();
    await working(jobs, (job) => {
      seen.push(job);
      return first.handler(job);
    });
    const stop = keep(jobs, [everyMinute('acme')]);
    const [run] = await first.count(1);
    await stop();
    first.end(run?.id as string);
    await setBack(url, 5 * EVERY_MS);
    const stopAgain = keep(jobs, [everyMinute('acme')]);
    const [, missed] = await first.count(2);
    await stopAgain();
    const { payload } = missed as Job;
    expect(payload).toMatchObject({ missed: 4 });
    // Of the first one that was missed, which was due one period after the last that was asked for.
    expect((payload as { lateMs: number }).lateMs).toBeGreaterThanOrEqual(4 * EVERY_MS);
    expect(seen).toHaveLength(2);
  });

  it('go on when the time of PostgreSQL was set back', async () => {
    const url = await newDatabase();
    const jobs = await opened(url);
    const seen = held();
    await working(jobs, seen.handler);
    const everySecond: JobSchedule = {
      organization: 'acme',
      kind: 'run',
      nextMs: (afterMs) => afterMs + 1_000,
      timesBetween: (afterMs, untilMs) => Math.floor((untilMs - afterMs) / 1_000),
    };
    const stop = keep(jobs, [everySecond]);
    const [first] = await seen.count(1);
    await stop();
    seen.end(first?.id as string);
    await setBack(url, -3_600_000); // what was asked for last now lies in an hour
    let now = 0;
    // A time after the real now, as the schedule sees it: it is never asked about the future.
    keep(jobs, [{ ...everySecond, nextMs: (afterMs) => (now = afterMs) }]);
    while (now === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(now).toBeLessThanOrEqual(Date.now() + 1_000);
  });
});
