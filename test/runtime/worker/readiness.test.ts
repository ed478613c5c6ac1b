// test: what the health of a worker shows of PostgreSQL, of its loops, of what is under way and of its end, at times that a test sets.
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { Job, JobKind } from '../../../src/domain/jobs.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { readinessOfWorker, type WorkerState, WorkWatch } from '../../../src/runtime/worker/handlers.ts';
import { jobsCheck } from '../../../src/runtime/worker/organization-lines.ts';

const MINUTE_MS = 60_000;

function world() {
  let ms = 1_000_000;
  const clock = { ...systemClock, nowMs: () => ms, monotonicMs: () => ms };
  const watch = new WorkWatch(clock);
  const stopping = new AbortController();
  const state = {
    server: { pool: { demandWritable: async () => {} }, health: { fault: () => undefined } },
    jobs: { counts: async () => [] },
    organizations: { holder: undefined },
    lines: { now: () => [{ id: 'acme', name: 'Acme', problem: undefined }] },
    watch,
    working: { fetchedAtMs: () => ms },
    ending: stopping.signal,
    places: 2,
    clock,
  } as unknown as WorkerState;
  const begin = (organization: string, kind: JobKind = 'run') => {
    const { promise, resolve, reject } = Promise.withResolvers<null>();
    const job = { organization, kind, payload: { missed: 0, lateMs: 2_000 }, waitedMs: 500 } as unknown as Job;
    const ended = watch
      .watched(() => promise)(job)
      .catch(() => {});
    return {
      done: () => {
        resolve(null);
        return ended;
      },
      fails: (error: Error) => {
        reject(error);
        return ended;
      },
    };
  };
  const look = async (changed: Partial<WorkerState> = {}) => {
    const checks = await readinessOfWorker({ ...state, ...changed });
    const bad = checks.filter(({ ok }) => !ok);
    return { isReady: bad.every(({ isPartial }) => isPartial), bad: bad.map(({ name, text }) => `${name}: ${text}`) };
  };
  const pass = (by: number) => {
    ms += by;
  };
  return { watch, begin, look, stop: () => stopping.abort(), pass, now: () => ms };
}

describe('the health of a worker', () => {
  it('is not ready while PostgreSQL fails, or does not answer at all', async () => {
    const { look } = world();
    expect(await look()).toEqual({ isReady: true, bad: [] });
    const answers = (demandWritable: () => Promise<unknown>) =>
      ({ pool: { demandWritable }, health: { fault: () => undefined } }) as unknown as WorkerState['server'];
    const text = 'database: PostgreSQL does not answer; see the log';
    const refused = answers(async () => Promise.reject(new AppError('store_failed', 'gone')));
    expect(await look({ server: refused })).toEqual({ isReady: false, bad: [text] });
    const silent = answers(() => new Promise(() => {}));
    expect(await look({ server: silent })).toEqual({ isReady: false, bad: [text] });
  }, 60_000);

  it('is not ready before it looks for jobs, and when it has not looked for half a minute', async () => {
    const { look, now } = world();
    expect((await look({ working: undefined })).isReady).toBe(false);
    const since = now() - 31_000;
    const { isReady, bad } = await look({ working: { fetchedAtMs: () => since } });
    expect([isReady, bad]).toEqual([false, ['fetching: it has not looked for jobs for 31 s; see the log']]);
  });

  it('names what has been under way for more than an hour, and is ready until all places are taken so', async () => {
    const { begin, look, pass } = world();
    const one = begin('acme');
    expect((await look()).bad).toEqual([]);
    pass(61 * MINUTE_MS);
    const hanging = await look();
    expect(hanging.isReady).toBe(true);
    expect(hanging.bad).toEqual([expect.stringContaining('under way: `run` of `acme` for 1 h 1 min')]);
    const other = begin('beta');
    pass(61 * MINUTE_MS);
    expect((await look()).isReady).toBe(false);
    await Promise.all([one.done(), other.done()]);
    expect(await look()).toEqual({ isReady: true, bad: [] });
  });

  it('names an organization whose last job failed, until one is done, it is no longer configured, or an hour has passed', async () => {
    const { begin, look, pass } = world();
    const failing = () => begin('acme').fails(new AppError('api_refused', 'https://secret.example.com refused'));
    await failing();
    const { isReady, bad } = await look();
    expect(isReady).toBe(true);
    expect(bad).toEqual([expect.stringMatching(/^organization acme: `run` failed here at .* \(api_refused\)/)]);
    expect((await look({ lines: { now: () => [] } })).bad).toEqual([]);
    await begin('acme').done();
    expect((await look()).bad).toEqual([]);
    await failing();
    pass(61 * MINUTE_MS);
    expect((await look()).bad).toEqual([]);
    // A person was answered, and a worker that is stopped is no fault of the organization.
    await begin('acme', 'operate').fails(new AppError('not_found', 'no such thing'));
    await begin('acme').fails(new AppError('stopped', 'the process is being stopped'));
    expect((await look()).bad).toEqual([]);
  });

  it('names at most twenty organizations, and how many more there are', async () => {
    const { look } = world();
    const many = Array.from({ length: 50 }, (_, at) => ({ id: `o-${at}`, name: 'O', problem: 'a problem' }));
    const { isReady, bad } = await look({ lines: { now: () => many } });
    expect([isReady, bad.length, bad.at(-1)]).toEqual([
      true,
      21,
      'more organizations: 30 more have a problem: see the log',
    ]);
    expect(bad[0]).toBe('organization o-0: a problem');
  });

  it('is not ready while it is being stopped', async () => {
    const { look, stop } = world();
    stop();
    const { isReady, bad } = await look({ working: { fetchedAtMs: () => 0 } });
    expect([isReady, bad]).toEqual([false, [expect.stringContaining('stopping: it takes no more jobs')]]);
  });

  it.each([
    ['nothing waits, which shows of no worker', [], true, /^none waits; .*`trustward doctor`/],
    ['what waits is young', [{ waiting: 1, waitingMsMax: 59_000 }], true, /^some wait, none for more than 60 s$/],
    ['one is under way', [{ underWay: 1 }], true, /^workers take them$/],
    ['others wait behind one', [{ waiting: 1, underWay: 1, waitingMsMax: 90_000 }], true, /^workers take them$/],
    ['one is forgotten', [{ waiting: 1, waitingMsMax: 61_000 }], false, /^some wait for more than 60 s: look/],
  ])('claims of jobs no more than the record shows when %s', async (_, counts, ok, text) => {
    const none = { organization: 'acme', kind: 'run' as const, waiting: 0, underWay: 0, waitingMsMax: 0 };
    const jobs = { counts: async () => counts.map((one) => ({ ...none, ...one })) };
    expect(await jobsCheck(jobs, systemClock)).toMatchObject({ ok, text: expect.stringMatching(text) });
  });

  it('counts the lag of a job from when it was due', async () => {
    const { watch, begin } = world();
    const heard: unknown[] = [];
    watch.on({ began: ({ lagMs }) => heard.push(lagMs), ended: ({ result }) => heard.push(result) });
    await begin('acme').done();
    expect(heard).toEqual([2_500, 'done']);
  });
});
