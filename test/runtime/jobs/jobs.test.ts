// jobs: what is asked for is carried out once, in order, one at a time for each organization, on time and fairly.
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import {
  JOB_KIND_NAMES,
  JOB_KINDS,
  type Job,
  type JobHandler,
  type JobKind,
  type JobSchedule,
  type Jobs,
  LANE_NAMES,
  LANES,
  priorityOf,
  type WorkSettings,
} from '../../../src/domain/jobs.ts';
import type { Log } from '../../../src/domain/ports.ts';
import { openJobs, seldom } from '../../../src/runtime/jobs/jobs.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { hasNoPostgres, NEEDS_POSTGRES, sharedCluster } from '../../support/postgres.ts';
import { after, asked, ended, explain, held, listenOn, newDatabase, opened, silent, working } from './opened.ts';

describe('priorities', () => {
  it('have the order of the lanes', () => {
    const kinds = Object.entries(JOB_KINDS).flatMap(([kind, { lane }]) =>
      lane ? [[kind as JobKind, lane] as const] : [],
    );
    const inOrder = kinds.toSorted(([one], [other]) => priorityOf(other) - priorityOf(one));
    expect(inOrder.map(([, lane]) => lane)).toEqual(LANE_NAMES);
    expect(new Set(kinds.map(([kind]) => priorityOf(kind))).size).toBe(LANE_NAMES.length);
  });
});

