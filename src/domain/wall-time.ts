// domain: the clock on the wall of a time zone. In: a zone and an instant. Out: its local date and time, as milliseconds that a clock in UTC
// would show so; and the instant at which the zone's offset changes next. The time is handed over, never read.
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

const DAY_MS = 86_400_000;

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
