// pull: whether a reading is trusted: each cause of the gate at its threshold, fleets that drift slowly, sources that stand still.
import { describe, expect, it } from 'vitest';
import type { Baseline, Movement, TrustReason } from '../../../src/domain/snapshot.ts';
import { acceptStanding, earlierReadings, followMovement } from '../../../src/engine/pull/stand-still.ts';
import { distrust, type GateInput, TRUST_DEFAULT } from '../../../src/engine/pull/trust-gate.ts';
import { Dice } from '../../harness/dice.ts';

type Values = Baseline['values'];
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

function baselineOf(count: number, values: Values = {}): Baseline {
  return { source: 'devices', takenAt: 0, count, values };
}

interface Case extends Partial<Omit<GateInput, 'reading'>> {
  count?: number;
  unreadable?: number;
}

function codesOf({ count = 100, unreadable = 0, ...more }: Case): string[] {
  return reasonsOf({ count, unreadable, ...more }).map(({ code }) => code);
}

function reasonsOf({ count = 100, unreadable = 0, ...more }: Case) {
  const examples = unreadable === 0 ? [] : ['record 3: DeviceID is missing'];
  const reading = { source: 'devices' as const, count, unreadable: { count: unreadable, examples }, finishedAt: DAY };
  const rest = { repeatedKeys: [], values: {}, baseline: undefined, skewMs: 0, settings: TRUST_DEFAULT };
  return distrust({ reading, ...rest, ...more });
}

describe('the trust gate', () => {
  it.each<[string, Case, string[]]>([
    ['a first complete reading', {}, []],
    ['an empty first reading', { count: 0 }, []],
    ['one repeated key', { repeatedKeys: ['device-1'] }, ['repeated_key']],
    ['1 % of records without a key', { count: 99, unreadable: 1 }, []],
    ['more than 1 % of records without a key', { count: 98, unreadable: 1 }, ['unreadable_records']],
    ['no record with a key', { count: 0, unreadable: 1 }, ['unreadable_records']],
    ['an emptied list', { count: 0, baseline: baselineOf(3) }, ['empty']],
    ['an empty list that was empty before', { count: 0, baseline: baselineOf(0) }, []],
    ['shrunk by 20 %', { count: 80, baseline: baselineOf(100) }, []],
    ['shrunk by 21 %', { count: 79, baseline: baselineOf(100) }, ['shrunk']],
    ['shrunk by half, and by ten records', { count: 10, baseline: baselineOf(20) }, []],
    ['shrunk by half, and by eleven records', { count: 10, baseline: baselineOf(21) }, ['shrunk']],
    ['grown tenfold', { count: 1_000, baseline: baselineOf(100) }, []],
    ['grown to 10,000 records', { count: 10_000, baseline: baselineOf(1) }, []],
    ['grown to more than 10,000 records', { count: 10_001, baseline: baselineOf(1) }, ['grown']],
    ['grown to three times as many', { count: 60_000, baseline: baselineOf(20_000) }, []],
    ['grown to more than three times as many', { count: 60_001, baseline: baselineOf(20_000) }, ['grown']],
    ['a clock five minutes ahead', { skewMs: 300_000 }, []],
    ['a clock more than five minutes ahead', { skewMs: 301_000 }, ['clock_skew']],
    ['a clock more than five minutes behind', { skewMs: -301_000 }, ['clock_skew']],
    ['no clock to compare with', { skewMs: undefined }, []],
  ])('%s', (_, given, codes) => {
    expect(codesOf(given)).toEqual(codes);
  });

  describe('a fact that a rule reads', () => {
    const flag = (yes: number, no: number): Values => ({ 'MdmData.CompromisedStatus': { TRUE: yes, FALSE: no } });
    it.each<[string, number, Values, Values, string[]]>([
      ['moves by 20 points', 100, flag(0, 100), flag(20, 80), []],
      ['moves by 21 points', 100, flag(0, 100), flag(21, 79), ['fact_moved']],
      ['moves by 50 points, and by ten records', 20, flag(0, 20), flag(10, 10), []],
      ['moves by 55 points, and by eleven records', 20, flag(0, 20), flag(11, 9), ['fact_moved']],
      ['has a value that was there no more', 100, { Level: { High: 100 } }, { Level: { Low: 100 } }, ['fact_moved']],
      ['was not read at the last trusted reading', 100, {}, flag(100, 0), []],
    ])('%s', (_, count, before, now, codes) => {
      expect(codesOf({ count, values: now, baseline: baselineOf(count, before) })).toEqual(codes);
    });

    it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
      'a device that calls itself `%s` moves nothing',
      (name) => {
        const now = JSON.parse(`{"Model":{"MacBook":99,"${name}":1}}`) as Values;
        expect(codesOf({ values: now, baseline: baselineOf(100, { Model: { MacBook: 100 } }) })).toEqual([]);
        expect(codesOf({ values: { Model: { MacBook: 100 } }, baseline: baselineOf(100, now) })).toEqual([]);
      },
    );
  });

  it('names all causes, each with its figures', () => {
    const baseline = baselineOf(1_000, { Level: { High: 1_000 } });
    const values = { Level: { High: 10, Low: 90 } };
    const texts = reasonsOf({ unreadable: 5, repeatedKeys: ['a', 'b'], skewMs: -400_000, values, baseline }).map(
      (reason) => reason.text,
    );
    expect(texts).toEqual([
      'devices: 2 keys occur more than once, such as `a`',
      'devices: 5 of 105 records have no readable key (more than 1 %), such as: record 3: DeviceID is missing',
      'devices: 100 records, 900 fewer than in the last trusted reading (more than 20 %)',
      'devices: Level is `High` in 10.0 % of records, and was in 100.0 % at the last trusted reading',
      "devices: the server's clock is 400 s behind ours",
    ]);
  });

  it('the thresholds are configuration', () => {
    const settings = { ...TRUST_DEFAULT, shrunkPercent: 50, unreadablePercent: 10, skewMs: 1_000_000 };
    expect(codesOf({ count: 60, unreadable: 5, skewMs: 900_000, baseline: baselineOf(100), settings })).toEqual([]);
  });
});

