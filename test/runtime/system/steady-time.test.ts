// system: how long ago something was, while the wall clock jumps, is slowly corrected, or was set back before the
// start.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  AGREED_MS,
  BETWEEN_BOOTS_MS,
  elapsedMs,
  type SteadyReading,
  throughout,
  wallElapsedMs,
} from '../../../src/base/time.ts';
import { steadyTime } from '../../../src/runtime/system/clock.ts';

const HOUR = 3_600_000;
/** Beyond this distance from the server's clock, nothing is done. */
const RIGHT = 5 * 60_000;

type Kind = 'pass' | 'jump' | 'write' | 'look' | 'restart' | 'reboot' | 'wake at the same hour';

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

describe('a stored time', () => {
  it('is as long ago as the wall clock shows while it agrees with the monotonic one, also before this process', () => {
    const { pass, sinceMs, write, restart } = clocks();
    const before = write();
    pass(5_000);
    restart();
    const at = write();
    pass(20_000);
    expect([sinceMs(before), sinceMs(at)]).toEqual([25_000, 20_000]);
  });

  it.each([HOUR, -HOUR, 14_000, -20_000])('is not over at once when the clock jumps by %i ms', (jumpMs) => {
    const { clock, pass, sinceMs } = clocks();
    pass(HOUR);
    const at = clock.wall;
    pass(1_000);
    clock.wall += jumpMs;
    expect(sinceMs(at)).toBeLessThanOrEqual(1_000);
    pass(14_000);
    expect(sinceMs(at)).toBeLessThanOrEqual(15_000);
  });

  it.each([HOUR, -HOUR])('is over in due time after the clock jumped by %i ms', (jumpMs) => {
    const { clock, pass, sinceMs } = clocks();
    const at = clock.wall;
    clock.wall += jumpMs;
    sinceMs(at);
    pass(15_000);
    expect(sinceMs(at)).toBe(15_000);
  });

  it('after a jump is not measured from before the jump', () => {
    const { clock, pass, sinceMs, read } = clocks();
    clock.wall += HOUR;
    read();
    pass(60_000);
    const at = clock.wall;
    pass(3_000);
    expect(sinceMs(at)).toBe(3_000);
  });

  it.each([HOUR, -HOUR, 14_000, -20_000])(
    'is not over at once when the clock is set by %i ms while no process runs',
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

  it('is not over at once when the machine restarts, or the database moves to another', () => {
    const { pass, sinceMs, write, restart } = clocks();
    const at = write();
    pass(BETWEEN_BOOTS_MS);
    restart('second');
    expect(sinceMs(at)).toBe(0);
    pass(9_000);
    restart('second');
    pass(6_000);
    expect(sinceMs(at)).toBe(15_000);
  });

  it('is over in due time where each process runs on another boot', () => {
    const { clock, pass, sinceMs, write, restart } = clocks();
    const at = write();
    for (let boot = 0; boot < 24; boot += 1) {
      pass(HOUR);
      clock.monotonic = 60_000;
      restart(`boot ${boot}`);
      expect(sinceMs(at)).toBe((boot + 1) * HOUR - BETWEEN_BOOTS_MS);
    }
  });

  it('is not over on another boot because of a jump seen before it', () => {
    const { clock, pass, sinceMs, read, write, restart } = clocks();
    const at = write();
    clock.wall += 24 * HOUR;
    read();
    write();
    pass(1_000);
    restart('second');
    expect(sinceMs(at)).toBe(0);
    pass(HOUR);
    restart('third');
    expect(sinceMs(at)).toBe(HOUR + 1_000 - BETWEEN_BOOTS_MS);
  });

  it.each(['second', 'first'])('ahead of a clock that was set right before boot "%s" is never over', (boot) => {
    const { clock, pass, sinceMs, read, write, restart } = clocks();
    clock.wall += 1_000 * HOUR;
    read();
    const at = write();
    clock.wall -= 1_000 * HOUR;
    restart(boot);
    expect(sinceMs(at)).toBe(0);
    expect(wallElapsedMs(read(), at)).toBe(0);
    pass(HOUR);
    restart('third');
    expect(sinceMs(at)).toBe(HOUR - BETWEEN_BOOTS_MS);
    expect(wallElapsedMs(read(), at)).toBe(HOUR);
  });

  it('is rounded down to whole units of the monotonic clock', () => {
    const { clock, pass, sinceMs, write } = clocks();
    const at = write();
    clock.wall += HOUR;
    sinceMs(at);
    pass(14_999.6);
    expect(sinceMs(at)).toBe(14_999);
  });

  it('becomes a day old by the wall clock where the machine sleeps each night', () => {
    const { clock, pass, read, write } = clocks();
    const at = write();
    for (let hour = 0; hour < 14; hour += 1) {
      pass(HOUR);
      read();
    }
    clock.wall += 10 * HOUR;
    expect(wallElapsedMs(read(), at)).toBe(24 * HOUR);
  });

  it('never counts as older than it is, whatever jumps, restarts and reboots happen', () => {
    const ms = fc.integer({ min: 0, max: 2 * HOUR });
    // The wall clock is wrong by this much from then on: as little as the server's clock lets pass, or more.
    const wrongMs = fc.oneof(fc.integer({ min: -2 * HOUR, max: 2 * HOUR }), fc.integer({ min: -RIGHT, max: RIGHT }));
    const happening = fc.oneof(
      fc.record({ kind: fc.constant('pass' as const), ms, wrongMs }),
      fc.record({
        kind: fc.constantFrom('jump', 'write', 'look', 'restart', 'reboot') as fc.Arbitrary<Kind>,
        ms,
        wrongMs,
      }),
      // A machine without a battery for its clock wakes at the same hour each time.
      fc.record({ kind: fc.constant('wake at the same hour' as const), ms, wrongMs }),
    );
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 30 }), fc.boolean(), (before, namesBoots) => {
        const happenings = [...before, { kind: 'look' as const, ms: 0, wrongMs: 0 }];
        const { clock, sinceMs, write, restart } = clocks(namesBoots ? 'boot 0' : '');
        const start = { wall: clock.wall, apart: clock.wall - clock.monotonic };
        let trueMs = 0;
        let boots = 0;
        const isRight = () => Math.abs(clock.wall - start.wall - trueMs) <= RIGHT;
        const written: { atMs: number; trueMs: number; boot: number; isRight: boolean }[] = [];
        const pass = (passed: number) => {
          trueMs += passed;
          clock.wall += passed;
          clock.monotonic += passed;
        };
        for (const { kind, ms, wrongMs } of happenings) {
          if (kind === 'pass') pass(ms);
          if (kind === 'jump') clock.wall = start.wall + trueMs + wrongMs;
          if (kind === 'write') written.push({ atMs: write(), trueMs, boot: boots, isRight: isRight() });
          if (kind === 'reboot' || kind === 'wake at the same hour') {
            boots += 1;
            pass(ms);
            clock.monotonic = 0;
            clock.wall = kind === 'reboot' ? start.wall + trueMs + wrongMs : start.apart;
          }
          if (kind === 'restart' || kind === 'reboot' || kind === 'wake at the same hour') {
            pass(ms);
            restart(namesBoots ? `boot ${boots}` : '');
          }
          if (kind !== 'look') continue;
          for (const one of written) {
            if (one.boot !== boots && !(one.isRight && isRight())) continue;
            expect(sinceMs(one.atMs)).toBeLessThanOrEqual(trueMs - one.trueMs + 2 * AGREED_MS);
          }
        }
      }),
      { numRuns: 4_000 },
    );
  });

  it('ahead of a clock that was set back before the start is not over at the start, but in due time', () => {
    const { clock, pass, sinceMs } = clocks();
    const ahead = clock.wall + HOUR;
    expect(sinceMs(ahead)).toBe(0);
    pass(15_000);
    expect(sinceMs(ahead)).toBe(15_000);
  });

  it('does not start anew at each small correction of the clock', () => {
    const { clock, pass, sinceMs } = clocks();
    const at = clock.wall;
    for (let second = 0; second < 600; second += 1) {
      pass(1_000);
      clock.wall += 1;
      sinceMs(at);
    }
    expect(sinceMs(at)).toBeGreaterThan(600_000);
  });

  it('a moment ahead of a slightly corrected clock does not count as long over', () => {
    const { clock, pass, sinceMs } = clocks();
    pass(HOUR);
    const at = clock.wall;
    clock.wall -= 500;
    expect(sinceMs(at)).toBeLessThanOrEqual(0);
  });
});

describe('a reading that takes a while', () => {
  it('is dated to its beginning', () => {
    const { pass, read } = clocks();
    const begun = read();
    pass(60_000);
    expect(throughout(begun, read())).toEqual(begun);
  });

  it('lets nothing be over when the clock jumped during it', () => {
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
