// report: who and why, for a terminal's column: a shared reason is printed once, above its names. In: names with
// reasons, in order, and their total number. Out: the lines of one cell. It drops no name that it is given.
import { countText } from './fact-text.ts';
import { type CellLine, marked } from './marked.ts';

export interface NamedReason {
  who: CellLine;
  why: string;
}

/** At most `max` names; of the rest of `count` only the number is shown. */
export function groupReasons(items: readonly NamedReason[], count: number, max: number): CellLine[] {
  const shown = items.slice(0, max);
  const lines = [...new Set(shown.map(({ why }) => why))].flatMap((why) => {
    const those = shown.filter((item) => item.why === why).map(({ who }) => who);
    return those.length === 1 ? [marked(...those, `: ${why}`)] : [`${why}:`, ...those];
  });
  const more = count - shown.length;
  return [...lines, ...(more > 0 ? [`and ${countText(more)} more`] : [])];
}