describe.skipIf(hasNoPostgres)(`jobs${NEEDS_POSTGRES}`, () => {
  it('are carried out by a worker of another connection, and the answer reaches who asked', async () => {
    const url = await newDatabase();
    const [asking, worker] = [await opened(url), await opened(url)];
    await working(worker, async ({ kind, payload, by, takeovers }) => ({ kind, payload, by: by ?? null, takeovers }));
    const payload = { text: 'a NUL \u0000, half a pair \ud800', number: 1.5, list: [null, true] };
    const { id, isJoined } = await asked(asking, 'operate', payload, { by: 'ana' });
    expect(isJoined).toBe(false);
    expect(await ended(asking, id)).toEqual({
      kind: 'done',
      value: { kind: 'operate', payload, by: 'ana', takeovers: 0 },
    });
  });

  it('show a value before their end, and the code of an error as an answer, without its text, which may name subjects', async () => {
    const jobs = await opened(await newDatabase());
    const begin = held();
    await working(jobs, async (job) => {
      await job.begun({ run: 'r1' });
      await begin.handler(job);
      throw new AppError('api_unreachable', 'no connection for DEVICE-7', { detail: 'a secret', retryAfterMs: 5 });
    });
    const { id } = await asked(jobs, 'request');
    const wanted = { organization: 'acme', id, timeoutMs: 60_000, signal: new AbortController().signal };
    expect(await jobs.answerOf({ ...wanted, until: 'begun' })).toEqual({ kind: 'begun', value: { run: 'r1' } });
    expect(await jobs.answerOf({ ...wanted, until: 'ended', timeoutMs: 0 })).toMatchObject({ kind: 'begun' });
    await begin.count(1);
    begin.end(id);
    const fault = {
      code: 'api_unreachable',
      message: 'the worker that took it could not do it: its log has the reason',
      retryAfterMs: 5,
    };
    expect(await ended(jobs, id)).toEqual({ kind: 'failed', fault });
    // It is over: who asks for its begin gets the end.
    expect(await jobs.answerOf({ ...wanted, until: 'begun' })).toEqual({ kind: 'failed', fault });
  });

  it('of another organization are not found, and neither is what is no id', async () => {
    const jobs = await opened(await newDatabase());
    const { id } = await asked(jobs, 'request');
    const wanted = { until: 'ended', timeoutMs: 0, signal: new AbortController().signal } as const;
    await expect(jobs.answerOf({ ...wanted, organization: 'other', id })).rejects.toMatchObject({ code: 'not_found' });
    await expect(jobs.answerOf({ ...wanted, organization: 'acme', id: "'" })).rejects.toMatchObject({
      code: 'not_found',
    });
    expect(await jobs.answerOf({ ...wanted, organization: 'acme', id })).toEqual({ kind: 'waiting' });
  });

  it('that are equal and wait become one; one that has begun is another one', async () => {
    const jobs = await opened(await newDatabase());
    const first = await asked(jobs, 'run', null, { same: 'schedule' });
    expect(await asked(jobs, 'run', null, { same: 'schedule' })).toEqual({ id: first.id, isJoined: true });
    const deliver = await asked(jobs, 'deliver');
    expect(await asked(jobs, 'deliver')).toEqual({ id: deliver.id, isJoined: true });
    const work = held();
    await working(jobs, work.handler);
    await work.count(2);
    expect((await asked(jobs, 'run', null, { same: 'schedule' })).isJoined).toBe(false);
    expect((await asked(jobs, 'deliver')).isJoined).toBe(false);
  });

  it('have as many places as their lane, in all and for each token, and a flood of one organization takes none of another', async () => {
    const jobs = await opened(await newDatabase());
    const { placesMax, placesEachMax } = LANES.operator;
    const all = await Promise.allSettled(Array.from({ length: 30 }, () => asked(jobs, 'operate', null, { by: 'ana' })));
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(placesEachMax);
    const refused = all.find(({ status }) => status === 'rejected') as PromiseRejectedResult;
    expect(refused.reason).toMatchObject({ code: 'busy', options: { retryAfterMs: 1_000 } });
    expect(refused.reason.message).toBe('10 operator commands of the token `ana` are already waiting: try again later');
    for (let left = placesMax - placesEachMax; left > 0; left -= 1) await asked(jobs, 'operate', null, { by: 'bo' });
    await expect(asked(jobs, 'operate', null, { by: 'cy' })).rejects.toThrow(
      '20 operator commands are already waiting',
    );
    await asked(jobs, 'request', null, { by: 'ana' });
    await jobs.ask({ organization: 'other', kind: 'operate', payload: null, by: 'ana' });
    const counts = await jobs.counts();
    expect(counts.map(({ organization, kind, waiting, underWay }) => [organization, kind, waiting, underWay])).toEqual([
      ['acme', 'operate', placesMax, 0],
      ['acme', 'request', 1, 0],
      ['other', 'operate', 1, 0],
    ]);
    expect(counts[0]?.waitingMsMax).toBeGreaterThan(0);
  });

  it('of one organization go one at a time, in the order of the lanes, and none of them starves', async () => {
    const jobs = await opened(await newDatabase());
    const begun: string[] = [];
    const first = held();
    const handler: JobHandler = async (job) => {
      begun.push(job.payload as string);
      if (job.payload === 'first') return first.handler(job);
      // While commands keep coming, what waits in other lanes comes nearer.
      if (begun.length < 14) await asked(jobs, 'operate', `command ${begun.length}`);
      return null;
    };
    // Of two slots that fetch at the same moment, the one with the later job may be first.
    await working(jobs, handler, { lanes: 1 });
    const { id } = await asked(jobs, 'request', 'first');
    await first.count(1);
    const last = await asked(jobs, 'request', 'request');
    await asked(jobs, 'look', 'look');
    await asked(jobs, 'operate', 'command');
    await asked(jobs, 'run', 'run');
    first.end(id);
    await ended(jobs, last.id);
    expect(begun.slice(0, 4)).toEqual(['first', 'run', 'command', 'look']);
    // Seven went before it: the run, the look and five commands. After that it equals a command, and is older.
    expect(begun.indexOf('request')).toBe(LANES.request.passedMax);
  });

  it('beside the lanes do not wait for what acts, and one of a kind goes at a time', async () => {
    const jobs = await opened(await newDatabase());
    const work = held();
    await working(jobs, work.handler, { beside: 2 });
    await asked(jobs, 'run');
    await asked(jobs, 'deliver');
    await work.count(2);
    const second = await asked(jobs, 'deliver');
    await asked(jobs, 'retention');
    await work.count(3);
    expect(work.begun.map(({ kind }) => kind).toSorted()).toEqual(['deliver', 'retention', 'run']);
    work.end(work.begun.find(({ kind }) => kind === 'deliver')?.id as string);
    expect((await work.count(4))[3]?.id).toBe(second.id);
  });

  it('of an organization that a worker does not serve are left to one that does', async () => {
    const url = await newDatabase();
    const [one, other] = [await opened(url), await opened(url)];
    await working(one, async () => 'one', { organizations: ['none'] });
    const { id } = await asked(one, 'operate');
    await working(other, async ({ takeovers }) => takeovers, { organizations: ['acme'] });
    expect(await ended(one, id)).toEqual({ kind: 'done', value: 0 });
  });

  it('are looked for by the time that the process goes by, whatever the clock of its machine shows', async () => {
    const url = await newDatabase();
    const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + 3_600_000 };
    const jobs = await openJobs({ url, log: silent, listen: listenOn(url), clock, explain });
    const ending = new AbortController();
    const handler: JobHandler = async () => null;
    const handlers = Object.fromEntries(JOB_KIND_NAMES.map((kind) => [kind, handler])) as WorkSettings['handlers'];
    const settings = { handlers, concurrency: { lanes: 1, beside: 1 }, organizations: () => new Set(['acme']) };
    const begunMs = clock.nowMs();
    const { ended: stopped, fetchedAtMs } = await jobs.work({ ...settings, signal: ending.signal });
    try {
      await ended(jobs, (await asked(jobs, 'operate')).id);
      expect(fetchedAtMs()).toBeGreaterThanOrEqual(begunMs);
      expect(fetchedAtMs()).toBeLessThanOrEqual(clock.nowMs());
    } finally {
      ending.abort();
      await stopped;
      await jobs.close();
    }
  });

  it('under way end before a worker has stopped, and no more are taken', async () => {
    const jobs = await opened(await newDatabase());
    const work = held();
    const worker = await working(jobs, work.handler);
    const { id } = await asked(jobs, 'run');
    await work.count(1);
    const stopped = worker.stop();
    const next = await asked(jobs, 'request');
    work.end(id, 'whole');
    await stopped;
    expect(await ended(jobs, id)).toEqual({ kind: 'done', value: 'whole' });
    expect(work.begun).toHaveLength(1);
    const now = { organization: 'acme', id: next.id, until: 'begun', timeoutMs: 0 } as const;
    expect(await jobs.answerOf({ ...now, signal: new AbortController().signal })).toEqual({ kind: 'waiting' });
  });

  it('leave who waits when the process ends', async () => {
    const jobs = await opened(await newDatabase());
    const { id } = await asked(jobs, 'run');
    const ending = new AbortController();
    const waiting = jobs.answerOf({
      organization: 'acme',
      id,
      until: 'ended',
      timeoutMs: 60_000,
      signal: ending.signal,
    });
    ending.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'stopped' });
  });

  it('cannot be opened where no PostgreSQL is: one clear line', async () => {
    const url = 'postgres://trustward@127.0.0.1:9/none';
    const opening = openJobs({ url, log: silent, listen: listenOn(url), clock: systemClock, explain });
    await expect(opening).rejects.toMatchObject({ code: 'store_failed' });
    await expect(opening).rejects.toThrow(/the database of this test.* it does not answer, or ended the session: /);
  });
});

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

