// base: long texts from outside, made short enough to be read. In: any text. Out: its beginning, cut between whole
// characters, and an ellipsis that marks the cut. JSON never passes here: it has everything.
import type { z } from 'zod';
import { nearestFirst, nearestName } from './nearest-name.ts';

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

// Control (Cc), format (Cf: bidi marks and overrides, zero-width, tags), line separators, halves of surrogate pairs;
// and letters that look like nothing. Joiners (U+200C, U+200D) stay: Persian words and emoji are spelled with them.
const HIDDEN = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|[\u115f\u1160\u2800\u3164\uffa0]/gu;

/** `evil\u202ename` → `evil⟨U+202E⟩name`; a line feed becomes `⟨U+000A⟩`. */
export function spellHidden(text: string): string {
  return text.replace(HIDDEN, (found) => {
    const code = (found.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0');
    return `⟨U+${code}⟩`;
  });
}

/**
 * For a text from outside in a mail or a chat: no program makes a link, an address or a mention of `evil.example`, `https://…` or `@all`. An invisible
 * word joiner stands in between; the text looks as it did.
 */
export function unlinked(text: string): string {
  return text.replace(/[.:](?=[\p{L}/])|@(?=\S)/gu, (found) => `${found}\u2060`);
}

const URL_MAX = 500;

/** As it is: its host in ASCII, so that no letter looks like another one. Undefined for what is no plain address of the web. */
export function plainUrl(text: string | undefined): string | undefined {
  if (text === undefined || !URL.canParse(text)) return undefined;
  const { protocol, username, password, href } = new URL(text);
  return /^https?:$/.test(protocol) && !username && !password && href.length <= URL_MAX ? href : undefined;
}

export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

// The faults that a zod schema found in an input from outside, in words for people.

type Issue = z.core.$ZodIssue;

/** The first issue; for a union, that of the branch that got furthest into the value. */
export function deepest(issues: readonly Issue[], prefix: PropertyKey[] = []): Issue {
  const first = issues[0] as Issue;
  let best: Issue = { ...first, path: [...prefix, ...first.path] };
  if (first.code !== 'invalid_union') return best;
  const outer = best.path;
  for (const branch of first.errors) {
    if (branch.length === 0) continue;
    const inner = deepest(branch, outer);
    if (inner.path.length > best.path.length) best = inner;
  }
  return best;
}

export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    const safe = String(key).slice(0, 100);
    if (typeof key === 'number') return `${text}[${safe}]`;
    return text === '' ? safe : `${text}.${safe}`;
  }, '');
}

/** Unknown members that are named. */
const KEYS_MAX = 20;

/** Follows the name of the faulty value: "must be a string". */
export function wordsOf(issue: Issue, input: unknown): string {
  if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input')) {
    return valueAt(input, issue.path) === undefined ? 'is required' : `must be ${article(issue.expected)}`;
  }
  if (issue.code === 'invalid_value') return choiceWords(issue.values.map(String), valueAt(input, issue.path));
  if (issue.code === 'unrecognized_keys') {
    const shown = issue.keys.slice(0, KEYS_MAX).map((key) => `\`${key.slice(0, 100)}\``);
    const more = issue.keys.length - shown.length;
    const names = more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ');
    return issue.keys.length === 1 ? `has an unknown member: ${names}` : `has unknown members: ${names}`;
  }
  if (issue.code === 'too_small' && issue.message.startsWith('Too small')) {
    return issue.minimum === 1 && !isNumber(issue)
      ? 'must not be empty'
      : `must be at least ${issue.minimum}${unit(issue)}`;
  }
  if (issue.code === 'too_big' && issue.message.startsWith('Too big')) {
    return `must be at most ${issue.maximum}${unit(issue)}`;
  }
  if (issue.code === 'invalid_union' && issue.message === 'Invalid input') return 'is not of the expected form';
  return issue.message;
}

function choiceWords(values: readonly string[], given: unknown): string {
  const written = typeof given === 'string' ? given : '';
  const nearest = nearestName(written, values);
  const all = nearestFirst(written, values).map((each) => `\`${each}\``);
  return nearest === undefined
    ? `must be one of ${all.join(', ')}`
    : `is \`${written}\`: did you mean \`${nearest}\`? It must be one of ${all.join(', ')}`;
}

const isNumber = ({ origin }: { origin: string }): boolean => ['number', 'int', 'bigint'].includes(origin);

function unit(issue: { origin: string }): string {
  if (isNumber(issue)) return '';
  return issue.origin === 'string' ? ' characters long' : ' in number';
}

function article(type: string): string {
  const noun = type === 'record' ? 'object' : type;
  return /^[aeio]/.test(noun) ? `an ${noun}` : `a ${noun}`;
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[key] : undefined,
    input,
  );
}

/** A place of so many, a power of two, for a text that is met again. Its end alone tells: texts of one kind begin alike. */
export function placeOf(text: string, places: number): number {
  const { length } = text;
  let place = length;
  for (let at = Math.max(0, length - 10); at < length; at += 1) place = Math.imul(place, 31) + text.charCodeAt(at);
  return (place ^ (place >>> 13)) & (places - 1);
}

/** 32 bits of a text, for tables of one process. `seed`: secret where somebody could choose texts of one hash. */
export function textHash(text: string, seed = 0): number {
  let hash = seed;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 16)) >>> 0;
}
