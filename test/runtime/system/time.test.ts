// system: the quiet period in force, and how long ago something was, while the wall clock jumps, is corrected, or was set back.
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
import { describeQuietPeriod, type KeptLatency, quietPeriod } from '../../../src/domain/ports.ts';
import { LatencyMeter } from '../../../src/platform/client/transport.ts';
import { quietTime, steadyTime } from '../../../src/runtime/system/clock.ts';
import { FakeClock } from '../../support/platform.ts';

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

  it('is not over by a wall clock that the server contradicts, when the machine has started anew since', () => {
    const { clock, pass, write } = clocks();
    const at = write();
    const kept = steadyTime(clock, 'first', undefined).agreement();
    let isWrong = true;
    clock.wall += 2 * HOUR;
    const steady = steadyTime(
      { ...clock, nowMs: () => clock.wall, monotonicMs: () => clock.monotonic - HOUR },
      'second',
      kept,
      () => isWrong,
    );
    pass(20_000);
    expect(elapsedMs(steady.read(), at)).toBe(20_000);
    isWrong = false;
    expect(elapsedMs(steady.read(), at)).toBeGreaterThan(HOUR);
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

const HOUR_MS = 3_600_000;
const TIMEOUT_MS = 10_000;

const measured = (p99Ms: number, calls = 120) => ({ p99Ms, calls, kind: 'write' as const });

describe('the quiet period', () => {
  it.each([
    [15_000, measured(15_000), 45_000, '45s: 3 × 15s, the 99th percentile of 120 write calls in the last hour'],
    [15_000, measured(20_000, 1), 60_000, '1m: 3 × 20s, the 99th percentile of 1 write call in the last hour'],
    [
      15_000,
      measured(120),
      15_000,
      '15s: as configured; 3 × 120ms, the 99th percentile of 120 write calls in the last hour, is less',
    ],
    [15_000, measured(0, 0), 15_000, '15s: as configured; no call was measured in the last hour'],
    [
      15_000,
      measured(300_000),
      600_000,
      '10m: the most; 3 × 5m, the 99th percentile of 120 write calls in the last hour, is more',
    ],
    [
      HOUR_MS,
      measured(300_000),
      HOUR_MS,
      '1h: as configured; 3 × 5m, the 99th percentile of 120 write calls in the last hour, is less',
    ],
  ])('of %i ms, configured, and the latency %j is %i ms', (configuredMs, latency, ms, text) => {
    const period = quietPeriod(configuredMs, latency);
    expect([period.ms, describeQuietPeriod(period)]).toEqual([ms, text]);
  });
});

describe('the latency', () => {
  const clock = new FakeClock();
  const meterOf = (...calls: ['read' | 'write', number][]) => {
    const meter = new LatencyMeter(clock, TIMEOUT_MS);
    for (const [kind, ms] of calls) meter.add(kind, ms);
    return meter;
  };

  it('is that of the slower kind of call', () => {
    const reads = Array.from({ length: 1_000 }, (): ['read', number] => ['read', 5]);
    expect(meterOf(...reads, ['write', 9_000]).latency()).toEqual({ p99Ms: 9_000, calls: 1, kind: 'write' });
    expect(meterOf(['read', 9_000], ['write', 5]).latency()).toEqual({ p99Ms: 9_000, calls: 1, kind: 'read' });
  });

  it('leaves out one call of a hundred, and is never shorter than the percentile', () => {
    const calls = Array.from({ length: 200 }, (_, index): ['write', number] => ['write', index + 1]);
    const { p99Ms } = meterOf(...calls).latency();
    expect(p99Ms).toBeGreaterThanOrEqual(198);
    expect(p99Ms).toBeLessThanOrEqual(200);
    const two = Array.from({ length: 198 }, (): ['write', number] => ['write', 5]);
    expect(meterOf(...two, ['write', 9_000], ['write', 9_000]).latency().p99Ms).toBe(5);
    expect(meterOf(...two, ['write', 9_000], ['write', 9_000], ['write', 8_000]).latency().p99Ms).toBe(8_000);
  });

  it('forgets a call after an hour, and not before', () => {
    const meter = meterOf(['write', 9_000]);
    clock.pass(HOUR_MS - 1);
    meter.add('write', 5);
    expect(meter.latency().p99Ms).toBe(9_000);
    clock.pass(61_001);
    expect(meter.latency()).toEqual({ p99Ms: 5, calls: 1, kind: 'write' });
  });

  it('counts a call without an answer as twice the timeout', () => {
    const meter = meterOf();
    meter.addUnanswered('write');
    expect(meter.latency().p99Ms).toBe(2 * TIMEOUT_MS);
  });
});

describe('a process that begins', () => {
  const process = (clock: FakeClock, kept: KeptLatency | undefined) => {
    const meter = new LatencyMeter(clock, TIMEOUT_MS);
    const api = { latency: () => meter.latency(), unansweredMs: () => meter.unansweredMs };
    return { meter, quiet: quietTime(15_000, api, steadyTime(clock, 'a boot', undefined), kept) };
  };

  it('has no shorter quiet period than the one before, for an hour', () => {
    const clock = new FakeClock();
    const first = process(clock, undefined);
    first.meter.addUnanswered('write');
    const kept = first.quiet.latency();
    clock.pass(1_000);
    const second = process(clock, kept);
    second.meter.add('write', 5);
    expect(second.quiet.read().ms).toBe(60_000);
    expect(second.quiet.latency()).toEqual(kept);
    clock.pass(HOUR_MS);
    expect(second.quiet.read().ms).toBe(15_000);
  });

  it('takes a call that was under way for one without an answer', () => {
    const clock = new FakeClock();
    const { quiet } = process(clock, process(clock, undefined).quiet.unanswered());
    expect(quiet.read().ms).toBe(60_000);
  });
});
