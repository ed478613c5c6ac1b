// pull: whether a source stands still: for longer than it ever does, learned from its own readings. In: what is known of how it moves, what a
// whole reading shows. Out: the same with this reading, and why it is not trusted. Pure. It does not ask which rules read it.
import { DAY_MS, HOUR_MS, spanText, timeText } from '../../base/time.ts';
import type { Baseline, KeptReading, Movement, Sight, Sign } from '../../domain/snapshot.ts';

export interface StandStillSettings {
  /** A source that rests for less is never said to stand still. */
  stillMs: number;
}

/** What is learned: the longest rests of so many days. */
const LEARNED_DAYS = 14;
/** So many lists are known again. */
const PAST_MAX = 12;
/** Without so many changes in them, and a day of readings before the last one, nothing is usual. */
const CHANGES_MIN = 20;
/** So many times as long as the longest rest: in the first week nobody knows its weekend. */
const [FACTOR_FIRST, FACTOR, FIRST_MS] = [8, 3, 7 * DAY_MS];

/** The readings of one form of one source, and how they moved so far. */
export type MovedSource = Pick<Movement, 'source' | 'form'> & {
  before: Movement | undefined;
  /** When the last action on it was done that every reading since must show. */
  doneAt?: number | undefined;
};

/** The clock may have been set back. */
export function followMovement(
  { before, doneAt, ...known }: MovedSource,
  { content, newestMs }: Sight,
  nowMs: number,
  settings: StandStillSettings,
): { movement: Movement; still: string | undefined } {
  const sinceMs = before ? Math.max(0, nowMs - before.readAt) : 0;
  // Nobody knows what a source did while nobody read it.
  const stepMs = before && before.everyMs > 0 ? Math.min(sinceMs, 2 * before.everyMs) : sinceMs;
  const firstAt = Math.min(before?.firstAt ?? nowMs, nowMs);
  const look = { firstAt, nowMs, stepMs, settings };
  const signs = {
    content:
      content === undefined
        ? before?.signs.content
        : follow(comparable(before?.signs.content, content), content, undefined, look),
    newest:
      newestMs === undefined
        ? before?.signs.newest
        : follow(before?.signs.newest, newestMs, Math.max(0, nowMs - newestMs), look),
  };
  const seen = content === undefined || newestMs === undefined ? undefined : { content, newestMs, at: nowMs };
  const moved = signs.content;
  const old = moved && isUsual(moved, firstAt) ? oldOne(before?.past ?? [], seen) : undefined;
  const past = old ? (before?.past ?? []) : pastWith(before?.past ?? [], seen);
  const movement = { ...known, firstAt, readAt: nowMs, everyMs: sinceMs, signs, past };
  const isUnshown = moved && isUsual(moved, firstAt) && doneAt !== undefined && doneAt >= moved.changedAt;
  const unshown = isUnshown
    ? `stands still: the list is the same, record for record, since ${timeText(moved.changedAt)}, and does not show what was done at ${timeText(doneAt)}`
    : undefined;
  const again = old && `stands still: the list is that of ${timeText(old.at)} again, record for record`;
  return { movement, still: stillText(movement) ?? again ?? unshown };
}

/** An earlier version summed in another form. That shows no change of the list: a source that stood still then does so now. */
function comparable(before: Sign | undefined, content: string): Sign | undefined {
  const numbersIn = (value: Sign['value']) => `${value}`.split(' ').length;
  return before && numbersIn(before.value) !== numbersIn(content) ? { ...before, value: content } : before;
}

/** The list that this one is, when later ones were read in between. */
function oldOne(
  past: Movement['past'],
  seen: Movement['past'][number] | undefined,
): Movement['past'][number] | undefined {
  const last = past.at(-1);
  if (!seen || !last || seen.newestMs >= last.newestMs) return undefined;
  return past.find(({ content, newestMs }) => content === seen.content && newestMs === seen.newestMs);
}

function pastWith(past: Movement['past'], seen: Movement['past'][number] | undefined): Movement['past'] {
  return seen === undefined || past.at(-1)?.content === seen.content ? past : [...past, seen].slice(-PAST_MAX);
}

/** A person accepts that it stands still: from now on so long a rest is usual. */
export function acceptStanding(movement: Movement): Movement {
  const accepted = (sign: Sign | undefined): Sign | undefined =>
    sign?.since === undefined
      ? sign
      : { ...sign, since: undefined, days: learned(sign.days, movement.readAt, 0, sign.quietMs) };
  const { content, newest } = movement.signs;
  return { ...movement, signs: { content: accepted(content), newest: accepted(newest) }, past: [] };
}

interface Look {
  firstAt: number;
  nowMs: number;
  stepMs: number;
  settings: StandStillSettings;
}

/** `ageMs`: of a report; undefined for what has no time of its own. */
function follow(before: Sign | undefined, value: Sign['value'], ageMs: number | undefined, look: Look): Sign {
  const { nowMs, stepMs } = look;
  const restedMs = (before?.quietMs ?? 0) + stepMs;
  // Nothing has changed later than now: the clock was ahead.
  if (before?.value === value)
    return judged({ ...before, changedAt: Math.min(before.changedAt, nowMs), quietMs: ageMs ?? restedMs }, look);
  // A rest that was named is not usual, however often it comes: a person may say that it is.
  const days = !before ? [] : learned(before.days, nowMs, 1, before.since === undefined ? restedMs : 0);
  return judged({ value, changedAt: nowMs, quietMs: ageMs ?? 0, days }, look);
}

