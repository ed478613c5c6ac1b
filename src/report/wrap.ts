// report: text wrapped to a width, in time that grows with its length. In: visible text on one line. Out: lines. It
// loses nothing. Ids, serial numbers, rule names, addresses and commands in backticks stay whole where the width allows.
import { charactersOf, textWidth } from './display-width.ts';

export interface Line {
  text: string;
  width: number;
}

/** Words wider than this give way like prose: an id has 36 characters, and a hostile name any number. */
const WHOLE_MAX = 48;
/** Facts are long words of several: `TrustData.Factors.0.Name`, `event_count({"action":"Unauthorized"})`. */
const COMPOUND = /^[A-Za-z]\w*\.[A-Za-z0-9]|[({"=]/;
const SEAMS = /(?<=[,=({[/])(?=[\w"'({[])|(?<=[.:])(?=[A-Za-z_"'({[])|(?<=[a-z])(?=[A-Z])/;

/** Wraps at spaces, then between the parts of a long word, then anywhere. */
export function wrapLine(line: string, width: number): Line[] {
  const lines: Line[] = [];
  let current: Line = { text: '', width: 0 };
  for (const word of wordsOf(line, width).flatMap((text) => breakWord(text, width))) {
    if (current.text === '') current = word;
    else if (current.width + 1 + word.width <= width) current = joined(current, ' ', word);
    else {
      lines.push(current);
      current = word;
    }
  }
  return [...lines, current];
}

/** How narrow a column of this line can be: `word` without breaking a word, `part` without breaking an id. */
export function narrowest(line: string): { word: number; part: number } {
  const words = line.split(' ');
  const widest = (texts: readonly string[]) => texts.reduce((most, text) => Math.max(most, textWidth(text)), 0);
  return {
    word: Math.min(widest(words), WHOLE_MAX),
    part: Math.min(widest(words.flatMap(partsOf)), WHOLE_MAX),
  };
}

/** A command in backticks is one word, if it fits into a line. */
function wordsOf(line: string, width: number): string[] {
  const parts = line.split(' ');
  const words: string[] = [];
  for (let at = 0; at < parts.length; at += 1) {
    let word = parts[at] as string;
    let end = at;
    while (isOpen(word) && word.length <= width && end + 1 < parts.length) {
      end += 1;
      word = `${word} ${parts[end]}`;
    }
    if (isOpen(word) || textWidth(word) > width) words.push(parts[at] as string);
    else {
      words.push(word);
      at = end;
    }
  }
  return words;
}

function isOpen(word: string): boolean {
  return word.split('`').length % 2 === 0;
}

function breakWord(text: string, width: number): Line[] {
  const whole = { text, width: textWidth(text) };
  if (whole.width <= width) return [whole];
  const parts = partsOf(text).map((part) => ({ text: part, width: textWidth(part) }));
  const atoms = parts.flatMap((part) => (part.width <= width ? [part] : [...charactersOf(part.text)]));
  const pieces: Line[] = [];
  let piece: Line = { text: '', width: 0 };
  for (const atom of atoms) {
    if (piece.text !== '' && piece.width + atom.width > width) {
      pieces.push(piece);
      piece = atom;
    } else piece = joined(piece, '', atom);
  }
  return [...pieces, piece];
}

function partsOf(word: string): string[] {
  return COMPOUND.test(word) && !word.includes('@') ? word.split(SEAMS) : [word];
}

function joined(a: Line, between: string, b: Line): Line {
  return { text: `${a.text}${between}${b.text}`, width: a.width + between.length + b.width };
}
