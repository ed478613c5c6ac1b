// pull: a fleet that drifts by a little in each run: compared with readings of 24 hours and 7 days before, of which few are kept.
import { describe, expect, it } from 'vitest';
import type { Baseline, TrustReason } from '../../../src/domain/snapshot.ts';
import { earlierReadings } from '../../../src/engine/pull/stand-still.ts';
import { distrust, TRUST_DEFAULT } from '../../../src/engine/pull/trust-gate.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const FACT = 'MdmData.CompromisedStatus';

interface Seen {
  count?: number;
  values?: Baseline['values'];
}

const flagged = (yes: number, count: number): Seen => ({
  count,
  values: { [FACT]: { TRUE: yes, FALSE: count - yes } },
});

/** Runs one after another, as a pull compares and keeps their readings. */
class Runs {
  baseline: Baseline | undefined;
  private now = 0;

  see({ count = 100, values = {} }: Seen, afterMs = 5 * MINUTE): TrustReason[] {
    this.now += afterMs;
    const reading = { source: 'devices' as const, count, unreadable: { count: 0, examples: [] }, finishedAt: this.now };
    const rest = { repeatedKeys: [], values, baseline: this.baseline, skewMs: 0, settings: TRUST_DEFAULT };
    const reasons = distrust({ reading, ...rest });
    if (reasons.length === 0) this.trust(count, values);
    return reasons;
  }

  private trust(count: number, values: Baseline['values']): void {
    const earlier = earlierReadings(this.baseline, this.now);
    this.baseline = { source: 'devices', takenAt: this.now, count, values, earlier };
  }

  codes(seen: Seen, afterMs?: number): string[] {
    return this.see(seen, afterMs).map(({ code }) => code);
  }

  /** Sees each until one is not trusted. */
  until(all: Iterable<Seen>, afterMs?: number): { trusted: number; reason: string | undefined } {
    let trusted = 0;
    for (const seen of all) {
      const [reason] = this.see(seen, afterMs);
      if (reason) return { trusted, reason: reason.text };
      trusted += 1;
    }
    return { trusted, reason: undefined };
  }
}

describe('a fleet that drifts', () => {
  it('in twelve runs that each flip a little loses trust before a third of it has flipped', () => {
    const runs = new Runs();
    const flips = Array.from({ length: 12 }, (_, run) => flagged(4 + 10 * run, 200));
    expect(runs.until(flips)).toEqual({
      trusted: 6,
      reason: `devices: ${FACT} is \`TRUE\` in 32.0 % of records, and was in 2.0 % 30 min ago`,
    });
  });

  it('over a day loses trust by comparison with 24 hours ago', () => {
    const runs = new Runs();
    for (let hour = 0; hour < 48; hour += 1) expect(runs.codes(flagged(4, 200), HOUR)).toEqual([]);
    const found = runs.until(
      Array.from({ length: 100 }, (_, hour) => flagged(4 + 3 * hour, 200)),
      HOUR,
    );
    expect(found).toEqual({
      trusted: 17,
      reason: `devices: ${FACT} is \`TRUE\` in 27.5 % of records, and was in 2.0 % 26 hours ago`,
    });
  });

  it('over a week loses trust by comparison with 7 days ago', () => {
    const runs = new Runs();
    for (let hour = 0; hour < 10 * 24; hour += 3) expect(runs.codes(flagged(0, 1_000), 3 * HOUR)).toEqual([]);
    const found = runs.until(
      Array.from({ length: 100 }, (_, hour) => flagged(11 * hour, 1_000)),
      3 * HOUR,
    );
    expect(found).toEqual({
      trusted: 46,
      reason: `devices: ${FACT} is \`TRUE\` in 50.6 % of records, and was in 0.0 % 7 days ago`,
    });
  });

  it('does not become trusted by waiting', () => {
    const runs = new Runs();
    runs.until(Array.from({ length: 12 }, (_, run) => flagged(4 + 10 * run, 200)));
    for (let day = 0; day < 10; day += 1) expect(runs.codes(flagged(64, 200), DAY)).toEqual(['fact_drifted']);
    expect(runs.codes(flagged(54, 200))).toEqual([]);
  });

  it('that loses a little of its records in each run loses trust', () => {
    const runs = new Runs();
    const found = runs.until(Array.from({ length: 30 }, (_, run) => ({ count: 1_000 - 30 * run })));
    expect(found).toEqual({ trusted: 9, reason: 'devices: 730 records, 270 fewer than 45 min ago (more than 25 %)' });
  });

  it('that grows a little in each run loses trust at three times its records', () => {
    const runs = new Runs();
    const found = runs.until(Array.from({ length: 30 }, (_, run) => ({ count: 8_000 + 2_000 * run })));
    expect(found).toEqual({
      trusted: 9,
      reason: 'devices: 26000 records, and there were 8000 45 min ago (more than 3 times as many)',
    });
  });

  it.each<[string, (day: number) => Seen]>([
    [
      'a new version on 40 % of the fleet within a week',
      (day) => ({ values: { Version: { new: 6 * day, old: 100 - 6 * day } } }),
    ],
    ['8 % of the records gone in each day', (day) => ({ count: 1_000 - 80 * Math.min(day, 5) })],
    ['a handful of records', (day) => flagged(Math.min(day, 10), 12)],
  ])('%s stays trusted', (_, seenOn) => {
    const runs = new Runs();
    for (let day = 0; day < 10; day += 1)
      for (let hour = 0; hour < 24; hour += 1) expect(runs.codes(seenOn(Math.min(day, 7)), HOUR)).toEqual([]);
  });

  it('says once what differs from the last reading already', () => {
    const runs = new Runs();
    runs.see(flagged(0, 100));
    runs.see(flagged(0, 100));
    expect(runs.codes(flagged(60, 100))).toEqual(['fact_moved']);
    expect(runs.codes({ count: 40 })).toEqual(['shrunk']);
  });
});

describe('the readings that are kept', () => {
  it('are few, however often the fleet is read, and reach back for a week', () => {
    const runs = new Runs();
    let most = 0;
    for (let run = 0; run < 20 * 288; run += 1) {
      runs.see(flagged(0, 100));
      most = Math.max(most, runs.baseline?.earlier?.length ?? 0);
    }
    const { takenAt, earlier = [] } = runs.baseline as Baseline;
    const ages = earlier.map((one) => (takenAt - one.takenAt) / HOUR);
    expect(most).toBeLessThanOrEqual(18);
    expect(ages[0]).toBeGreaterThanOrEqual(168);
    expect(ages[0]).toBeLessThan(168 + 27);
    expect(ages.some((age) => age >= 24 && age <= 27)).toBe(true);
  });

  it('of a clock that was ahead are forgotten', () => {
    const reading = (takenAt: number) => ({ takenAt, count: 1, values: {} });
    const last = { source: 'devices' as const, ...reading(90 * DAY), earlier: [reading(1 * DAY), reading(80 * DAY)] };
    expect(earlierReadings(last, 2 * DAY)).toEqual([reading(1 * DAY)]);
  });
});
