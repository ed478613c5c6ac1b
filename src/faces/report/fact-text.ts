// report: fact values for people: the basis of a decision, one by one.

import { clip, NAME_MAX, shownName, spellHidden } from '../../base/text.ts';
import { ageText, DAY_MS, epochMsOf, isoTime, spanText, timeText } from '../../base/time.ts';
import type { Change } from '../../domain/action.ts';
import type { Fact } from '../../domain/facts.ts';
import { type AgeRange, ANOTHER_TEXT, type Flip } from '../../domain/verdict.ts';

/** A changed value is what a person approves: more of it is shown than of a name. */
const VALUE_MAX = 200;

/** `MdmData.CompromisedStatus = "TRUE"`, one text per fact. A time stamp is shown as an age at that time, with its date. */
export function factTexts(facts: { [path: string]: Fact }, atMs: number): string[] {
  return Object.entries(facts).map(([path, value]) => `${path} = ${clip(factText(path, value, atMs), NAME_MAX)}`);
}

/** `it would not match if MdmData.CompromisedStatus were "FALSE"`. */
export function flipWords({ verdict, changes }: Flip, atMs: number): string {
  const values = changes.map(({ fact, to, range }) => {
    const value = range
      ? rangeWords(range)
      : to === undefined
        ? 'absent'
        : to === ANOTHER_TEXT
          ? 'any other value'
          : clip(exampleText(fact, to, atMs), NAME_MAX);
    return `${fact} were ${value}`;
  });
  return `it would ${verdict === 'match' ? 'match' : 'not match'} if ${values.join(' and ')}`;
}

/** `less than 90 days ago`, `at least 7 days and less than 90 days ago`. */
export function rangeWords({ of, moreThan, atLeast, lessThan, atMost }: AgeRange): string {
  const ago = of === 'time' ? ' ago' : '';
  if (atLeast !== undefined && atLeast === atMost) return `exactly ${exactSpan(atLeast)}${ago}`;
  const bounds = Object.entries({
    'more than': moreThan,
    'at least': atLeast,
    'less than': lessThan,
    'at most': atMost,
  });
  const words = bounds.flatMap(([name, seconds]) => (seconds === undefined ? [] : [`${name} ${exactSpan(seconds)}`]));
  return `${words.join(' and ')}${ago}`;
}

