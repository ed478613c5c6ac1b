// report: who and why, for a terminal's column: a reason that several share is told once, above them.
// In: names with reasons, in order, and how many there are in all. Out: the lines of one cell. It loses no name it is given.
import { countText } from './fact-text.ts';
import { showHidden } from './hostile-text.ts';

export interface NamedReason {
  who: string;
  why: string;
}

/** At most `max` names; those of `count` that are left out are told by their number. */
export function groupReasons(items: readonly NamedReason[], count: number, max: number): string {
  const shown = items.slice(0, max);
  const lines = [...new Set(shown.map(({ why }) => why))].flatMap((why) => {
    const those = shown.filter((item) => item.why === why).map(({ who }) => showHidden(who));
    return those.length === 1 ? [`${those[0]}: ${showHidden(why)}`] : [`${showHidden(why)}:`, ...those];
  });
  const more = count - shown.length;
  return [...lines, ...(more > 0 ? [`and ${countText(more)} more`] : [])].join('\n');
}
