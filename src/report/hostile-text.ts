// report: names come from devices, and are hostile: invisible characters and terminal controls are spelled out, and no
// text is endless. In: any text. Out: text of visible characters on one line. Each hidden character is named.
import { clip } from '../domain/clip.ts';

// Control (Cc), format (Cf: bidi marks and overrides, zero-width, tags), line separators, halves of surrogate pairs;
// and letters that look like nothing. Joiners (U+200C, U+200D) stay: Persian words and emoji are spelled with them.
const HIDDEN = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|[\u115f\u1160\u2800\u3164\uffa0]/gu;

/** A sentence, an id, a line of a cell. Names are cut earlier, where they are put into words: `shownName`. */
export const TEXT_MAX = 4_000;

/** `evil\u202ename` → `evil⟨U+202E⟩name`; a line feed becomes `⟨U+000A⟩`. At most `TEXT_MAX` characters of the text. */
export function showHidden(text: string): string {
  return spellHidden(clip(text, TEXT_MAX));
}

/** The same for all of a text, however long it is. */
export function spellHidden(text: string): string {
  return text.replace(HIDDEN, (found) => {
    const code = (found.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0');
    return `⟨U+${code}⟩`;
  });
}
