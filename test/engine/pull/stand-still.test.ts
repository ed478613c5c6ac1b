// pull: a source that stands still: for longer than it usually does, learned from its own readings.
import { describe, expect, it } from 'vitest';
import type { Movement } from '../../../src/domain/snapshot.ts';
import { acceptStanding, followMovement } from '../../../src/engine/pull/stand-still.ts';
import { TRUST_DEFAULT } from '../../../src/engine/pull/trust-gate.ts';
import { Dice } from '../../harness/dice.ts';

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
    for (const hour of [0, 9, 33, 100, 113, 130])
      expect(new Life(shows, MONDAY + hour * HOUR).live(30 * DAY).named, `begun at hour ${hour}`).toEqual([]);
  });

  it('has reports at random times, of any frequency, read every 5 minutes to every 6 hours', () => {
    const named: string[] = [];
    for (let seed = 1; seed <= 30; seed += 1) {
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
