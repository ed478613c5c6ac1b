// report: text wrapped to a width, in time that grows with its length. In: a visible line. Out: lines. It loses nothing. What is
// marked as whole, addresses and commands in backticks are never broken; other words only where the width leaves no choice.
import { charactersOf, textWidth } from './display-width.ts';
import { type CellLine, partsOf, plainText } from './marked.ts';

export interface Line {
  text: string;
  width: number;
}

/** What is broken together, or not at all. */
interface Atom extends Line {
  isWhole: boolean;
}
/** No space inside: an id with the bracket before it and the comma after it. */
type Word = readonly Atom[];

/** Words wider than this give way like prose: an id has 36 characters, a hostile name any number. */
const WORD_MAX = 48;
/** The longest address. What is longer is broken, even if it is marked. */
const WHOLE_MAX = 254;
const ADDRESS = /[^\s@]@[^\s@.]+\.[^\s@]/;
const COMMAND = /^\W{0,2}`trustward /;
/** Facts are long words of several: `event_count({"action":"Unauthorized"})`. */
const COMPOUND = /[({"=]/;
const SEAMS = /(?<=[,=({[/])(?=[\w"'({[])|(?<=:)(?=["'({[])/;
/** Of a path that is too long to be one word. */
const PATH_SEAMS = /(?<=[,=({[/.])(?=[\w"'({[])|(?<=:)(?=["'({[])/;

/** Wraps at spaces, then between the parts of a long word, then anywhere but in what is whole. */
export function wrapLine(line: CellLine, width: number): Line[] {
  const text = plainText(line);
  const natural = textWidth(text);
  if (natural <= width && !text.startsWith(' ')) return [{ text, width: natural }]; // most lines of a report
  const lines: Line[] = [];
  let current: Line = { text: '', width: 0 };
  for (const word of wordsOf(line).flatMap((atoms) => breakWord(atoms, width))) {
    if (current.text === '') current = word;
    else if (current.width + 1 + word.width <= width) current = joined(current, ' ', word);
    else {
      lines.push(current);
      current = word;
    }
  }
  return [...lines, current];
}

/** How wide the line is, and how narrow its column can be: `word` without breaking a word, `part` without breaking an id. */
export function measured(line: CellLine): { natural: number; word: number; part: number } {
  const found = { natural: -1, word: 0, part: 0 };
  for (const atoms of wordsOf(line)) {
    const width = widthOf(atoms);
    const wholes = atoms.filter(({ isWhole }) => isWhole).reduce((most, atom) => Math.max(most, atom.width), 0);
    const parts = atoms.flatMap((atom) => (atom.isWhole ? [] : seamsOf(atom).map(textWidth)));
    found.natural += 1 + width;
    found.word = Math.max(found.word, Math.min(width, Math.max(WORD_MAX, wholes)));
    found.part = Math.max(found.part, wholes, Math.min(Math.max(0, ...parts), WORD_MAX));
  }
  return found;
}

function wordsOf(line: CellLine): Word[] {
  const words: Atom[][] = [];
  let isOpenWord = false;
  for (const { text, isWhole } of partsOf(line)) {
    const atoms = isWhole ? [atomOf(text, textWidth(text) <= WHOLE_MAX)] : plainWords(text);
    for (const [at, atom] of atoms.entries()) {
      const last = words.at(-1);
      if (at === 0 && isOpenWord && last) last.push(atom);
      else words.push([atom]);
    }
    isOpenWord = true;
  }
  return words;
}

/** What stands in backticks is one word, such as a command. */
function plainWords(text: string): Atom[] {
  const parts = text.split(' ');
  const words: Atom[] = [];
  for (let at = 0; at < parts.length; at += 1) {
    let word = parts[at] as string;
    let end = at;
    while (isOpen(word) && word.length <= WHOLE_MAX && end + 1 < parts.length) {
      end += 1;
      word = `${word} ${parts[end]}`;
    }
    const isPhrase = end > at && !isOpen(word) && textWidth(word) <= (COMMAND.test(word) ? WHOLE_MAX : WORD_MAX);
    if (isPhrase) at = end;
    else word = parts[at] as string;
    const width = textWidth(word);
    words.push({ text: word, width, isWhole: isPhrase || (width <= WHOLE_MAX && ADDRESS.test(word)) });
  }
  return words;
}

function isOpen(word: string): boolean {
  return word.split('`').length % 2 === 0;
}

function atomOf(text: string, isWhole: boolean): Atom {
  return { text, width: textWidth(text), isWhole };
}

function widthOf(atoms: Word): number {
  return atoms.reduce((sum, { width }) => sum + width, 0);
}

function breakWord(word: Word, width: number): Line[] {
  if (widthOf(word) <= width) return [{ text: word.map(({ text }) => text).join(''), width: widthOf(word) }];
  const pieces: Line[] = [];
  let piece: Line = { text: '', width: 0 };
  for (const part of word.flatMap((atom) => brokenAtom(atom, width))) {
    if (piece.text !== '' && piece.width + part.width > width) {
      pieces.push(piece);
      piece = part;
    } else piece = joined(piece, '', part);
  }
  return [...pieces, piece];
}

function brokenAtom(atom: Atom, width: number): Line[] {
  if (atom.isWhole || atom.width <= width) return [atom];
  return seamsOf(atom).flatMap((text) => (textWidth(text) <= width ? [lineOf(text)] : [...charactersOf(text)]));
}

function lineOf(text: string): Line {
  return { text, width: textWidth(text) };
}

function seamsOf({ text, width }: Line): string[] {
  if (width > WORD_MAX) return text.split(PATH_SEAMS);
  return COMPOUND.test(text) ? text.split(SEAMS) : [text];
}

function joined(a: Line, between: string, b: Line): Line {
  return { text: `${a.text}${between}${b.text}`, width: a.width + between.length + b.width };
}
