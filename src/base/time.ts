// base: time. Spans and dates as people write them, UTC and the wall of a time zone, timestamps of any unit, and the least time that passed since something.
// In: text, milliseconds. Out: the other. It only converts: the clock alone knows the time.

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** `10:15:00 UTC`; with its date when that is not the day of `nowMs`. */
export function timeOfDay(epochMs: number, nowMs: number): string {
  const [day, time] = isoTime(epochMs).split('T') as [string, string];
  return `${isoTime(nowMs).startsWith(day) ? '' : `${day} `}${time.slice(0, 8)} UTC`;
}

/** For people, in a sentence: `2026-11-21 09:37:02 UTC`. */
export function timeText(epochMs: number): string {
  const [day, time] = isoTime(epochMs).split('T') as [string, string];
  return `${day} ${time.slice(0, 8)} UTC`;
}

const UNIT_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const PATTERN = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|w)$/;

/** Milliseconds of a duration such as `0s`, `10m`, `1.5h`, `90d`; undefined when it is not one. */
export function parseDuration(text: string): number | undefined {
  const parts = PATTERN.exec(text.trim());
  if (!parts) return undefined;
  return Number(parts[1]) * (UNIT_MS[parts[2] as string] as number);
}

/** The shortest whole form: 600000 → `10m`. */
export function formatDuration(ms: number): string {
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    const size = UNIT_MS[unit] as number;
    if (ms >= size && ms % size === 0) return `${ms / size}${unit}`;
  }
  return ms < 1_000 ? `${ms}ms` : `${(ms / 1_000).toFixed(1)}s`;
}

// The least time that has passed since something, although the wall clock may have jumped.

export interface SteadyTime {
  read(): SteadyReading;
  /** State after the last reading: kept with what is stored after it. */
  agreement(): ClockAgreement;
}

export interface SteadyReading {
  nowMs: number;
  /** Wall times before this one were recorded before a jump, or on another boot. */
  sinceMs: number;
  /**
   * How long the two clocks have agreed: since the jump was seen, or since the first process of this boot began. Whole,
   * rounded down.
   */
  forMs: number;
  /** When a jump was last seen, on any boot: times recorded before it only show how long the jump is over. */
  jumpedMs: number;
  /** When the wall clock was last seen set back: times ahead of it count from then on. */
  setBackMs: number;
}

/** Since when the wall clock and the one that counts from the machine's start agree. */
interface Agreeing {
  /** By the wall clock. */
  sinceMs: number;
  /** By the other one. */
  fromMs: number;
}

/** Of a process that has watched a clock by which others record too. */
export interface Watched extends Agreeing {
  /** When it last saw that clock jump; -Infinity: never. */
  jumpedMs: number;
}

/**
 * Since when the wall clock and the one that counts from the machine's start agree: the next process continues from
 * there.
 */
export interface ClockAgreement extends Agreeing {
  /** Which start of which machine; empty when the system does not report it. */
  boot: string;
  /** The wall clock minus the other one. */
  apartMs: number;
  /** When the clocks were last read, by the wall clock. */
  seenMs: number;
  jumpedMs: number;
  setBackMs: number;
}

/** A difference of the two clocks that is not a jump: one is slowly corrected, the other is not. */
export const AGREED_MS = 1_000;

/**
 * The wall clocks of two boots may differ by this much. INVARIANT: more than twice the 5 minutes by which each may
 * differ from the server's `Date`: beyond those, sources are untrusted, and nothing is done that needs a stretch of
 * time to be over.
 */
export const BETWEEN_BOOTS_MS = 15 * 60_000;

/** At least. A time ahead of now is from before the wall clock was set back. */
export function elapsedMs({ nowMs, sinceMs, forMs, jumpedMs }: SteadyReading, atMs: number): number {
  const isAhead = atMs > nowMs + AGREED_MS;
  if (atMs >= sinceMs && !isAhead) return nowMs - atMs;
  const fromMs = isAhead ? jumpedMs : Math.max(atMs, jumpedMs);
  return Math.max(forMs, nowMs - fromMs - BETWEEN_BOOTS_MS);
}

/** By the wall clock, for uses where an hour more or less does no harm and an endless stretch would. */
export function wallElapsedMs({ nowMs, setBackMs }: SteadyReading, atMs: number): number {
  return nowMs - (atMs > nowMs + AGREED_MS ? setBackMs : atMs);
}

/**
 * For what was read in between: from its beginning. When the wall clock jumped meanwhile, nothing is known to be over.
 */
export function throughout(before: SteadyReading, after: SteadyReading): SteadyReading {
  if (before.sinceMs === after.sinceMs) return before;
  const never = Number.POSITIVE_INFINITY;
  return { ...before, sinceMs: never, forMs: 0, jumpedMs: never };
}