const OTHERS = Array.from({ length: 300 }, (_, at) => `org-${at}`);
const SLOTS = 24;

/** Runs that all wait for one another until `slots` of them are under way at the same time, and then end. */
function filling(slots: number) {
  const open = new Set<string>();
  const done = new Set<string>();
  const filled = Promise.withResolvers<void>();
  let overlaps = 0;
  const handler: JobHandler = async ({ organization }: Job) => {
    if (open.has(organization)) overlaps += 1;
    open.add(organization);
    if (open.size >= slots) filled.resolve();
    await filled.promise;
    open.delete(organization);
    done.add(organization);
    return null;
  };
  return { handler, done, overlaps: () => overlaps };
}

describe.skipIf(hasNoPostgres)(`300 organizations${NEEDS_POSTGRES}`, () => {
  it('have all slots but one while one of them hangs, and its other jobs take none', async () => {
    const url = await newDatabase();
    const [asking, one, other] = [await opened(url), await opened(url), await opened(url)];
    const hanging = held();
    const others = filling(SLOTS - 1);
    const run: JobHandler = (job) => (job.organization === 'hangs' ? hanging.handler(job) : others.handler(job));
    const settings = { organizations: [...OTHERS, 'hangs'], lanes: SLOTS / 2 };
    await working(one, run, settings);
    await working(other, run, settings);
    await asking.ask({ organization: 'hangs', kind: 'request', payload: null, by: 'ana' });
    await hanging.count(1);
    for (const kind of ['operate', 'look', 'request', 'run'] as const)
      await asking.ask({ organization: 'hangs', kind, payload: null, by: 'ana' });

    const tickets = await Promise.all(
      OTHERS.map(async (organization) => ({
        organization,
        ...(await asking.ask({ organization, kind: 'run', payload: null })),
      })),
    );
    const states = await Promise.all(tickets.map(({ id, organization }) => ended(asking, id, organization)));

    expect(states.filter(({ kind }) => kind !== 'done')).toEqual([]);
    expect(others.done.size).toBe(OTHERS.length);
    expect(others.overlaps()).toBe(0);
    expect(hanging.begun).toHaveLength(1);
  }, 120_000);
});

describe('a warning that repeats is logged once a minute, and no other one is held back by it', () => {
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
});
