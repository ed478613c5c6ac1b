// schedule: what is a cron expression, that runs happen at its times, and that one piece of work at a time is done, in order of lanes.
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { timeOfDay } from '../../../src/base/time.ts';
import { LANES, type Lane } from '../../../src/domain/jobs.ts';
import { RunQueue, scheduleFault, startSchedule, timesBetween } from '../../../src/runtime/schedule/run-queue.ts';

describe('a cron expression', () => {
  it.each(['*/5 * * * *', '*/15 * * * * *', '0 3 * * 1-5', '@hourly'])('`%s` is one', (expression) => {
    expect(scheduleFault(expression)).toBeUndefined();
  });
  it.each([
    ['every five minutes', /./],
    ['', /./],
    ['*/5 * * *', /./],
    ['99 * * * *', /./],
    ['0 0 30 2 *', /never/],
  ])('`%s` is refused, with the mistake in one line', (expression, words) => {
    const fault = scheduleFault(expression);
    expect(fault).toMatch(words);
    expect(fault).not.toMatch(/\n|at new|undefined/);
  });
  it('that is a date in the past never comes', () => {
    expect(scheduleFault('2020-01-01T00:00:00')).toContain('never');
  });
});

describe('the time of the next run', () => {
  const nowMs = Date.parse('2026-11-22T10:12:03.500Z');
  it.each([
    ['2026-11-22T10:15:00Z', '10:15:00 UTC'],
    ['2026-11-23T03:00:00Z', '2026-11-23 03:00:00 UTC'],
  ])('%s is shown in UTC, with its date when that is another day', (at, text) => {
    expect(timeOfDay(Date.parse(at), nowMs)).toBe(text);
  });
});

describe('the times of a schedule after a time', () => {
  const at = (time: string) => Date.parse(`2026-11-22T${time}Z`);
  it.each([
    ['*/5 * * * *', '10:00:00.000', '10:04:59.999', 0],
    ['*/5 * * * *', '10:00:00.000', '10:05:00.000', 1],
    ['*/5 * * * *', '09:59:59.999', '10:05:00.000', 2],
    ['*/5 * * * *', '10:07:30.500', '10:21:00.000', 3],
    ['*/15 * * * * *', '10:00:00.400', '10:00:44.000', 2],
    ['0 3 * * *', '10:00:00.000', '23:59:00.000', 0],
    ['*/5 * * * *', '10:10:00.000', '10:00:00.000', 0],
  ])('`%s` from %s to %s are counted: the first is not one of them, the last is', (expression, from, to, count) => {
    expect(timesBetween(expression, at(from), at(to), 100)).toBe(count);
  });

  it('are counted as far as asked, however long ago it was', () => {
    expect(timesBetween('* * * * * *', 0, at('10:00:00.000'), 2)).toBe(2);
  });
});

describe('a schedule', () => {
  it('calls at each of its times, until it is stopped', async () => {
    let calls = 0;
    await new Promise<void>((resolve) => {
      const schedule = startSchedule('* * * * * *', () => {
        calls += 1;
        schedule.stop();
        resolve();
      });
      expect(schedule.nextMs()).toBeTypeOf('number');
    });
    expect(calls).toBe(1);
  });

  it.each([
    ['of five minutes, when summer begins', '*/5 * * * *', '2026-03-29T00:52:00Z', 10, 5],
    ['of five minutes, when winter begins', '*/5 * * * *', '2026-10-24T23:52:00Z', 30, 5],
    ['of an hour, when summer begins', '0 * * * *', '2026-03-28T22:30:00Z', 6, 60],
    ['of an hour, when winter begins', '0 * * * *', '2026-10-24T22:30:00Z', 6, 60],
  ])('%s, goes on at equal distances', (_, expression, from, count, minutes) => {
    const times = timesFrom(expression, from, count);
    const apart = times.slice(1).map((at, index) => (at - (times[index] as number)) / 60_000);
    expect(new Set(apart)).toEqual(new Set([minutes]));
  });

  it.each([
    ['is skipped by the clocks', '2026-03-28T00:00:00Z'],
    ['comes twice', '2026-10-24T00:00:00Z'],
  ])('of a day has one time on the day on which its hour %s', (_, from) => {
    const times = timesFrom('30 2 * * *', from, 3);
    const local = times.map((at) => new Date(at).toLocaleString('sv', { timeZone: BERLIN }).split(' '));
    expect(new Set(local.map(([day]) => day)).size).toBe(3);
    expect([local[0]?.[1], local[2]?.[1]]).toEqual(['02:30:00', '02:30:00']);
  });

  const BERLIN = 'Europe/Berlin';

  /** The times of a schedule where the clocks change. */
  function timesFrom(expression: string, from: string, count: number): number[] {
    const zone = process.env.TZ;
    process.env.TZ = BERLIN;
    vi.useFakeTimers({ now: Date.parse(from) });
    onTestFinished(() => {
      vi.useRealTimers();
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    });
    const schedule = startSchedule(expression, () => {});
    const times: number[] = [];
    for (let index = 0; index < count; index += 1) {
      const next = schedule.nextMs() as number;
      times.push(next);
      vi.setSystemTime(next);
    }
    schedule.stop();
    return times;
  }
});

