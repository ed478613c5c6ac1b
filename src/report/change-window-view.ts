// report: a change window, and who let a plan through it, as readers see them. In: nouns of the domain. Out: times as text; words that may hold
// hostile names: each writer escapes them for its own medium.
import {
  type ChangeWindow,
  freezeText,
  nextWindow,
  untilText,
  type WindowNow,
  windowAt,
} from '../domain/change-window.ts';
import type { PageReader } from '../domain/page-reader.ts';
import type { BreakGlass } from '../domain/plan.ts';
import { isoTime, timeText } from '../domain/time-text.ts';
import { wallText } from '../domain/wall-time.ts';
import { plural } from './fact-text.ts';

export function changeWindowView({ text, timeZone, endsAtMs }: WindowNow) {
  return { window: text, endsAt: isoTime(endsAtMs), endsAtLocal: wallText(timeZone, endsAtMs) };
}

export function breakGlassView(glass: BreakGlass | undefined) {
  return glass ? { at: isoTime(glass.at), by: glass.by, reason: glass.reason } : null;
}

/** Undefined for a plan that nobody let through. */
export function breakGlassWords({ breakGlass }: { breakGlass?: BreakGlass | undefined }): string | undefined {
  if (!breakGlass) return undefined;
  const { at, by, reason } = breakGlass;
  return `BREAK GLASS: ${by} let it through the change windows at ${timeText(at)}: ${reason}.`;
}

/** The name of its check, for people and for programs. */
export const CHANGE_WINDOW = 'change window';

/** The window in force, or the next one; undefined where none is configured. `held`: how many actions wait for its end. */
export function changeWindowText(windows: readonly ChangeWindow[], nowMs: number, held = 0): string | undefined {
  const now = windowAt(windows, nowMs);
  if (now) return [freezeText(now), ...(held === 0 ? [] : [heldWords(held)])].join('; ');
  if (windows.length === 0) return undefined;
  const next = nextWindow(windows, nowMs);
  if (!next) return 'no change window is in force, and none comes';
  const starts = untilText({ timeZone: next.timeZone, endsAtMs: next.startsAtMs });
  return `no change window is in force; the next, \`${next.text}\`, begins ${starts}`;
}

/** The same, with how many actions wait now. Errors: those of the reader, which is asked in a change window alone. */
export async function changeWindowNow(
  reader: Pick<PageReader, 'heldInForce'>,
  windows: readonly ChangeWindow[],
  nowMs: number,
): Promise<string | undefined> {
  const held = windowAt(windows, nowMs) ? await reader.heldInForce('frozen') : 0;
  return changeWindowText(windows, nowMs, held);
}

export function heldWords(held: number): string {
  return `${plural(held, 'action')} ${held === 1 ? 'waits' : 'wait'} for its end`;
}

/** Which are configured, and until when alerts wait, if they do now. */
export function quietHoursText(windows: readonly ChangeWindow[], nowMs: number): string {
  const all = windows.map(({ text }) => text).join('; ');
  const now = windowAt(windows, nowMs);
  return now ? `${all}; in force until ${untilText(now)}: alerts wait` : all;
}
