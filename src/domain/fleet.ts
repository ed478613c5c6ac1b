// domain: lists of devices, users and services as people read them: how names are sorted and searched, what is asked, and what a page has. In: names,
// filters. Out: keys of names, filters that are checked. Nothing that acts rests on it.
import { AppError } from './errors.ts';
import type { Identity } from './identity.ts';
import { digitOfValue, LISTED_FIELDS, LISTED_OF, type ListedName } from './listed-facts.ts';
import { SUBJECT_KINDS, type SubjectKind } from './subjects.ts';

// Names, as lists sort and find them.

/** More of a name sorts nothing. */
const SORTED_MAX = 40;
/** What is behind it is found by no word. */
const SEARCHED_MAX = 200;
const WORDS_MAX = 8;

/** In lower case and without accents. Each character is one unit, so that all databases sort it alike; none is a control character. */
function folded(text: string, max: number): string {
  const some = text.slice(0, max).trim().toLowerCase();
  if (/^[\x20-\x7e]*$/.test(some)) return some;
  return some
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[\p{Cc}\u{10000}-\u{10ffff}]|\p{Cs}/gu, '\ufffd')
    .slice(0, max);
}

const [NEITHER, LETTER, DIGIT] = [0, 1, 2];

function classAt(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  if (unit < 128) return unit >= 97 && unit <= 122 ? LETTER : unit >= 48 && unit <= 57 ? DIGIT : NEITHER;
  const character = text.charAt(at);
  return /\p{L}/u.test(character) ? LETTER : /\p{N}/u.test(character) ? DIGIT : NEITHER;
}

/** Of a folded text such as `ada's macbook-15`: `ada`, `macbook`, `15`. Letters and digits are words of their own; a possessive `s` is none. */
function wordsIn(text: string): string[] {
  const words: string[] = [];
  for (let at = 0; at < text.length && words.length < WORDS_MAX; ) {
    const from = at;
    const is = classAt(text, from);
    do at += 1;
    while (at < text.length && classAt(text, at) === is);
    if (is === NEITHER || (from + 1 === at && isPossessive(text, from))) continue;
    const word = text.slice(from, at);
    if (!words.includes(word)) words.push(word);
  }
  return words;
}

function isPossessive(text: string, at: number): boolean {
  return text[at] === 's' && (text[at - 1] === "'" || text[at - 1] === '’');
}

export function wordsOf(text: string): string[] {
  return wordsIn(folded(text, SEARCHED_MAX));
}

type Named = Pick<Identity, 'kind' | 'name' | 'id'>;

/** The texts by whose words it is found. */
function searchedIn({ kind, name, id }: Named): string {
  return kind === 'device' ? name || id : `${name} ${id}`;
}

/** Whether each of these words is the beginning of a word of it. */
export function hasWords(subject: Named, words: readonly string[]): boolean {
  const own = wordsOf(searchedIn(subject));
  return words.every((word) => own.some((one) => one.startsWith(word)));
}

// Keys of words, in whose order words with one beginning stand side by side. They stand for a kind and six characters: whoever finds by them
// compares the words themselves.

const CODES = 61;
const CODED = 6;

/** 1 to 26 are letters, 27 to 36 digits; the rest are shared by all other characters. */
function codeOf(unit: number): number {
  if (unit >= 97 && unit <= 122) return unit - 96;
  if (unit >= 48 && unit <= 57) return unit - 21;
  return 37 + (unit % 24);
}

/** Of a beginning of fewer characters: the least of all its words. */
function firstKey(kind: SubjectKind, word: string): number {
  let key = SUBJECT_KINDS.indexOf(kind);
  for (let at = 0; at < CODED; at += 1) key = key * CODES + (at < word.length ? codeOf(word.charCodeAt(at)) : 0);
  return key;
}

/** The keys of all words with this beginning: from the first one on, up to the other one without it. */
export function wordRange(kind: SubjectKind, word: string): [from: number, end: number] {
  const from = firstKey(kind, word);
  return [from, from + CODES ** Math.max(0, CODED - word.length)];
}

/** Each once. */
export function wordKeys(subject: Named): number[] {
  const keys: number[] = [];
  for (const word of wordsOf(searchedIn(subject))) {
    const key = firstKey(subject.kind, word);
    if (!keys.includes(key)) keys.push(key);
  }
  return keys;
}

/** By what a list sorts a subject: what it shows as its name. */
export function sortKey({ name, id }: Pick<Named, 'name' | 'id'>): string {
  return folded(name === '' ? id : name, SORTED_MAX);
}

// What is asked, and what a page has.

/** More that are searched are listed as they are found. */
export const FOUND_MAX = 2_000;

export type FleetSort = 'name' | ListedName;

export interface FleetQuery {
  kind: SubjectKind;
  /** Beginnings of words of its name; or an id, a serial number or an e-mail address in full. */
  q?: string | undefined;
  /** Values, or `unknown`. */
  facts: { readonly [name in ListedName]?: string | undefined };
  /** A rule that matches it. */
  rule?: string | undefined;
  /** The e-mail address of an owner. */
  owner?: string | undefined;
  sort: FleetSort;
  isDescending: boolean;
  limit: number;
  /** `next` of the page before. */
  after?: string | undefined;
}

export interface ListedSubject {
  identity: Identity;
  facts: number;
  /** Rules that match it now, by their ids. */
  rules: readonly string[];
  /** What Trustward has in force on it. */
  actions: readonly string[];
}

export interface FleetPage {
  /** When the last trusted reading ended that these lists show; undefined: there is none yet, and no row. */
  readAt: number | undefined;
  rows: ListedSubject[];
  /** On all pages; undefined: too many to be counted. */
  total: number | undefined;
  /** False: so many have what is searched that they are listed as they are found. */
  isSorted: boolean;
  /** Of all of this kind: how many have which facts. */
  counts: ReadonlyMap<number, number>;
  next: string | undefined;
}

/** The store as lists of subjects are read. */
export interface FleetReader {
  /** Errors: AppError `usage` for an `after` that is of no such list. */
  fleetPage(query: FleetQuery): Promise<FleetPage>;
}

/** The digit of each filter. Errors: AppError `usage` for a filter that this kind does not have. */
export function digitsOf({ kind, facts, owner, sort }: FleetQuery): Map<ListedName, number> {
  const digits = new Map<ListedName, number>();
  for (const [name, value] of Object.entries(facts) as [ListedName, string | undefined][]) {
    if (value === undefined) continue;
    demandOf(kind, name);
    digits.set(name, digitOfValue(name, value));
  }
  if (sort !== 'name') demandOf(kind, sort);
  if (owner !== undefined && kind !== 'device') throw noSuch(kind, 'owner', ['device']);
  return digits;
}

function demandOf(kind: SubjectKind, name: ListedName): void {
  if (!LISTED_OF[kind].includes(name)) throw noSuch(kind, name, LISTED_FIELDS[name].kinds);
}

function noSuch(kind: SubjectKind, name: string, kinds: readonly SubjectKind[]): AppError {
  const have = [...LISTED_OF[kind], ...(kind === 'device' ? ['owner'] : []), 'rule'].map((one) => `\`${one}\``);
  const of = kinds.map((one) => `${one}s`).join(' and ');
  return new AppError('usage', `\`${name}\` is a filter of ${of}: lists of ${kind}s have ${have.join(', ')}`);
}