interface Work {
  run: () => Promise<string>;
  begun: Promise<void>;
  finish: (answer?: string) => void;
}

/** Work that begins in its turn and ends when the test ends it. */
function work(): Work {
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<string>();
  const run = () => {
    begun.resolve();
    return ended.promise;
  };
  return { run, begun: begun.promise, finish: (answer = 'done') => ended.resolve(answer) };
}

const clock = { ms: 0, nowMs: () => 1_000 + clock.ms, monotonicMs: () => clock.ms };
const newQueue = () => new RunQueue(clock);

/** A queue with work under way, so that everything else waits; `begun` has the names of what began since, in order. */
async function busyQueue() {
  const queue = newQueue();
  const first = work();
  void queue.ask('request', first.run, { by: 'first' });
  await first.begun;
  const begun: string[] = [];
  const add = (lane: Lane, name: string, by = name, same?: string) =>
    queue.ask(lane, async () => void begun.push(name), { by, same });
  return { queue, begun, add, finish: first.finish };
}

describe('the queue', () => {
  it('begins a run only when the one before it has ended, in the order of requests', async () => {
    const queue = newQueue();
    const order: string[] = [];
    const [first, second] = [work(), work()];
    const one = queue.inTurn('request', 'ann', () => first.run().finally(() => order.push('first ended')));
    const two = queue.inTurn('request', 'ann', () => {
      order.push('second began');
      return second.run();
    });
    await first.begun;
    expect(order).toEqual([]);
    first.finish('one');
    await second.begun;
    second.finish('two');
    expect(await Promise.all([one, two])).toEqual(['one', 'two']);
    expect(order).toEqual(['first ended', 'second began']);
  });

  it('never runs two at a time, also when work asks for more work', async () => {
    const queue = newQueue();
    let underWay = 0;
    let most = 0;
    const counted = async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await Promise.resolve();
      underWay -= 1;
    };
    let inner: Promise<void> | undefined;
    await queue.inTurn('request', 'ann', () => {
      inner = queue.inTurn('operator', 'ann', counted);
      return counted();
    });
    await inner;
    expect(most).toBe(1);
  });

  it('reports failed work to its caller, and continues with the next', async () => {
    const queue = newQueue();
    const failing = queue.inTurn('schedule', undefined, () => Promise.reject(new Error('the API is away')));
    const thrown = queue.inTurn('operator', 'ann', () => {
      throw new Error('at once');
    });
    const next = queue.inTurn('request', 'ann', async () => 'came');
    await expect(failing).rejects.toThrow('the API is away');
    await expect(thrown).rejects.toThrow('at once');
    expect(await next).toBe('came');
    expect(queue.counters.lanes.schedule).toMatchObject({ accepted: 1, done: 0, failed: 1 });
  });

  it('shows what work has to show before it ends, and nothing of work that failed before that', async () => {
    const queue = newQueue();
    const long = work();
    const { began, ended } = queue.ask<string>('request', (begun) => {
      begun('begun');
      return long.run();
    });
    expect(await began).toBe('begun');
    long.finish('ended');
    expect(await ended).toBe('ended');
    const failed = queue.ask<string>('request', () => Promise.reject(new Error('no such rule')));
    await expect(Promise.race([failed.began, failed.ended])).rejects.toThrow('no such rule');
  });
});

