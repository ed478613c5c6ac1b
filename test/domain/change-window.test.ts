// test: windows by the wall clock of a zone: what is in one, when it ends, and when the next begins; across both changes of the clock.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wallMsAt, wallText } from '../../src/base/time.ts';
import { freezeText, isIn, nextWindow, parseWindows, windowAt } from '../../src/domain/change-window.ts';

const ZONES = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata', 'UTC'];
const MINUTE = 60_000;
const HOUR = 3_600_000;

function windowsOf(text: string, zone = 'UTC') {
  const { windows, faults } = parseWindows(text, zone);
  expect(faults).toEqual([]);
  return windows;
}
const at = (text: string) => Date.parse(text);
const endOf = (text: string, atText: string) => {
  const now = windowAt(windowsOf(text), at(atText));
  return now && new Date(now.endsAtMs).toISOString();
};

describe('a window', () => {
  it.each([
    [
      'weekly, over the weekend',
      'Fri 18:00-Mon 06:00 Europe/Berlin',
      '2026-11-21T12:00:00Z',
      '2026-11-23T05:00:00.000Z',
    ],
    [
      'weekly, at its first moment',
      'Fri 18:00-Mon 06:00 Europe/Berlin',
      '2026-11-20T17:00:00Z',
      '2026-11-23T05:00:00.000Z',
    ],
    ['weekly, a moment before', 'Fri 18:00-Mon 06:00 Europe/Berlin', '2026-11-20T16:59:59.999Z', undefined],
    ['weekly, at its end', 'Fri 18:00-Mon 06:00 Europe/Berlin', '2026-11-23T05:00:00Z', undefined],
    ['daily, over midnight', '22:00-06:00 UTC', '2026-11-21T03:00:00Z', '2026-11-21T06:00:00.000Z'],
    ['daily, until midnight', '22:00-24:00 Asia/Kolkata', '2026-11-21T17:00:00Z', '2026-11-21T18:30:00.000Z'],
    ['dated', '2026-12-20 00:00-2027-01-02 06:00 Europe/Berlin', '2026-12-31T00:00:00Z', '2027-01-02T05:00:00.000Z'],
    ['dated, that is over', '2026-12-20 00:00-2027-01-02 06:00 Europe/Berlin', '2027-01-02T05:00:00Z', undefined],
    ['over the missing hour', 'Sat 22:00-Sun 06:00 Europe/Berlin', '2026-03-28T23:00:00Z', '2026-03-29T04:00:00.000Z'],
    [
      'over the hour that comes twice',
      'Sat 22:00-Sun 06:00 Europe/Berlin',
      '2026-10-24T23:00:00Z',
      '2026-10-25T05:00:00.000Z',
    ],
    [
      'that ends in the missing hour, ends with it',
      '01:00-02:30 Europe/Berlin',
      '2026-03-29T00:30:00Z',
      '2026-03-29T01:00:00.000Z',
    ],
    [
      'that begins in the missing hour, begins after it',
      '02:30-04:00 Europe/Berlin',
      '2026-03-29T01:00:00Z',
      '2026-03-29T02:00:00.000Z',
    ],
    [
      'within the hour that comes twice, the first time',
      '02:00-02:30 Europe/Berlin',
      '2026-10-25T00:10:00Z',
      '2026-10-25T00:30:00.000Z',
    ],
    ['within the hour that comes twice, between', '02:00-02:30 Europe/Berlin', '2026-10-25T00:40:00Z', undefined],
    [
      'within the hour that comes twice, the second time',
      '02:00-02:30 Europe/Berlin',
      '2026-10-25T01:10:00Z',
      '2026-10-25T01:30:00.000Z',
    ],
    [
      'with a clock that moves by half an hour',
      '01:00-03:00 Australia/Lord_Howe',
      '2026-04-04T14:30:00Z',
      '2026-04-04T16:30:00.000Z',
    ],
    [
      'that another one follows ends with that',
      '22:00-02:00 UTC; 01:00-05:00 UTC',
      '2026-11-20T23:00:00Z',
      '2026-11-21T05:00:00.000Z',
    ],
  ])('%s', (_, text, now, end) => {
    expect(endOf(text, now)).toBe(end);
  });

  it('says until when, by the clock of its zone and in UTC', () => {
    const [now] = [windowAt(windowsOf('Fri 18:00-Mon 06:00 Europe/Berlin'), at('2026-11-21T12:00:00Z'))];
    expect(now && freezeText(now)).toBe(
      'the change window `Fri 18:00-Mon 06:00 Europe/Berlin` is in force until Mon 2026-11-23 06:00 Europe/Berlin (2026-11-23 05:00:00 UTC)',
    );
  });

  it('is announced before it begins, and a skipped one is not', () => {
    const next = (text: string, from: string) => {
      const found = nextWindow(windowsOf(text), at(from));
      return found && new Date(found.startsAtMs).toISOString();
    };
    expect(next('02:15-02:45 Europe/Berlin', '2026-03-29T00:00:00Z')).toBe('2026-03-30T00:15:00.000Z');
    expect(next('22:00-06:00 UTC', '2026-11-21T23:00:00Z')).toBe('2026-11-22T22:00:00.000Z');
    expect(next('2026-12-20 00:00-2026-12-21 00:00 UTC', '2027-01-01T00:00:00Z')).toBeUndefined();
  });
});

