// report: how many columns of a terminal a text takes. In: visible text. Out: a number: East Asian letters and emoji
// take two columns, marks none; letters with their marks, and joined emoji, are one character.

/** Latin letters, punctuation, arrows and signs of mathematics: each is one character of one column, whatever is beside it. */
const PLAIN = /^[\x20-\x7e\u00a0-\u02ff\u2010-\u2027\u2030-\u205e\u2190-\u22ff]*$/;
const EMOJI = /\p{Emoji_Presentation}|\p{Emoji}\ufe0f/u;
/** Unicode's East Asian Width W and F, besides emoji. */
const WIDE =
  /[\u1100-\u115f\u2329\u232a\u2630-\u2637\u268a-\u268f\u2e80-\u303e\u3041-\u3247\u3250-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1d300}-\u{1d376}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]/u;
/** Marks, joiners, and the later letters of a Korean syllable. */
const NO_WIDTH = /[\p{Mn}\p{Me}\u200c\u1160-\u11ff]|\u200d/u;

let graphemes: Intl.Segmenter | undefined;

export interface Character {
  text: string;
  width: number;
}

export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const character of charactersOf(text)) width += character.width;
  return width;
}

/** What must not be broken in two, each with its width. */
export function* charactersOf(text: string): Generator<Character> {
  if (PLAIN.test(text)) {
    for (const letter of text) yield { text: letter, width: 1 };
    return;
  }
  // Made when it is needed: the first one of a process takes longer than a report of plain text.
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  for (const { segment } of graphemes.segment(text)) yield { text: segment, width: widthOf(segment) };
}

function widthOf(grapheme: string): number {
  if (EMOJI.test(grapheme)) return 2;
  let width = 0;
  for (const letter of grapheme) width += NO_WIDTH.test(letter) ? 0 : WIDE.test(letter) ? 2 : 1;
  return width;
}
