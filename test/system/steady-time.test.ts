// system: how long ago something was, while the wall clock jumps, is slowly corrected, or was set back before the start.
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/domain/ports.ts';
import { elapsedMs, type SteadyReading, throughout } from '../../src/domain/steady-time.ts';
import { steadyTime } from '../../src/system/steady-time.ts';

const HOUR = 3_600_000;

function clocks() {
  const clock = { wall: 1_000 * HOUR, monotonic: 7, nowMs: () => clock.wall, monotonicMs: () => clock.monotonic };
  const pass = (ms: number) => {
    clock.wall += ms;
    clock.monotonic += ms;
  };
  const steady = steadyTime({ ...clock, sleep: async () => {} } satisfies Clock);
  return { clock, pass, sinceMs: (atMs: number) => elapsedMs(steady.read(), atMs), read: () => steady.read() };
}

describe('what was written down', () => {
  it('is as long ago as the wall clock says while it agrees with the monotonic one, also before this process', () => {
    const { clock, pass, sinceMs } = clocks();
    const before = clock.wall - 5_000;
    const at = clock.wall;
    pass(20_000);
    expect([sinceMs(before), sinceMs(at)]).toEqual([25_000, 20_000]);
  });

  it.each([HOUR, -HOUR, 14_000, -20_000])('is over at once when the clock jumps by %i ms', (jumpMs) => {
    const { clock, pass, sinceMs } = clocks();
    pass(HOUR);
    const at = clock.wall;
    pass(1_000);
    clock.wall += jumpMs;
    expect(sinceMs(at)).toBeLessThanOrEqual(1_000);
    pass(14_000);
    expect(sinceMs(at)).toBeLessThanOrEqual(15_000);
  });

  it.each([HOUR, -HOUR])('is never over after the clock jumped by %i ms', (jumpMs) => {
    const { clock, pass, sinceMs } = clocks();
    const at = clock.wall;
    clock.wall += jumpMs;
    sinceMs(at);
    pass(15_000);
    expect(sinceMs(at)).toBe(15_000);
  });

  it('after a jump is told by a time of before it', () => {
    const { clock, pass, sinceMs, read } = clocks();
    clock.wall += HOUR;
    read();
    pass(60_000);
    const at = clock.wall;
    pass(3_000);
    expect(sinceMs(at)).toBe(3_000);
  });

  it('ahead of a clock that was set back before the start is not over at the start, and is after its time', () => {
    const { clock, pass, sinceMs } = clocks();
    const ahead = clock.wall + HOUR;
    expect(sinceMs(ahead)).toBe(0);
    pass(15_000);
    expect(sinceMs(ahead)).toBe(15_000);
  });

  it('waits anew for each small correction of the clock', () => {
    const { clock, pass, sinceMs } = clocks();
    const at = clock.wall;
    for (let second = 0; second < 600; second += 1) {
      pass(1_000);
      clock.wall += 1;
      sinceMs(at);
    }
    expect(sinceMs(at)).toBeGreaterThan(600_000);
  });

  it('a moment ahead, of a clock that was corrected a little, counts as long over', () => {
    const { clock, pass, sinceMs } = clocks();
    pass(HOUR);
    const at = clock.wall;
    clock.wall -= 500;
    expect(sinceMs(at)).toBeLessThanOrEqual(0);
  });
});

describe('what was read over a while', () => {
  it('is dated to the end of the reading instead of its beginning', () => {
    const { pass, read } = clocks();
    const begun = read();
    pass(60_000);
    expect(throughout(begun, read())).toEqual(begun);
  });

  it('lets something be over although the clock jumped during it', () => {
    const { clock, pass, read } = clocks();
    const begun = read();
    const at = clock.wall - HOUR;
    pass(60_000);
    clock.wall += HOUR;
    const reading: SteadyReading = throughout(begun, read());
    expect(elapsedMs(reading, at)).toBe(0);
    expect(elapsedMs(reading, clock.wall - 1)).toBe(0);
  });
});