const timeOfDay = fc.record({ hour: fc.integer({ min: 0, max: 23 }), minute: fc.integer({ min: 0, max: 59 }) });
const two = (value: number) => String(value).padStart(2, '0');
const clockOf = ({ hour, minute }: { hour: number; minute: number }) => `${two(hour)}:${two(minute)}`;
const minutesOf = ({ hour, minute }: { hour: number; minute: number }) => hour * 60 + minute;
/** Around each change of the clock in 2026, and anywhere in it. */
const instant = fc.oneof(
  fc.integer({ min: at('2026-01-01T00:00:00Z'), max: at('2026-12-31T00:00:00Z') }),
  ...[
    '2026-03-08T07:00:00Z',
    '2026-03-29T01:00:00Z',
    '2026-04-04T15:00:00Z',
    '2026-10-03T15:30:00Z',
    '2026-10-25T01:00:00Z',
    '2026-11-01T06:00:00Z',
  ].map((text) => fc.integer({ min: at(text) - 26 * HOUR, max: at(text) + 26 * HOUR })),
);

describe('for any window, zone and instant', () => {
  it('what is in a daily window is what the clock on the wall shows', () => {
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), timeOfDay, timeOfDay, instant, (zone, from, to, now) => {
        const [start, end] = [minutesOf(from), minutesOf(to)];
        fc.pre(start !== end);
        const [window] = windowsOf(`${clockOf(from)}-${clockOf(to)} ${zone}`);
        const shown = new Intl.DateTimeFormat('en-GB', {
          timeZone: zone,
          hour: '2-digit',
          minute: '2-digit',
          hourCycle: 'h23',
        });
        const [hour, minute] = shown.format(now).split(':').map(Number) as [number, number];
        const wall = hour * 60 + minute;
        const expected = start < end ? start <= wall && wall < end : wall >= start || wall < end;
        expect(isIn(window as never, now)).toBe(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  it('its end is the first instant that is not in it, and the next begins at the first that is', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ZONES),
        timeOfDay,
        timeOfDay,
        fc.option(fc.tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 6 }))),
        instant,
        (zone, from, to, days, now) => {
          const names = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
          const day = (index: number) => (days === null ? '' : `${names[days[index] as number]} `);
          fc.pre(minutesOf(from) !== minutesOf(to));
          const windows = windowsOf(`${day(0)}${clockOf(from)}-${day(1)}${clockOf(to)} ${zone}`);
          const is = (ms: number) => windows.some((one) => isIn(one, ms));
          const now1 = windowAt(windows, now);
          expect(now1 !== undefined).toBe(is(now));
          const turn = now1?.endsAtMs ?? (nextWindow(windows, now)?.startsAtMs as number);
          expect(turn).toBeGreaterThan(now);
          expect(is(turn)).toBe(!is(now));
          expect(is(turn - 1)).toBe(is(now));
          // Every quarter of an hour between shows the same, and around each minute of the last hours.
          for (let ms = now; ms < turn; ms += 15 * MINUTE) expect(is(ms)).toBe(is(now));
          for (let ms = Math.max(now, turn - 2 * HOUR); ms < turn; ms += MINUTE) expect(is(ms)).toBe(is(now));
        },
      ),
      { numRuns: 300 },
    );
  });

  it('a wall clock is what a person in the zone reads', () => {
    expect(new Date(wallMsAt('Australia/Lord_Howe', at('2026-01-01T00:00:00Z'))).toISOString()).toBe(
      '2026-01-01T11:00:00.000Z',
    );
    expect(wallText('America/New_York', at('2026-07-01T00:30:00Z'))).toBe('Tue 2026-06-30 20:30 America/New_York');
  });
});

describe('what is wrong with a window is one line', () => {
  it.each([
    ['Fri 18:00', /expected `Fri 18:00-Mon 06:00`/],
    ['Fry 18:00-Mon 06:00', /`Fry` is no day: expected Sun, Mon/],
    ['22:00-25:00', /times from 00:00 to 24:00/],
    ['22:61-23:00', /times from 00:00 to 24:00/],
    ['22:00-06:00 Mars/Olympus', /no time zone `Mars\/Olympus`/],
    ['08:00-08:00', /covers the whole day/],
    ['00:00-24:00', /covers the whole day/],
    ['Mon 00:00-Mon 00:00', /covers the whole week/],
    ['00:00-12:00; 12:00-24:00', /leave no time between them/],
    ['Mon 00:00-Thu 12:00 UTC; Thu 10:00-Mon 01:00 Europe/Berlin', /leave no time between them/],
    ['2026-02-30 00:00-2026-03-02 00:00', /dates of the calendar/],
    ['2026-03-02 00:00-2026-03-01 00:00', /its end is not after/],
    ['2026-03-02 00:00-2036-03-01 00:00', /longer than a year/],
  ])('%s', (text, expected) => {
    const { faults } = parseWindows(text, 'UTC');
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(expected);
    expect(faults[0]).not.toContain('\n');
  });

  it('several faults are several lines, and a window without a zone has the one of the configuration', () => {
    expect(parseWindows('x; 1:00-2:00; y', 'UTC').faults).toHaveLength(2);
    expect(parseWindows('1:00-2:00; ', 'Asia/Kolkata').windows).toEqual([
      { text: '1:00-2:00 Asia/Kolkata', timeZone: 'Asia/Kolkata', every: 'day', fromMs: HOUR, toMs: 2 * HOUR },
    ]);
    expect(parseWindows(undefined, 'UTC')).toEqual({ windows: [], faults: [] });
  });
});