describe('a fleet that drifts by a little in each run', () => {
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
      const reading = {
        source: 'devices' as const,
        count,
        unreadable: { count: 0, examples: [] },
        finishedAt: this.now,
      };
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
});

describe('a source that stands still', () => {
  const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
  /** A Monday, at midnight. */
  const MONDAY = 1_799_625_600_000;

  /** A source, read every so often: what it shows at a time, and when it was said to stand still. */
  class Life {
    movement: Movement | undefined;
    now: number;
    readonly named: number[] = [];
    text: string | undefined;

    constructor(
      private readonly shows: (now: number) => { content?: string; newestMs: number | undefined },
      readonly begunAt = MONDAY,
      private readonly everyMs = 5 * MINUTE,
    ) {
      this.now = begunAt;
    }

    read(shows = this.shows, doneAt?: number): string | undefined {
      const moved = { source: 'devices', form: 'paged', before: this.movement, doneAt } as const;
      const { movement, still } = followMovement(moved, shows(this.now), this.now, TRUST_DEFAULT);
      // As it is stored.
      this.movement = JSON.parse(JSON.stringify(movement)) as Movement;
      if (still !== undefined) this.named.push(this.now);
      this.text = still;
      this.now += this.everyMs;
      return still;
    }

    live(ms: number, shows = this.shows): this {
      for (const until = this.now + ms; this.now < until; ) this.read(shows);
      return this;
    }

    /** Minutes of a standstill until it is named. */
    frozen(ms: number): number | undefined {
      const [from, frozen] = [this.now, this.shows(this.now - this.everyMs)];
      this.live(ms, () => frozen);
      const at = this.named.find((each) => each >= from);
      return at && (at - from) / MINUTE;
    }
  }

  /** Its list and its newest report change in every reading. */
  const busy = (now: number) => ({ content: `${now}`, newestMs: now - 1_000 });
  /** Only the list changes, and it has no times. */
  const timeless = (now: number) => ({ content: `${now}`, newestMs: undefined });
  /** Events are told by the newest one alone. */
  const log = (now: number) => ({ newestMs: now - 1_000 });
  /** At work from Monday to Friday, eight to six. */
  const office = (now: number) => {
    const [weekday, hour] = [Math.floor((now - MONDAY) / DAY) % 7, Math.floor((now % DAY) / HOUR)];
    const worked = weekday < 5 && hour >= 8 && hour < 18;
    const last = worked ? now : lastWorked(now);
    return { content: `${last}`, newestMs: last - 1_000 };
  };
  const lastWorked = (now: number): number => {
    for (let at = now - (now % (5 * MINUTE)); ; at -= 5 * MINUTE) {
      const [weekday, hour] = [(Math.floor((at - MONDAY) / DAY) + 700) % 7, Math.floor((at % DAY) / HOUR)];
      if (weekday < 5 && hour >= 8 && hour < 18) return at;
    }
  };

  describe('a source that stands still', () => {
    it.each<[string, (now: number) => { content?: string; newestMs: number | undefined }]>([
      ['with times', busy],
      ['without times', timeless],
      ['that is a log', log],
    ])(
      '%s, and moves in every reading, is named within an hour in its first week, and within 35 minutes after it',
      (_, shows) => {
        expect(new Life(shows).live(2 * DAY).frozen(DAY)).toBeLessThanOrEqual(60);
        expect(new Life(shows).live(9 * DAY).frozen(DAY)).toBeLessThanOrEqual(35);
      },
    );

    it('is named within two readings after the time that it usually takes at most', () => {
      const slow = (now: number) => busy(now - (now % (2 * HOUR)));
      const life = new Life(slow).live(9 * DAY);
      const minutes = life.frozen(2 * DAY) as number;
      expect(minutes).toBeGreaterThan(3 * 115 - 120);
      expect(minutes).toBeLessThanOrEqual(3 * 125 + 10);
    });

    it('names an old list at its first reading, by its newest report', () => {
      const life = new Life(busy).live(3 * DAY);
      expect(life.read((now) => busy(now - 6 * HOUR))).toMatch(/^stands still: its newest report is of .* UTC, 6 h/);
    });

    it('names a list that was read before at once, as long as it comes, although it is young', () => {
      const life = new Life(busy).live(2 * DAY);
      const old = busy(life.now - 15 * MINUTE);
      expect(life.read(() => old)).toMatch(/^stands still: the list is that of .* again, record for record$/);
      expect(life.read(() => old)).toBeDefined();
      expect(life.read()).toBeUndefined();
      // A device that leaves may take the newest report with it, and what has no times may come and go.
      expect(life.read((now) => ({ content: 'without it', newestMs: now - HOUR }))).toBeUndefined();
      const turns = new Life((now) => ({ content: `${(now / (5 * MINUTE)) % 2}`, newestMs: undefined }));
      expect(turns.live(9 * DAY).named).toEqual([]);
    });

    it('that does not show what we did since is named at once; one that nothing is known of is not', () => {
      const life = new Life(busy).live(2 * DAY);
      const frozen = busy(life.now - 5 * MINUTE);
      const doneAt = life.now - 4 * MINUTE;
      expect(life.read(() => frozen, doneAt)).toContain('and does not show what was done at 2027-01-');
      expect(life.read(undefined, doneAt)).toBeUndefined();
      const quiet = new Life(() => ({ content: 'same', newestMs: MONDAY })).live(9 * DAY);
      expect(quiet.read(undefined, quiet.now - MINUTE)).toBeUndefined();
    });

    it('names a list whose records change while its newest report stays', () => {
      const life = new Life(busy).live(9 * DAY);
      const stuck = life.now;
      life.live(HOUR, (now) => ({ content: `${now}`, newestMs: stuck }));
      expect(life.text).toContain('its newest report is of');
    });

    it('shows since when, what is usual, and how long it was watched', () => {
      const life = new Life(timeless).live(9 * DAY);
      life.frozen(HOUR);
      expect(life.text).toBe(
        'stands still: the list is the same, record for record, since 2027-01-19 23:55:00 UTC, for 1 h; in the last 9 days it was never the same for longer than 5 min',
      );
    });

    it('is trusted again as soon as it moves, and a time that was named is not learned', () => {
      const life = new Life(busy).live(9 * DAY);
      life.frozen(DAY);
      life.named.length = 0;
      life.live(DAY);
      expect(life.named).toEqual([]);
      expect(life.frozen(HOUR)).toBeLessThanOrEqual(35);
    });

    it('that a person accepts is trusted until it stands several times as long', () => {
      const life = new Life(busy).live(9 * DAY);
      const frozen = busy(life.now - 5 * MINUTE);
      life.live(2 * HOUR, () => frozen);
      life.movement = acceptStanding(life.movement as Movement);
      life.named.length = 0;
      const from = life.now;
      life.live(DAY, () => frozen);
      expect(((life.named[0] as number) - from) / HOUR).toBeGreaterThan(3.5);
      expect(((life.named[0] as number) - from) / HOUR).toBeLessThan(4.5);
    });

    it('is judged by the time that passed, also when the clock was a day ahead for one reading', () => {
      const ahead = (life: Life) => {
        life.now += 30 * HOUR;
        life.read();
        const last = timeless(life.now - 5 * MINUTE);
        life.now -= 30 * HOUR;
        life.live(2 * HOUR, () => last);
        return life;
      };
      // Watched for two hours: nobody knows what is usual.
      expect(ahead(new Life(timeless).live(2 * HOUR)).named).toEqual([]);
      expect(ahead(new Life(timeless).live(9 * DAY)).text).toMatch(/, for 1 h 5\d min; /);
    });

    it('is not named for the time in which nobody read it, while its report is young', () => {
      const life = new Life(timeless).live(9 * DAY);
      const frozen = timeless(life.now - 5 * MINUTE);
      life.now += 10 * HOUR;
      life.live(20 * MINUTE, () => frozen);
      expect(life.named).toEqual([]);
      life.live(20 * MINUTE, () => frozen);
      expect(life.named).not.toEqual([]);
    });

    it('survives a clock that is set back and forth', () => {
      const life = new Life(busy).live(2 * DAY);
      life.now -= 5 * HOUR;
      life.live(HOUR);
      life.now += 9 * HOUR;
      expect(life.live(DAY).named).toEqual([]);
    });
  });

  describe('no false alarm in 30 quiet days of a source that', () => {
    const quiet: [string, (now: number) => { content?: string; newestMs: number | undefined }][] = [
      ['never changes', () => ({ content: 'same', newestMs: MONDAY - 90 * DAY })],
      ['has no times and never changes', () => ({ content: 'same', newestMs: undefined })],
      ['has no record', () => ({ content: '0', newestMs: undefined })],
      ['changes once a day', (now) => busy(now - (now % DAY))],
      ['changes every hour', (now) => busy(now - (now % HOUR))],
      ['rests at night and at weekends', office],
      ['changes in every reading', busy],
    ];
    it.each(quiet)('%s', (_, shows) => {
      for (const hour of [0, 33, 113])
        expect(new Life(shows, MONDAY + hour * HOUR).live(30 * DAY).named, `begun at hour ${hour}`).toEqual([]);
    });

    it('has reports at random times, of any frequency, read every 5 minutes to every 6 hours', () => {
      const named: string[] = [];
      for (let seed = 1; seed <= 12; seed += 1) {
        const rolls = new Dice(seed, 'reports');
        const meanMs = MINUTE * 10 ** (4 * rolls.share());
        const everyMs = [5 * MINUTE, 30 * MINUTE, 6 * HOUR][seed % 3] as number;
        let [last, next] = [MONDAY, MONDAY];
        const shows = (now: number) => {
          while (next <= now) [last, next] = [next, next - meanMs * Math.log(1 - rolls.share())];
          return { content: `${last}`, newestMs: last };
        };
        const life = new Life(shows, MONDAY, everyMs).live(30 * DAY);
        if (life.named.length > 0) named.push(`seed ${seed}: every ${meanMs / MINUTE} min, ${life.named.length} times`);
      }
      expect(named).toEqual([]);
    });
  });

  it('a source that stands still does so after an update that sums its list in another form', () => {
    const life = new Life((now) => ({ content: `${now} 2`, newestMs: undefined })).live(3 * DAY);
    expect(life.frozen(DAY)).toBeDefined();
    const named = life.named.length;
    life.live(HOUR, () => ({ content: '1 -2 3 -4', newestMs: undefined }));
    expect(life.named.length - named).toBe(12);
    life.read(() => ({ content: '1 -2 3 -5', newestMs: undefined }));
    expect(life.text).toBeUndefined();
  });
});
