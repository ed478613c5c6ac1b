// domain: windows of time by the wall clock of a zone, in which something is held, or outside of which a rule waits. In: windows and an instant. Out: the window that is in force
// and its end; the next one. An hour that comes twice counts twice, and one that is skipped is in no window. The time is handed over, never read.
import { DAY_MS, isTimeZone, offsetChange, timeText, WEEKDAYS, wallMsAt, wallText } from '../base/time.ts';

/** Times are of the zone's wall clock. A beginning belongs to the window, an end does not. */
export interface ChangeWindow {
  /** As it was configured, with its zone. */
  text: string;
  timeZone: string;
  /** daily, weekly: ms since midnight or since Sunday 00:00; it may go past the end of the day or week. dated: `Date.UTC` of that date and time. */
  every: 'day' | 'week' | 'once';
  fromMs: number;
  toMs: number;
}

/** A window now. Windows that follow each other without a gap end together. */
export interface WindowNow {
  text: string;
  timeZone: string;
  endsAtMs: number;
}

/** 1970-01-04 was a Sunday. */
const SUNDAY_MS = 3 * DAY_MS;
/** A window that lasts for longer is refused when it is configured. */
const ENDS_MAX = 1_000;

export function windowAt(windows: readonly ChangeWindow[], atMs: number): WindowNow | undefined {
  const [first] = windows.filter((one) => isIn(one, atMs));
  if (!first) return undefined;
  let endsAtMs = atMs;
  for (let ends = 0; ends < ENDS_MAX; ends += 1) {
    const at = endsAtMs;
    const open = windows.filter((one) => isIn(one, at));
    if (open.length === 0) break;
    endsAtMs = Math.max(...open.map((one) => nextTurn(one, at) as number));
  }
  return { text: first.text, timeZone: first.timeZone, endsAtMs };
}

/** The next window that begins after `atMs`; undefined: none does. */
export function nextWindow(
  windows: readonly ChangeWindow[],
  atMs: number,
): { text: string; timeZone: string; startsAtMs: number } | undefined {
  const coming = windows.flatMap(({ text, timeZone, ...one }) => {
    const startsAtMs = nextStart({ text, timeZone, ...one }, atMs);
    return startsAtMs === undefined ? [] : [{ text, timeZone, startsAtMs }];
  });
  return coming.sort((one, other) => one.startsAtMs - other.startsAtMs)[0];
}

/** From when on, at this time or later, something may be done: in no freeze, and where there are any, in a window that allows it. */
export function freeFrom(
  { freeze, allowed }: { freeze: readonly ChangeWindow[]; allowed: readonly ChangeWindow[] | undefined },
  atMs: number,
): number {
  let at = atMs;
  for (let step = 0; step < STEPS_MAX; step += 1) {
    const isAllowed = allowed?.some((one) => isIn(one, at)) ?? true;
    const next = windowAt(freeze, at)?.endsAtMs ?? (isAllowed ? at : nextWindow(allowed ?? [], at)?.startsAtMs);
    if (next === undefined || next === at) return at;
    at = next;
  }
  return at;
}

function nextStart(window: ChangeWindow, atMs: number): number | undefined {
  if (!isIn(window, atMs)) return nextTurn(window, atMs);
  const ends = nextTurn(window, atMs);
  return ends === undefined ? undefined : nextTurn(window, ends);
}

export function isIn(window: ChangeWindow, atMs: number): boolean {
  return isInWall(window, wallMsAt(window.timeZone, atMs));
}

function isInWall({ every, fromMs, toMs }: ChangeWindow, wallMs: number): boolean {
  if (every === 'once') return fromMs <= wallMs && wallMs < toMs;
  const since = sinceStart(every, fromMs, wallMs);
  return since < toMs - fromMs;
}

/** How long ago, by the wall clock, it began last. */
function sinceStart(every: 'day' | 'week', fromMs: number, wallMs: number): number {
  const period = periodOf(every);
  const since = wallMs - (every === 'week' ? SUNDAY_MS : 0) - fromMs;
  return ((since % period) + period) % period;
}

function periodOf(every: 'day' | 'week'): number {
  return every === 'day' ? DAY_MS : 7 * DAY_MS;
}

/** A clock that is set forward may skip a window, and one that is set back may bring it again: a year of days has a turn all the same. */
const STEPS_MAX = 1_000;

