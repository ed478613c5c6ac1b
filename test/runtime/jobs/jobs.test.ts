// jobs: what is asked for is carried out once, in the order of the lanes, one at a time for each organization, and answered to whoever asked.
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import {
  JOB_KIND_NAMES,
  JOB_KINDS,
  type JobHandler,
  type JobKind,
  LANE_NAMES,
  LANES,
  priorityOf,
  type WorkSettings,
} from '../../../src/domain/jobs.ts';
import { openJobs } from '../../../src/runtime/jobs/jobs.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { hasNoPostgres, NEEDS_POSTGRES } from '../../support/postgres.ts';
import { asked, ended, explain, held, listenOn, newDatabase, opened, silent, working } from './opened.ts';

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
