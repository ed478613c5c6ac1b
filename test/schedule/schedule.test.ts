// schedule: what is a cron expression and what is not, and that runs happen at its times.
import { describe, expect, it } from 'vitest';
import { scheduleFault, startSchedule } from '../../src/schedule/schedule.ts';

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
});
