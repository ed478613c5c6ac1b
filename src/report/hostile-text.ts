// report: names come from devices, and are hostile: invisible characters and terminal controls are spelled out. In: any
// text. Out: text of visible characters on one line. It loses nothing: each hidden character is named.

// Control (Cc), format (Cf: bidi marks and overrides, zero-width, tags), line separators, halves of surrogate pairs;
// and letters that look like nothing. Joiners (U+200C, U+200D) stay: Persian words and emoji are spelled with them.
const HIDDEN = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|[\u115f\u1160\u2800\u3164\uffa0]/gu;

/** `evil\u202ename` → `evil⟨U+202E⟩name`; a line feed becomes `⟨U+000A⟩`. */
export function showHidden(text: string): string {
  return text.replace(HIDDEN, (found) => {
    const code = (found.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0');
    return `⟨U+${code}⟩`;
  });
}

/** At most `max` characters of visible text; an ellipsis marks a cut. */
export function clip(text: string, max: number): string {
  const characters = [...text];
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join('')}…`;
}
