// store: the time of the server, as processes on several machines have it: while answers take long, while clocks are set, and while the machines
// take turns at what they record.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AGREED_MS, type ClockAgreement, elapsedMs } from '../../../src/base/time.ts';
import { steadyTime } from '../../../src/runtime/system/clock.ts';
import { ServerClock } from '../../../src/store/postgres/lease.ts';

const HOUR = 3_600_000;
const MINUTE = 60_000;

/** A server, whose clock may be set, and machines that were started at different times and whose wall clocks are anything. */
class World {
  trueMs = 1_000 * HOUR;
  serverAheadMs = 0;
  /** How long a question is under way, and its answer. */
  delays = { thereMs: 1, backMs: 1 };
  isGone = false;

  serverMs(): number {
    return this.trueMs + this.serverAheadMs;
  }

  machine(upMs: number): Promise<ServerClock> {
    const startedMs = this.trueMs - upMs;
    const own = { nowMs: () => Number.NaN, monotonicMs: () => this.trueMs - startedMs, sleep: async () => {} };
    return ServerClock.measured(own, async () => {
      if (this.isGone) throw new Error('gone');
      this.trueMs += this.delays.thereMs;
      const answer = this.serverMs();
      this.trueMs += this.delays.backMs;
      return answer;
    });
  }
}

describe('the time of the server', () => {
  it('is the same on machines whose own clocks differ by any amount, but for half of what an answer takes', async () => {
    const world = new World();
    world.delays = { thereMs: 30, backMs: 2 };
    const [one, other] = [await world.machine(HOUR), await world.machine(9 * HOUR)];
    expect(Math.abs(one.nowMs() - world.serverMs())).toBeLessThanOrEqual(16);
    expect(Math.abs(one.nowMs() - other.nowMs())).toBeLessThanOrEqual(16);
  });

  it('is not moved by an answer that took long, and goes on without any', async () => {
    const world = new World();
    const clock = await world.machine(HOUR);
    const watched = clock.watched();
    for (const delays of [
      { thereMs: 40_000, backMs: 1 },
      { thereMs: 1, backMs: 40_000 },
    ]) {
      world.delays = delays;
      await clock.measure();
      expect(Math.abs(clock.nowMs() - world.serverMs())).toBeLessThanOrEqual(2);
    }
    world.isGone = true;
    await expect(clock.measure()).rejects.toThrow('gone');
    world.trueMs += HOUR;
    expect(Math.abs(clock.nowMs() - world.serverMs())).toBeLessThanOrEqual(2);
    expect(clock.watched()).toEqual(watched);
  });

  it.each([HOUR, -HOUR, 2_000, -2_000])(
    'that is set by %i ms is followed, and was watched anew from then on',
    async (byMs) => {
      const world = new World();
      const clock = await world.machine(HOUR);
      world.trueMs += MINUTE;
      world.serverAheadMs += byMs;
      await clock.measure();
      const now = clock.nowMs();
      expect(Math.abs(now - world.serverMs())).toBeLessThanOrEqual(2);
      expect(clock.watched()).toMatchObject({ sinceMs: now, jumpedMs: now });
    },
  );
});

interface Job {
  machine: number;
  /** Before it. */
  passMs: number;
  setByMs: number;
  thereMs: number;
  backMs: number;
}

const job: fc.Arbitrary<Job> = fc.record({
  machine: fc.nat(2),
  passMs: fc.constantFrom(100, 5_000, 20_000, 5 * MINUTE, 2 * HOUR),
  setByMs: fc.constantFrom(0, 0, 0, 0, 0, HOUR, -HOUR, 3 * MINUTE, -2_000, 10 * HOUR),
  thereMs: fc.constantFrom(0, 1, 50, 400),
  backMs: fc.constantFrom(0, 1, 50, 400),
});

/** Each job opens the organization anew, on one of the machines, and records its time. Out: of each record, its true age and the shown one. */
async function ages(jobs: readonly Job[]): Promise<{ trueMs: number; shownMs: number }[]> {
  const world = new World();
  const machines = await Promise.all([world.machine(HOUR), world.machine(70 * HOUR), world.machine(20_000)]);
  const records: { trueAt: number; at: number }[] = [];
  let kept: ClockAgreement | undefined;
  const found: { trueMs: number; shownMs: number }[] = [];
  for (const { machine, passMs, setByMs, ...delays } of jobs) {
    world.trueMs += passMs;
    world.serverAheadMs += setByMs;
    world.delays = delays;
    const clock = machines[machine] as ServerClock;
    await clock.measure();
    const steady = steadyTime(clock, `boot ${machine}`, kept, undefined, clock.watched());
    const read = steady.read();
    for (const { trueAt, at } of records) found.push({ trueMs: world.trueMs - trueAt, shownMs: elapsedMs(read, at) });
    records.push({ trueAt: world.trueMs, at: read.nowMs });
    kept = steady.agreement();
    // It stays as it was set for longer than the processes take until they measure again.
    if (setByMs !== 0) await Promise.all(machines.map((each) => each.measure()));
  }
  return found;
}

describe('what one machine recorded, seen by the next', () => {
  it('never counts as older than it is, whoever takes turns and however the clock of the server is set', async () => {
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(job, { minLength: 2, maxLength: 12 }), async (jobs) => {
        for (const { trueMs, shownMs } of await ages(jobs)) {
          expect(shownMs).toBeLessThanOrEqual(trueMs + AGREED_MS + 1_000);
          compared += 1;
        }
      }),
      { numRuns: 2_000 },
    );
    expect(compared).toBeGreaterThan(10_000);
  });

  it('is as old as it is while nobody sets that clock, also when machines take turns', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(job, { minLength: 2, maxLength: 12 }), async (jobs) => {
        for (const { trueMs, shownMs } of await ages(jobs.map((one) => ({ ...one, setByMs: 0 }))))
          expect(Math.abs(shownMs - trueMs)).toBeLessThanOrEqual(1_000);
      }),
      { numRuns: 500 },
    );
  });
});