/** The first instant after `atMs` at which the window begins, or ends if it is in force; undefined: never. */
function nextTurn(window: ChangeWindow, atMs: number): number | undefined {
  const was = isIn(window, atMs);
  let at = atMs;
  for (let step = 0; step < STEPS_MAX; step += 1) {
    const edge = toEdge(window, wallMsAt(window.timeZone, at));
    const wholeMs = Math.floor(at / 1_000) * 1_000;
    const changed = offsetChange(window.timeZone, at, edge === undefined ? at + LAST_LOOK_MS : wholeMs + edge);
    if (changed === undefined && edge === undefined) return undefined;
    at = changed ?? wholeMs + (edge as number);
    if (isIn(window, at) !== was) return at;
  }
  return undefined;
}

/** After the end of a dated window, only a clock that is set back brings it again: as far as that goes. */
const LAST_LOOK_MS = 2 * DAY_MS;

/** The time until its next beginning or end by the wall clock; undefined: a dated one that is over. */
function toEdge({ every, fromMs, toMs }: ChangeWindow, wallMs: number): number | undefined {
  if (every === 'once') {
    const edge = [fromMs, toMs].find((one) => one > wallMs);
    return edge === undefined ? undefined : edge - wallMs;
  }
  const since = sinceStart(every, fromMs, wallMs);
  const length = toMs - fromMs;
  return since < length ? length - since : periodOf(every) - since;
}

/** Two weeks, in winter and in summer. */
const SAMPLES = [Date.UTC(2026, 0, 5), Date.UTC(2026, 6, 6)];

/** Whether those that come again leave no time between them. */
function coverEverything(windows: readonly ChangeWindow[]): boolean {
  const again = windows.filter(({ every }) => every !== 'once');
  return SAMPLES.some((atMs) => (windowAt(again, atMs)?.endsAtMs ?? atMs) - atMs > 14 * DAY_MS);
}

/** Until when, for people: by the clock of its zone, and in UTC. */
export function untilText({ timeZone, endsAtMs }: Pick<WindowNow, 'timeZone' | 'endsAtMs'>): string {
  return `${wallText(timeZone, endsAtMs)} (${timeText(endsAtMs)})`;
}

/** For people, wherever a freeze holds something. */
export function freezeText(freeze: WindowNow): string {
  return `the change window \`${freeze.text}\` is in force until ${untilText(freeze)}`;
}

