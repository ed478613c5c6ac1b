// test: the quiet period in force: what is measured, what an earlier process left, and how it is put into words.
import { describe, expect, it } from 'vitest';
import { describeQuietPeriod, type KeptLatency, quietPeriod } from '../../../src/domain/ports.ts';
import { LatencyMeter } from '../../../src/platform/client/transport.ts';
import { quietTime, steadyTime } from '../../../src/runtime/system/clock.ts';
import { FakeClock } from '../../support/platform.ts';

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
