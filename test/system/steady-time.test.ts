// system: how long ago something was, while the wall clock jumps, is slowly corrected, or was set back before the start.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AGREED_MS, elapsedMs, type SteadyReading, throughout } from '../../src/domain/steady-time.ts';
import { steadyTime } from '../../src/system/steady-time.ts';

const HOUR = 3_600_000;

/** One database, and the machine whose processes write to it. */
function clocks(boot = 'first') {
  const clock = { wall: 1_000 * HOUR, monotonic: HOUR, nowMs: () => clock.wall, monotonicMs: () => clock.monotonic };
  const pass = (ms: number) => {
    clock.wall += ms;
    clock.monotonic += ms;
  };
  let steady = steadyTime(clock, boot, undefined);
  let kept = steady.agreement();
  return {
    clock,
    pass,
    sinceMs: (atMs: number) => elapsedMs(steady.read(), atMs),
    read: () => steady.read(),
    write: () => {
      steady.read();
      kept = steady.agreement();
      return clock.wall;
    },
    restart: (to = boot) => {
      steady = steadyTime(clock, to, kept);
      kept = steady.agreement();
    },
  };
}

describe('what was written down', () => {
  it('is as long ago as the wall clock says while it agrees with the monotonic one, also before this process', () => {
    const { pass, sinceMs, write, restart } = clocks();
    const before = write();
    pass(5_000);
    restart();
    const at = write();
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

  it.each([HOUR, -HOUR, 14_000, -20_000])(
    'is over at once when the clock is set by %i ms while no process runs',
    (jumpMs) => {
      const { clock, pass, sinceMs, write, restart } = clocks();
      pass(HOUR);
      const at = write();
      pass(1_000);
      clock.wall += jumpMs;
      for (let run = 0; run < 2; run += 1) {
        restart();
        expect(sinceMs(at)).toBeLessThanOrEqual(1_000 + run * 7_000);
        pass(7_000);
      }
      pass(1_000);
      expect(sinceMs(at), 'nor is it waited for anew by each process').toBeGreaterThanOrEqual(15_000);
    },
  );

  it('is over at once when the machine starts anew, or the database was moved to another', () => {
    const { pass, sinceMs, write, restart } = clocks();
    const at = write();
    pass(HOUR);
    restart('second');
    expect(sinceMs(at)).toBe(0);
    pass(9_000);
    restart('second');
    pass(6_000);
    expect(sinceMs(at)).toBe(15_000);
  });

  it('is taken for older than it is, whatever jumps, restarts and new starts of the machine come', () => {
    const ms = fc.integer({ min: 0, max: 2 * HOUR });
    const happening = fc.oneof(
      fc.record({ kind: fc.constant('pass' as const), ms }),
      fc.record({ kind: fc.constant('jump' as const), ms: fc.integer({ min: -2 * HOUR, max: 2 * HOUR }) }),
      fc.record({ kind: fc.constantFrom('write' as const, 'look' as const), ms: fc.constant(0) }),
      fc.record({ kind: fc.constant('restart' as const), ms }),
      fc.record({ kind: fc.constant('reboot' as const), ms }),
      // Without a battery for its clock, a machine wakes at the same hour each time.
      fc.record({ kind: fc.constant('wake at the same hour' as const), ms }),
    );
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 30 }), fc.boolean(), (before, namesBoots) => {
        const happenings = [...before, { kind: 'look' as const, ms: 0 }];
        const { clock, sinceMs, write, restart } = clocks(namesBoots ? 'boot 0' : '');
        const apartAtFirst = clock.wall - clock.monotonic;
        let trueMs = 0;
        let boots = 0;
        const written: { atMs: number; trueMs: number }[] = [];
        const pass = (passed: number) => {
          trueMs += passed;
          clock.wall += passed;
          clock.monotonic += passed;
        };
        for (const { kind, ms } of happenings) {
          if (kind === 'pass') pass(ms);
          if (kind === 'jump') clock.wall += ms;
          if (kind === 'write') written.push({ atMs: write(), trueMs });
          if (kind === 'reboot' || kind === 'wake at the same hour') {
            boots += 1;
            pass(ms);
            clock.monotonic = 0;
            if (kind === 'wake at the same hour') clock.wall = apartAtFirst;
          }
          if (kind === 'restart' || kind === 'reboot' || kind === 'wake at the same hour') {
            pass(ms);
            restart(namesBoots ? `boot ${boots}` : '');
          }
          if (kind !== 'look') continue;
          for (const one of written) expect(sinceMs(one.atMs)).toBeLessThanOrEqual(trueMs - one.trueMs + 2 * AGREED_MS);
        }
      }),
      { numRuns: 2_000 },
    );
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
