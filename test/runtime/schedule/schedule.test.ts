// schedule: what is a cron expression and what is not, and that runs happen at its times.
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { timeOfDay } from '../../../src/base/time.ts';
import { scheduleFault, startSchedule, timesBetween } from '../../../src/runtime/schedule/run-queue.ts';

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