describe('lanes', () => {
  it('are served in order: the schedule, operators, watch, requests', async () => {
    const { queue, begun, add, finish } = await busyQueue();
    const last = add('request', 'request');
    for (const lane of ['watch', 'operator', 'schedule'] as const) add(lane, lane);
    finish();
    await last.ended;
    expect(begun).toEqual(['schedule', 'operator', 'watch', 'request']);
    await queue.stop();
  });

  it('do not starve each other: a schedule that is always due and a flood of operators both give way', async () => {
    const queue = newQueue();
    const begun: string[] = [];
    const again = (lane: Lane) => {
      if (begun.length > 60) return;
      void queue.ask(lane, async () => {
        begun.push(lane);
        again(lane);
      });
    };
    for (const lane of ['schedule', 'operator', 'operator', 'watch', 'request'] as const) again(lane);
    while (begun.length < 60) await new Promise(setImmediate);
    await queue.stop();
    const gapOf = (lane: Lane) => {
      const at = begun.flatMap((name, index) => (name === lane ? [index] : []));
      return Math.max(...at.map((index, nth) => index - (at[nth - 1] ?? -1)));
    };
    const lanes = Object.keys(LANES) as Lane[];
    for (const lane of lanes) expect(gapOf(lane)).toBeLessThanOrEqual(LANES[lane].passedMax + lanes.length);
  });

  it('each have their own places: a full one refuses nothing in another', async () => {
    const { add, queue, finish } = await busyQueue();
    for (const lane of ['operator', 'watch', 'request'] as const) {
      for (let at = 0; at < LANES[lane].placesMax; at += 1) add(lane, `${lane} ${at}`);
      expect(() => add(lane, 'one more')).toThrow('are already waiting: try again later');
    }
    expect(add('schedule', 'schedule').joined).toBe(false);
    finish();
    await queue.stop();
  });
});

describe('waiting requests', () => {
  it('are bounded for each asker and in all; a refusal says when to try again, and a free place ends it', async () => {
    clock.ms = 0;
    const { queue, add, finish } = await busyQueue();
    const last = Array.from({ length: 5 }, (_, at) => add('request', `${at}`, 'ann')).at(-1);
    expect(() => add('request', 'sixth', 'ann')).toThrow(
      expect.objectContaining({
        code: 'busy',
        message: '5 requested runs of the token `ann` are already waiting: try again later',
        options: { retryAfterMs: 1_000 },
      }),
    );
    for (let at = 0; at < 15; at += 1) add('request', `other ${at}`);
    expect(() => add('request', 'the 21st')).toThrow('20 requested runs are already waiting: try again later');
    expect(queue.counters.lanes.request).toMatchObject({ accepted: 21, refused: 2, refusal: { at: 1_000 } });
    clock.ms = 7_000;
    finish();
    await last?.ended;
    add('request', 'sixth', 'ann');
    const { refused, refusal, waitMsMax } = queue.counters.lanes.request;
    expect({ refused, refusal, waitMsMax }).toEqual({ refused: 2, refusal: undefined, waitMsMax: 7_000 });
    await queue.stop();
  });

  it('that are equal become one, while it waits', async () => {
    const { add, queue, begun, finish } = await busyQueue();
    const turns = ['ann', 'bob', 'cleo'].map((by) => add('request', 'dry', by, 'dry'));
    const other = add('request', 'other', 'ann', 'other');
    expect(turns.map(({ joined }) => joined)).toEqual([false, true, true]);
    finish();
    await other.ended;
    expect(begun).toEqual(['dry', 'other']);
    await add('request', 'later', 'ann', 'dry').ended;
    expect(begun).toEqual(['dry', 'other', 'later']);
    expect(queue.counters.lanes.request).toMatchObject({ accepted: 6, joined: 2, done: 4 });
  });

  it('merges five scheduled times missed during a long run into one', async () => {
    const { add, queue, begun, finish } = await busyQueue();
    const missed = [1, 2, 3, 4, 5].map((time) => add('schedule', `time ${time}`, 'the schedule', 'schedule'));
    finish();
    await Promise.all(missed.map(({ ended }) => ended));
    expect(begun).toEqual(['time 1']);
    await add('schedule', 'time 6', 'the schedule', 'schedule').ended;
    expect(begun).toEqual(['time 1', 'time 6']);
    expect(queue.counters.lanes.schedule).toMatchObject({ accepted: 6, joined: 4, refused: 0, done: 2 });
  });

  it('that are equal take no more places than one', async () => {
    const { add, queue, finish } = await busyQueue();
    for (let at = 0; at < 100; at += 1) add('request', 'dry', 'ann', 'dry');
    expect(add('request', 'another', 'ann').joined).toBe(false);
    finish();
    await queue.stop();
  });
});

describe('a queue that is stopped', () => {
  it('waits for the work under way, and refuses at once what waits and what comes', async () => {
    const queue = newQueue();
    const underWay = work();
    let begun = false;
    const running = queue.inTurn('request', 'ann', underWay.run);
    const waiting = queue.inTurn('request', 'ann', async () => {
      begun = true;
    });
    await underWay.begun;
    let stopped = false;
    const stop = queue.stop().then(() => {
      stopped = true;
    });
    await expect(waiting).rejects.toMatchObject({ code: 'stopped' });
    expect(stopped).toBe(false);
    underWay.finish();
    await Promise.all([running, stop]);
    expect({ stopped, begun }).toEqual({ stopped: true, begun: false });
    await expect(queue.inTurn('schedule', undefined, async () => {})).rejects.toMatchObject({ code: 'stopped' });
  });
});