function learned(days: Sign['days'], nowMs: number, changes: number, quietMs: number): Sign['days'] {
  const day = Math.floor(nowMs / DAY_MS);
  const own = days.find((one) => one.day === day) ?? { day, changes: 0, quietMs: 0 };
  const kept = days.filter((one) => one.day !== day && one.day >= day - LEARNED_DAYS && one.day < day);
  return [...kept, { day, changes: own.changes + changes, quietMs: Math.max(own.quietMs, quietMs) }];
}

function judged(sign: Sign, { firstAt, settings }: Look): Sign {
  const factor = sign.changedAt - firstAt < FIRST_MS ? FACTOR_FIRST : FACTOR;
  const isStill = isUsual(sign, firstAt) && sign.quietMs > Math.max(settings.stillMs, factor * longestRest(sign));
  if (!isStill) return { ...sign, since: undefined };
  return { ...sign, since: typeof sign.value === 'number' ? sign.value : sign.changedAt };
}

/** Whether it changes often enough for anything to be usual. */
function isUsual({ changedAt, days }: Sign, firstAt: number): boolean {
  return changedAt - firstAt >= DAY_MS && days.reduce((sum, { changes }) => sum + changes, 0) >= CHANGES_MIN;
}

function longestRest({ days }: Sign): number {
  return days.reduce((longest, { quietMs }) => Math.max(longest, quietMs), 0);
}

/** The newest report shows it first, and more plainly. */
function stillText({ source, signs: { content, newest }, firstAt, readAt }: Movement): string | undefined {
  const days = Math.max(1, Math.min(LEARNED_DAYS, Math.floor((readAt - firstAt) / DAY_MS)));
  const learnedText = `in the last ${days === 1 ? 'day' : `${days} days`} it was never`;
  const what = source === 'events' ? 'event' : 'report';
  if (newest?.since !== undefined)
    return `stands still: its newest ${what} is of ${timeText(newest.since)}, ${spanText(readAt - newest.since)} ago; ${learnedText} older than ${spanText(longestRest(newest))}`;
  if (content?.since === undefined) return undefined;
  const since = `${timeText(content.since)}, for ${spanText(readAt - content.since)}`;
  return `stands still: the list is the same, record for record, since ${since}; ${learnedText} the same for longer than ${spanText(longestRest(content))}`;
}

// Which trusted readings of the last days are kept, and with which of them a reading is compared: a fleet that drifts
// by a little in each run is not seen from one reading to the next. In: baselines. Out: the readings to keep, the
// readings to compare with. INVARIANT: their number is bounded, and so are the values of each. A person's acceptance
// begins again with none.

const WEEK_MS = 7 * DAY_MS;
/** Of the last day one reading is kept in each of these stretches, before that one a day. */
const FINE_MS = 3 * HOUR_MS;

interface DriftBounds {
  driftDayPercent: number;
  driftWeekPercent: number;
}

export interface ComparedReading {
  reading: KeptReading;
  /** How much may have changed since then, percent or points. */
  percentMax: number;
  /** For people: `24 hours ago`. */
  ago: string;
}

/**
 * The newest readings that are 24 hours and 7 days older than the last trusted one, or the oldest that is kept. While nothing is trusted they
 * stay the same: waiting makes no drift trusted.
 */
export function readingsToCompare(
  baseline: Baseline | undefined,
  nowMs: number,
  { driftDayPercent, driftWeekPercent }: DriftBounds,
): ComparedReading[] {
  if (!baseline) return [];
  const of = (spanMs: number, percentMax: number): ComparedReading[] => {
    const reading = readingBefore(baseline, spanMs);
    return reading ? [{ reading, percentMax, ago: agoText(nowMs - reading.takenAt) }] : [];
  };
  return [...of(DAY_MS, driftDayPercent), ...of(WEEK_MS, driftWeekPercent)];
}

function readingBefore({ takenAt, earlier = [] }: Baseline, spanMs: number): KeptReading | undefined {
  return earlier.findLast((one) => one.takenAt <= takenAt - spanMs) ?? earlier[0];
}

/** From an hour to two days whole hours. */
function agoText(ageMs: number): string {
  if (ageMs < HOUR_MS || ageMs >= 2 * DAY_MS) return `${spanText(ageMs)} ago`;
  const hours = Math.round(ageMs / HOUR_MS);
  return `${hours} hour${hours === 1 ? '' : 's'} ago`;
}

/** What is kept beside a new trusted reading: the last one joins the earlier ones, and those go that nothing will be compared with. */
export function earlierReadings(last: Baseline | undefined, takenAt: number): readonly KeptReading[] {
  if (!last) return [];
  const { count, values } = last;
  // A clock that was ahead leaves readings of the future, which would never be old enough.
  const known = [...(last.earlier ?? []), { takenAt: last.takenAt, count, values }].filter(
    (one) => one.takenAt <= takenAt,
  );
  const kept: KeptReading[] = [];
  for (const one of known) {
    const before = kept.at(-1);
    const stepMs = takenAt - one.takenAt > DAY_MS + FINE_MS ? DAY_MS : FINE_MS;
    if (!before || one.takenAt - before.takenAt >= stepMs) kept.push(one);
  }
  const oldest = kept.findLastIndex((one) => one.takenAt <= takenAt - WEEK_MS);
  return oldest > 0 ? kept.slice(oldest) : kept;
}