/** Why a rule that may act in these windows alone does not act now, and when it may; undefined: it may. */
export function notAllowedText(windows: readonly ChangeWindow[], atMs: number): string | undefined {
  if (windows.some((one) => isIn(one, atMs))) return undefined;
  const next = nextWindow(windows, atMs);
  const when = next === undefined ? 'no such time is to come' : `next at ${timeText(next.startsAtMs)}`;
  return `its rule acts only in ${windows.map(({ text }) => `\`${text}\``).join(', ')}; ${when}`;
}

/** When it may, of such a text; undefined of any other. */
export function allowedFrom(text: string): number | undefined {
  const [, time] = /^its rule acts only in .*; next at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC)$/.exec(text) ?? [];
  return time === undefined ? undefined : Date.parse(time);
}

// Windows as people write them.

interface ParsedWindows {
  windows: ChangeWindow[];
  /** Each fits behind "NAME: ". */
  faults: string[];
}

const EXPECTED =
  'expected `Fri 18:00-Mon 06:00`, `22:00-06:00` or `2026-12-20 00:00-2027-01-02 06:00`, and a time zone such as Europe/Berlin behind it';
/** A dated window that lasts for longer is no exception any more. */
const DATED_MAX_MS = 366 * DAY_MS;

/** Windows in which something is held. */
export function parseWindows(text: string | undefined, timeZone: string): ParsedWindows {
  return parseAll((text ?? '').split(';'), timeZone, {
    whole: 'nothing would ever be done; leave some time free',
    tooLong: 'use TRUSTWARD_MODE=dry-run for that',
  });
}

/** Windows in which alone a rule acts. Each names its zone: a rule means the same wherever it is loaded. */
export function parseAllowed(texts: readonly string[]): ParsedWindows {
  const tooLong = 'write windows that come again, such as `Mon 09:00-Fri 17:00`';
  return parseAll(texts, undefined, { whole: 'that is no restriction; leave it out', tooLong });
}

/** What follows from a window that is always in force, and from a dated one that lasts too long. */
interface Advice {
  whole: string;
  tooLong: string;
}

function parseAll(texts: readonly string[], timeZone: string | undefined, advice: Advice): ParsedWindows {
  const parts = texts.map((part) => part.trim().replaceAll(/\s+/g, ' '));
  const parsed = parts.filter((part) => part !== '').map((part) => parseWindow(part, timeZone, advice));
  const windows = parsed.flatMap((one) => (typeof one === 'string' ? [] : [one]));
  const faults = parsed.filter((one) => typeof one === 'string');
  if (faults.length === 0 && coverEverything(windows))
    faults.push(`the windows leave no time between them: ${advice.whole}`);
  return { windows, faults };
}

const TIME = String.raw`(\d{1,2}):(\d{2})`;
const ZONE = String.raw`(?: (\S+))?$`;
const DAILY = new RegExp(`^${TIME} ?[-–] ?${TIME}${ZONE}`);
const WEEKLY = new RegExp(`^([A-Za-z]+) ${TIME} ?[-–] ?([A-Za-z]+) ${TIME}${ZONE}`);
const DATE = String.raw`(\d{4})-(\d{2})-(\d{2})`;
const DATED = new RegExp(`^${DATE} ${TIME} ?[-–] ?${DATE} ${TIME}${ZONE}`);

/** The window, or its fault. */
function parseWindow(text: string, fallback: string | undefined, advice: Advice): ChangeWindow | string {
  const fault = (why: string) => `\`${text}\`: ${why}`;
  const [, ...dated] = DATED.exec(text) ?? [];
  const [, ...weekly] = WEEKLY.exec(text) ?? [];
  const [, ...daily] = DAILY.exec(text) ?? [];
  const found = [dated, weekly, daily].find(({ length }) => length > 0);
  if (!found) return fault(EXPECTED);
  const zone = found.at(-1);
  const timeZone = zone ?? fallback;
  if (timeZone === undefined) return fault('its time zone is missing: expected one such as Europe/Berlin behind it');
  if (!isTimeZone(timeZone)) return fault(`there is no time zone \`${timeZone}\`: expected one such as Europe/Berlin`);
  const named = { text: zone === undefined ? `${text} ${timeZone}` : text, timeZone };
  const timesOf = found === dated ? datedTimes : found === weekly ? weeklyTimes : dailyTimes;
  const times = timesOf(found, advice);
  if (typeof times === 'string') return fault(times);
  return { ...named, ...times };
}

type Times = Pick<ChangeWindow, 'every' | 'fromMs' | 'toMs'> | string;

function dailyTimes([hour, minute, toHour, toMinute]: (string | undefined)[], advice: Advice): Times {
  return repeated('day', timeOf(hour, minute), timeOf(toHour, toMinute), advice);
}

function weeklyTimes([day, hour, minute, toDay, toHour, toMinute]: (string | undefined)[], advice: Advice): Times {
  const days = [day, toDay].map((name) => WEEKDAYS.findIndex((one) => one.toLowerCase() === name?.toLowerCase()));
  const [first, last] = days as [number, number];
  if (first < 0 || last < 0) return `\`${first < 0 ? day : toDay}\` is no day: expected ${WEEKDAYS.join(', ')}`;
  const on = (at: number, ms: number | undefined) => (ms === undefined ? undefined : at * DAY_MS + ms);
  return repeated('week', on(first, timeOf(hour, minute)), on(last, timeOf(toHour, toMinute)), advice);
}

function repeated(
  every: 'day' | 'week',
  fromMs: number | undefined,
  endMs: number | undefined,
  { whole }: Advice,
): Times {
  if (fromMs === undefined || endMs === undefined) return 'expected times from 00:00 to 24:00';
  const period = periodOf(every);
  const length = (((endMs - fromMs) % period) + period) % period;
  if (length === 0) return `it covers the whole ${every}: ${whole}`;
  return { every, fromMs, toMs: fromMs + length };
}

function datedTimes(texts: (string | undefined)[], { tooLong }: Advice): Times {
  const [fromMs, toMs] = [
    dateOf(texts.slice(0, 3), timeOf(texts[3], texts[4])),
    dateOf(texts.slice(5, 8), timeOf(texts[8], texts[9])),
  ];
  if (fromMs === undefined || toMs === undefined)
    return 'expected dates of the calendar, and times from 00:00 to 24:00';
  if (toMs <= fromMs) return 'its end is not after its beginning';
  if (toMs - fromMs > DATED_MAX_MS) return `it lasts longer than a year: ${tooLong}`;
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