const SPANS = [
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const;

/** A bound is shown whole, unlike a span that was measured. */
function exactSpan(seconds: number): string {
  const ms = Math.round(seconds * 1_000);
  const days = Math.floor(ms / DAY_MS);
  let rest = ms % DAY_MS;
  const parts = days === 0 ? [] : [plural(days, 'day')];
  for (const [unit, size] of SPANS) {
    if (rest >= size) parts.push(`${Math.floor(rest / size)} ${unit}`);
    rest %= size;
  }
  return parts.length === 0 ? '0 s' : parts.join(' ');
}

/** A time that stands for others is no age: that would be another one at each look. */
function exampleText(path: string, value: Fact, atMs: number): string {
  const number = NAMES.test(path) ? undefined : numberOf(value);
  const epochMs = number !== undefined && number >= LONG ? timeOf(number) : undefined;
  return epochMs === undefined ? factText(path, value, atMs) : timeText(epochMs);
}

/** `spec.backend.target.port: "80" → "8443"`, one text per change. */
export function changeTexts(changes: readonly Change[]): string[] {
  const side = (value: Fact) => (value === null ? '(none)' : clip(valueText(value), VALUE_MAX));
  return changes.map(({ path, from, to }) => `${path}: ${side(from)} → ${side(to)}`);
}

/** What operators give has their text as its name: seconds, or a count. A time stamp of a record has 16 digits or more. */
export function factText(path: string, value: Fact, atMs: number): string {
  if (typeof value === 'number' && /^since_last_(event|signal)\(/.test(path)) return spanText(value * 1_000);
  if (typeof value === 'number' && /^(event_count|event_distinct|signal_count)\(/.test(path)) return `${value}`;
  const number = typeof value === 'string' && NAMES.test(path) ? undefined : numberOf(value);
  if (number === undefined) return jsonOf(value);
  const epochMs = timeOf(number);
  if (epochMs === undefined) return `${number}`;
  return number >= LONG ? ageText(epochMs, atMs) : `${number} (${ageText(epochMs, atMs).replace(' (', ', ')}`;
}

/** What a person approves is exact: a time stamp is shown as it is, with the time that it means. */
function valueText(value: Fact): string {
  const number = numberOf(value);
  if (number === undefined) return jsonOf(value);
  const epochMs = timeOf(number);
  return epochMs === undefined ? `${number}` : `${number} (${isoTime(Math.floor(epochMs))})`;
}

function jsonOf(value: Fact): string {
  return JSON.stringify(value, (_key, member) => (typeof member === 'bigint' ? member.toString() : member));
}

/** Texts of the record schema that may consist of digits: they stay as they are. */
const NAMES = /(Name|ID|SerialNumber|Email|Version)$/;

/** An integer over 2^53 was stored as a string of digits; a shorter such string is a text. */
export function numberOf(value: Fact): number | bigint | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  const isDigits = typeof value === 'string' && /^\d{16,19}$/.test(value);
  return isDigits && BigInt(value) > Number.MAX_SAFE_INTEGER ? BigInt(value) : undefined;
}

/** Micro- and nanoseconds: no count is that large. */
const LONG = 1e14;

/** Only of values that can be nothing but a time stamp: one of ten digits is a count, unless it is of our time. */
function timeOf(value: number | bigint): number | undefined {
  if (value < 1_000_000_000) return undefined;
  const epochMs = epochMsOf(value);
  const [from, to] = value >= LONG ? [2000, 2300] : [2010, 2100];
  return epochMs !== undefined && epochMs >= Date.UTC(from, 0) && epochMs < Date.UTC(to, 0) ? epochMs : undefined;
}

/** Counts and lists: `1,234`. */
export function countText(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** A text that begins in lower case, at the beginning of a sentence. */
export function asSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** `1 device`, `2,000 devices`. */
export function plural(count: number, noun: string, nouns = `${noun}s`): string {
  return `${countText(count)} ${count === 1 ? noun : nouns}`;
}

/** The name of an action is its verb, and mostly the kind of its targets, with a line between them. Undefined: another name. */
export function verbOf(action: string): { verb: string; noun: string } | undefined {
  const [, verb, noun] = /^([a-z]+)_(device|user|service)$/.exec(action) ?? [];
  return verb === undefined || noun === undefined ? undefined : { verb, noun };
}

/** The verbs of actions are regular: ban, banned; disable, disabled; notify, notified; add, added. */
export function pastOf(verb: string): string {
  if (verb.endsWith('e')) return `${verb}d`;
  if (/[^aeiou]y$/.test(verb)) return `${verb.slice(0, -1)}ied`;
  return /^(un)?[^aeiou][aeiou][^aeiouwxy]$/.test(verb) ? `${verb}${verb.at(-1)}ed` : `${verb}ed`;
}

/** The name of an action that calls the platform has a verb and an object, with `_` between them. */
export function actWords(action: string, what: string, be = 'was'): { toDo: string; wasDone: string; isCall: boolean } {
  const named = verbOf(action);
  if (named) return { toDo: `${named.verb} ${what}`, wasDone: `${what} ${be} ${pastOf(named.verb)}`, isCall: true };
  const [verb = '', ...rest] = action.split('_');
  if (rest.length === 0)
    return { toDo: `${verb} about ${what}`, wasDone: `${pastOf(verb)} about ${what}`, isCall: false };
  const way = `${rest.slice(0, -1).join(' ')} a ${rest.at(-1)}`;
  return { toDo: `${verb} ${what} ${way}`, wasDone: `${what} ${be} ${pastOf(verb)} ${way}`, isCall: true };
}

/** `a, b and c`. */
export function listed(parts: readonly string[]): string {
  const before = parts.slice(0, -1).join(', ');
  return `${before}${before === '' ? '' : ' and '}${parts.at(-1)}`;
}

/** ` and 3 more`: what stands behind those that are named. */
export function andMore(left: number): string {
  return left > 0 ? ` and ${countText(left)} more` : '';
}

/** A sentence, an id, a line of a cell. Names are cut earlier, where they are put into words: `shownName`. */
const TEXT_MAX = 4_000;

/** `evil\u202ename` → `evil⟨U+202E⟩name`; a line feed becomes `⟨U+000A⟩`. At most `TEXT_MAX` characters of the text. */
export function showHidden(text: string): string {
  return spellHidden(clip(text, TEXT_MAX));
}

// Lines with parts that a terminal never breaks: ids, serial numbers, e-mail addresses, rule names.

export interface Part {
  readonly text: string;
  readonly isWhole: boolean;
  /** `term`: a word of the product, or an id. `state`: a mode, a status. `figure`: drawn where that is possible. */
  readonly is?: 'term' | 'state' | Figure;
  /** The path of its page. */
  readonly to?: string;
}

/** How much of something is used; counts over time, the oldest first, with what they show in words. */
export type Figure = { used: number; allowed: number } | { counts: readonly number[]; label: string };

export interface Marked {
  readonly parts: readonly Part[];
}

/** One line of a cell. In a plain one, words stay whole as long as they look like an id, an address or a command. */
export type CellLine = string | Marked;

/** A cell of a table: one line, or several. */
export type Cell = CellLine | readonly CellLine[];

export function linesOf(cell: Cell): readonly CellLine[] {
  return typeof cell === 'string' || 'parts' in cell ? [cell] : cell;
}

/** An id may hold spaces and any punctuation: `VMware-56 4d 1c`. */
export function whole(text: string): Marked {
  return { parts: [{ text, isWhole: true }] };
}

/** The same, of a kind; `to`: the path of its page. */
export function shownAs(is: NonNullable<Part['is']>, text: string, to?: string): Marked {
  return { parts: [{ text, isWhole: true, is, ...(to !== undefined && { to }) }] };
}

/** The same line, which leads to a page. */
export function linked(line: CellLine, to: string): Marked {
  return { parts: partsOf(line).map((part) => ({ ...part, to })) };
}

/** Parts in order, with nothing between them. */
export function marked(...parts: readonly CellLine[]): Marked {
  return { parts: parts.flatMap((part) => partsOf(part)) };
}

/** The same with ` ` or another text between them. */
export function joinedLine(lines: readonly CellLine[], between: string): Marked {
  return marked(...lines.flatMap((line, at) => (at === 0 ? [line] : [between, line])));
}

export function partsOf(line: CellLine): readonly Part[] {
  return typeof line === 'string' ? [{ text: line, isWhole: false }] : line.parts;
}

export function plainText(line: CellLine): string {
  return typeof line === 'string' ? line : line.parts.map(({ text }) => text).join('');
}

/** The same line in visible characters. */
export function visibleLine(line: CellLine): CellLine {
  if (typeof line === 'string') return showHidden(line);
  return { parts: line.parts.map(({ text, isWhole }) => ({ text: showHidden(text), isWhole })) };
}

// A subject as people know it: name, serial number, owners and id.

/** What is not known is absent, null or empty. */
export interface Who {
  id: string;
  name?: string | null | undefined;
  serial?: string | null | undefined;
  owners?: readonly string[] | null | undefined;
}

const OWNERS_MAX = 3;

/** `Ana's laptop, C02MQHAHEA, ana@example.com (7d2f…)`, or the id alone. */
export function whoLine(who: Who): Marked {
  const known = [...nameOf(who), ...serialOf(who), ...ownersOf(who)];
  if (known.length === 0) return whole(who.id);
  return marked(joinedLine(known, ', '), ' (', whole(who.id), ')');
}

/** The same, each on a line of its own, for a column. `shown`: the serial number that another cell of the row shows. */
export function whoLines(who: Who, shown?: string): CellLine[] {
  const serial = serialOf(who).filter(() => who.serial !== shown);
  return [
    ...nameOf(who),
    ...serial.map((number) => marked('serial ', number)),
    ...ownersOf(who).map((owner) => (typeof owner === 'string' ? owner : marked('owner ', owner))),
    whole(who.id),
  ];
}

function nameOf({ name, id }: Who): string[] {
  return name && name !== id ? [shownName(name)] : [];
}

function serialOf({ serial, id }: Who): Marked[] {
  return serial && serial !== id ? [whole(serial)] : [];
}

function ownersOf({ owners }: Who): CellLine[] {
  const all = owners ?? [];
  const more = all.length - OWNERS_MAX;
  return [...all.slice(0, OWNERS_MAX).map(whole), ...(more > 0 ? [`and ${more} more`] : [])];
}

// What is said in public of a refused folder, of rules or of organizations. In: its problems, one line each. Out: how
// many, and which lines of which files. INVARIANT: places only: a problem's text quotes values, and names folders of
// the server.

const PLACES_MAX = 5;
const REFUSED_NAME_MAX = 80;

const PLACE = /^(.+?):(\d+):\d+: /;

/** `the folder was refused (2 problems: a.yaml:3, b.yaml:7)`. `place`: the file and the line that a problem begins with. */
export function refusalText(problems: readonly string[], place = PLACE): string {
  return `the folder was refused (${problems.length} problem${problems.length === 1 ? '' : 's'}${placesOf(problems, place)})`;
}

/** What is judged by until the folder is in order. `loaded`: rules of the last good set of this process; `isDaemon`: nobody else judges. */
export function meanwhileText(loaded: number, isDaemon: boolean): string {
  if (!isDaemon) return 'each worker goes on with the last good set that it has read, and without one judges nothing';
  return loaded > 0
    ? `the last good set of ${plural(loaded, 'rule')} stays active`
    : 'no rules are loaded: nothing is judged';
}

/** `: a.yaml:3, b.yaml:7 and 2 more`. */
function placesOf(problems: readonly string[], place: RegExp): string {
  const places = problems.flatMap((line) => {
    const [, file, at] = place.exec(line) ?? [];
    return file === undefined ? [] : `${showHidden(clip(file, REFUSED_NAME_MAX))}:${at}`;
  });
  const shown = [...new Set(places)].slice(0, PLACES_MAX);
  const more = new Set(places).size - shown.length;
  return shown.length === 0 ? '' : `: ${shown.join(', ')}${andMore(more)}`;
}
