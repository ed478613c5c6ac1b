// domain: windows as people write them. In: `Fri 18:00-Mon 06:00 Europe/Berlin; 22:00-06:00 UTC`, and the zone of those that name none. Out: the
// windows, or for each that is wrong one line with what was expected. Pure.
import { type ChangeWindow, coverEverything, periodOf } from './change-window.ts';
import { isTimeZone, WEEKDAYS } from './wall-time.ts';

export interface ParsedWindows {
  windows: ChangeWindow[];
  /** Each fits behind "NAME: ". */
  faults: string[];
}

const EXPECTED =
  'expected `Fri 18:00-Mon 06:00`, `22:00-06:00` or `2026-12-20 00:00-2027-01-02 06:00`, and a time zone such as Europe/Berlin behind it';

const DAY_MS = 86_400_000;
/** A dated window that lasts for longer is no exception any more. */
const DATED_MAX_MS = 366 * DAY_MS;

export function parseWindows(text: string | undefined, timeZone: string): ParsedWindows {
  const parts = (text ?? '').split(';').map((part) => part.trim().replaceAll(/\s+/g, ' '));
  const parsed = parts.filter((part) => part !== '').map((part) => parseWindow(part, timeZone));
  const windows = parsed.flatMap((one) => (typeof one === 'string' ? [] : [one]));
  const faults = parsed.filter((one) => typeof one === 'string');
  if (faults.length === 0 && coverEverything(windows))
    faults.push('the windows leave no time between them: nothing would ever be done; leave some time free');
  return { windows, faults };
}

const TIME = String.raw`(\d{1,2}):(\d{2})`;
const ZONE = String.raw`(?: (\S+))?$`;
const DAILY = new RegExp(`^${TIME} ?[-–] ?${TIME}${ZONE}`);
const WEEKLY = new RegExp(`^([A-Za-z]+) ${TIME} ?[-–] ?([A-Za-z]+) ${TIME}${ZONE}`);
const DATE = String.raw`(\d{4})-(\d{2})-(\d{2})`;
const DATED = new RegExp(`^${DATE} ${TIME} ?[-–] ?${DATE} ${TIME}${ZONE}`);

/** The window, or its fault. */
function parseWindow(text: string, fallback: string): ChangeWindow | string {
  const fault = (why: string) => `\`${text}\`: ${why}`;
  const [, ...dated] = DATED.exec(text) ?? [];
  const [, ...weekly] = WEEKLY.exec(text) ?? [];
  const [, ...daily] = DAILY.exec(text) ?? [];
  const found = [dated, weekly, daily].find(({ length }) => length > 0);
  if (!found) return fault(EXPECTED);
  const zone = found.at(-1);
  const timeZone = zone ?? fallback;
  if (!isTimeZone(timeZone)) return fault(`there is no time zone \`${timeZone}\`: expected one such as Europe/Berlin`);
  const named = { text: zone === undefined ? `${text} ${timeZone}` : text, timeZone };
  const times = found === dated ? datedTimes(dated) : found === weekly ? weeklyTimes(weekly) : dailyTimes(daily);
  if (typeof times === 'string') return fault(times);
  return { ...named, ...times };
}

type Times = Pick<ChangeWindow, 'every' | 'fromMs' | 'toMs'> | string;

function dailyTimes([hour, minute, toHour, toMinute]: (string | undefined)[]): Times {
  return repeated('day', timeOf(hour, minute), timeOf(toHour, toMinute));
}

function weeklyTimes([day, hour, minute, toDay, toHour, toMinute]: (string | undefined)[]): Times {
  const days = [day, toDay].map((name) => WEEKDAYS.findIndex((one) => one.toLowerCase() === name?.toLowerCase()));
  const [first, last] = days as [number, number];
  if (first < 0 || last < 0) return `\`${first < 0 ? day : toDay}\` is no day: expected ${WEEKDAYS.join(', ')}`;
  const on = (at: number, ms: number | undefined) => (ms === undefined ? undefined : at * DAY_MS + ms);
  return repeated('week', on(first, timeOf(hour, minute)), on(last, timeOf(toHour, toMinute)));
}

function repeated(every: 'day' | 'week', fromMs: number | undefined, endMs: number | undefined): Times {
  if (fromMs === undefined || endMs === undefined) return 'expected times from 00:00 to 24:00';
  const period = periodOf(every);
  const length = (((endMs - fromMs) % period) + period) % period;
  if (length === 0) return `it covers the whole ${every}: nothing would ever be done; leave some time free`;
  return { every, fromMs, toMs: fromMs + length };
}

function datedTimes(texts: (string | undefined)[]): Times {
  const [fromMs, toMs] = [
    dateOf(texts.slice(0, 3), timeOf(texts[3], texts[4])),
    dateOf(texts.slice(5, 8), timeOf(texts[8], texts[9])),
  ];
  if (fromMs === undefined || toMs === undefined)
    return 'expected dates of the calendar, and times from 00:00 to 24:00';
  if (toMs <= fromMs) return 'its end is not after its beginning';
  if (toMs - fromMs > DATED_MAX_MS) return 'it lasts longer than a year: use TRUSTWARD_MODE=dry-run for that';
  return { every: 'once', fromMs, toMs };
}

function dateOf(date: (string | undefined)[], timeMs: number | undefined): number | undefined {
  const [year, month, day] = date.map(Number) as [number, number, number];
  const ms = Date.UTC(year, month - 1, day);
  const isDate = new Date(ms).toISOString().startsWith(date.join('-'));
  return isDate && timeMs !== undefined ? ms + timeMs : undefined;
}

/** Ms since midnight; 24:00 is the end of the day. */
function timeOf(hour: string | undefined, minute: string | undefined): number | undefined {
  const ms = (Number(hour) * 60 + Number(minute)) * 60_000;
  return Number(minute) < 60 && ms <= DAY_MS ? ms : undefined;
}
