// domain: windows of time by the wall clock of a zone, in which something is held. In: windows and an instant. Out: the window that is in force
// and its end; the next one. An hour that comes twice counts twice, and one that is skipped is in no window. The time is handed over, never read.
import { timeText } from './time-text.ts';
import { offsetChange, wallMsAt, wallText } from './wall-time.ts';

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

const DAY_MS = 86_400_000;
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

export function periodOf(every: 'day' | 'week'): number {
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
export function coverEverything(windows: readonly ChangeWindow[]): boolean {
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