// Spans of time and ages for people.

const SECOND_MS = 1_000;
/** Whole units, the two largest: `12 s`, `5 min 20 s`, `2 h 5 min`; from two days on whole days alone. */
export function spanText(ms: number): string {
  const span = Math.abs(ms);
  const sign = ms < 0 ? '-' : '';
  if (span < SECOND_MS) return `${sign}${Math.floor(span)} ms`;
  if (span < MINUTE_MS) return `${sign}${Math.floor(span / SECOND_MS)} s`;
  if (span < HOUR_MS) return `${sign}${inTwo(span, MINUTE_MS, 'min', SECOND_MS, 's')}`;
  if (span < 2 * DAY_MS) return `${sign}${inTwo(span, HOUR_MS, 'h', MINUTE_MS, 'min')}`;
  return `${sign}${Math.floor(span / DAY_MS)} days`;
}

function inTwo(span: number, largeMs: number, large: string, smallMs: number, small: string): string {
  const rest = Math.floor((span % largeMs) / smallMs);
  return `${Math.floor(span / largeMs)} ${large}${rest === 0 ? '' : ` ${rest} ${small}`}`;
}

/** `115 days (2026-07-30)`, `2 h 5 min (2026-11-22 12:09Z)`; `in 3 days (…)` for one that is ahead. */
export function ageText(epochMs: number, atMs: number): string {
  const age = atMs - epochMs;
  const iso = isoTime(Math.floor(epochMs));
  const when = Math.abs(age) < 2 * DAY_MS ? `${iso.slice(0, 10)} ${iso.slice(11, 16)}Z` : iso.slice(0, 10);
  if (Math.abs(age) < SECOND_MS) return `just now (${when})`;
  return `${age < 0 ? 'in ' : ''}${spanText(Math.abs(age))} (${when})`;
}

/** Epoch milliseconds (with a fraction for µs and ns) of a timestamp in any unit; undefined for 0 and nonsense. */
export function epochMsOf(value: number | bigint): number | undefined {
  if (typeof value === 'number' && !Number.isInteger(value)) return undefined;
  const size = typeof value === 'bigint' ? Number(value) : value;
  if (size < 1e8) return undefined; // 0 means never; before 1973 is nonsense here
  if (size < 1e11) return size * 1_000; // seconds
  if (size < 1e14) return size; // milliseconds
  if (size < 1e17) return size / 1_000; // microseconds
  // Nanoseconds: a double is up to 128 of them off, so that their quotient would be no whole millisecond of one that is.
  if (size < 1e20) return Math.round(size / 1_000) / 1_000;
  return undefined;
}

// The clock on the wall of a time zone.

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  const numeric = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const;
  const format = new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', ...numeric, second: 'numeric' });
  formats.set(timeZone, format);
  return format;
}

export function isTimeZone(name: string): boolean {
  try {
    formatOf(name);
    return true;
  } catch {
    return false;
  }
}

/** Whole seconds: `06:00` in Berlin is what `Date.UTC` gives for 06:00 of that date. */
export function wallMsAt(timeZone: string, atMs: number): number {
  const parts = new Map(
    formatOf(timeZone)
      .formatToParts(atMs)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const [year, month, day, hour, minute, second] = (['year', 'month', 'day', 'hour', 'minute', 'second'] as const).map(
    (name) => parts.get(name) as number,
  ) as [number, number, number, number, number, number];
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

function offsetAt(timeZone: string, atMs: number): number {
  const wholeMs = Math.floor(atMs / 1_000) * 1_000;
  return wallMsAt(timeZone, wholeMs) - wholeMs;
}

/**
 * The first instant after `fromMs`, at most `toMs`, from which the zone has another offset; undefined: none. Two changes that cancel each other
 * within a day are none.
 */
export function offsetChange(timeZone: string, fromMs: number, toMs: number): number | undefined {
  const offset = offsetAt(timeZone, fromMs);
  for (let before = fromMs; before < toMs; ) {
    let after = Math.min(before + DAY_MS, toMs);
    if (offsetAt(timeZone, after) === offset) {
      before = after;
      continue;
    }
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (offsetAt(timeZone, middle) === offset) before = middle;
      else after = middle;
    }
    return after;
  }
  return undefined;
}

export const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const;

/** `Mon 2026-11-23 06:00 Europe/Berlin`. */
export function wallText(timeZone: string, atMs: number): string {
  const wall = new Date(wallMsAt(timeZone, atMs));
  return `${WEEKDAYS[wall.getUTCDay()]} ${wall.toISOString().slice(0, 16).replace('T', ' ')} ${timeZone}`;
}
