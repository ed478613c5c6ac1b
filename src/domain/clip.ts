// domain: long texts from outside, made short enough to be read. In: any text. Out: its beginning, cut between whole
// characters, and an ellipsis that marks the cut. JSON never passes here: it has everything.

/** A name is as long as its owner wants: a device, a user and a service choose their own. */
export const NAME_MAX = 120;

let graphemes: Intl.Segmenter | undefined;

/** A name as people see it, in tables, sentences and messages. */
export function shownName(name: string): string {
  return clip(name, NAME_MAX);
}

/** At most `max` code points. Letters with marks and joined emoji stay whole, unless one alone is longer. */
export function clip(text: string, max: number): string {
  if (text.length <= max) return text;
  // INVARIANT: only the beginning is looked at, whatever the length: a code point has at most two units.
  const characters = [...text.slice(0, 2 * max + 2)];
  if (characters.length <= max) return text;
  const kept = characters.slice(0, max - 1).join('');
  // Made when it is needed: few texts are cut, and the first one of a process takes long.
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  const cut = graphemes.segment(characters.slice(0, max).join('')).containing(kept.length)?.index ?? 0;
  return `${cut === 0 ? kept : kept.slice(0, cut)}…`;
}
