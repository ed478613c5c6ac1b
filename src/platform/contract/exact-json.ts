// management contract: JSON whose integers come through exactly, up to 400 digits; `JSON.parse` rounds those beyond 2^53.
// In: JSON text, hostile. Out: plain values, such integers as bigint; and text again with the same digits. It must
// never change a string that only looks like a number, touch a prototype, overflow the stack, or quote its input.
import { parse as parseLossless } from 'lossless-json';
import { AppError } from '../../domain/errors.ts';
import { DIGITS_MAX } from '../../domain/facts.ts';

/** No record nests this deep; anything deeper is an attack on the stack. */
export const DEPTH_MAX = 200;

/**
 * Parses JSON text. Integers beyond ±(2^53 − 1) become bigint; every other number is as `JSON.parse` gives it, which is
 * ±Infinity for one of more than 400 digits.
 * Errors: AppError `api_answer`, `detail.cause` `garbage` (not JSON) or `too_deep`.
 */
export function parseExact(text: string): unknown {
  if (mayHoldMark(text) || hasEscapedKey(text)) return parseSlowly(text);
  const integers = findIntegers(text);
  if (integers === undefined) return parseSlowly(text);
  const value = parsePlain(integers.length === 0 ? text : markIntegers(text, integers));
  return restore(value);
}

/** Writes JSON text: bigints as their digits, everything else as `JSON.stringify` does, `undefined` as null. */
export function stringifyExact(value: unknown): string {
  let count = 0;
  const marked = JSON.stringify(value, (_key, member: unknown) => {
    if (typeof member !== 'bigint') return member;
    count++;
    return `${MARK}${member}`;
  });
  if (marked === undefined) return 'null';
  if (count === 0) return marked;
  // More marks than bigints: some text holds the mark itself, and could pass for a number.
  if (countMarks(marked) !== count) return writeSlowly(value, 0) ?? 'null';
  return marked.replace(MARKED_INTEGER, '$1');
}

// DEL cannot be a digit's neighbour in honest data; where it occurs at all, in any spelling, the slow way is taken.
const MARK = '\x7f';
const OPEN = `"${MARK}`;
const MARKED_INTEGER = new RegExp(`"${MARK}(-?\\d+)"`, 'g');

function mayHoldMark(text: string): boolean {
  return text.includes(MARK) || text.includes('\\u007f') || text.includes('\\u007F');
}

/**
 * V8 of Node 24 takes a key with an escape for one that it met before, when that one is how the key's text begins:
 * after the key `"\\u"` it reads the key `"\u0078y"` as `\u`.
 */
function hasEscapedKey(text: string): boolean {
  let at = text.indexOf('\\');
  while (at >= 0) {
    const close = endOfString(text, at);
    let after = close + 1;
    while (isSpace(text.charCodeAt(after))) after++;
    if (text.charCodeAt(after) === COLON) return true;
    at = text.indexOf('\\', after);
  }
  return false;
}

// 2^53 − 1 has 16 digits: no shorter run of digits can lose any.
const DIGITS_MIN = 16;

/**
 * Where the long integers are: start and end by turns; `undefined` when one is no JSON and marking would mend it.
 * A run of 16 digits covers every index divisible by 16 once, so that only those are looked at.
 */
function findIntegers(text: string): number[] | undefined {
  const found: number[] = [];
  const length = text.length;
  let outside = 0; // a place known to be outside any string; it only moves forward, so that all walks together are one
  let at = DIGITS_MIN - 1;
  while (at < length) {
    if (!isDigit(text.charCodeAt(at))) {
      at += DIGITS_MIN;
      continue;
    }
    let start = at;
    while (start > 0 && isDigit(text.charCodeAt(start - 1))) start--;
    let end = at + 1;
    while (end < length && isDigit(text.charCodeAt(end))) end++;
    if (end - start >= DIGITS_MIN && end - start <= DIGITS_MAX) {
      if (text.charCodeAt(start - 1) === MINUS) start--;
      const kind = describeKind(text, start, end);
      if (kind === 'malformed') return undefined;
      if (kind === 'doubtful') outside = walkOutside(text, outside, start);
      if (kind === 'integer' || (kind === 'doubtful' && outside === start)) {
        found.push(start, end);
        outside = end;
      }
    }
    at = end + DIGITS_MIN - 1; // `end` is not a digit: the next run begins after it, at the earliest
  }
  return found;
}

/**
 * The first place outside strings from `place` on: `place` itself, or where the string ends in which it stands. Walks from
 * string to string, from a place that is outside: mostly a few strings on, since every record has long integers.
 */
function walkOutside(text: string, outside: number, place: number): number {
  let at = outside;
  // Not by indexOf, which would look for a quote past the place, again and again.
  while (at < place) at = text.charCodeAt(at) === QUOTE ? endOfString(text, at) + 1 : at + 1;
  return at;
}

/** The closing quote of the string that opens at `open`; the end of a text that never closes it. */
function endOfString(text: string, open: number): number {
  let close = open;
  do {
    close = text.indexOf('"', close + 1);
  } while (close >= 0 && isEscaped(text, close));
  return close < 0 ? text.length : close;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(at - 1 - backslashes) === 0x5c) backslashes++;
  return backslashes % 2 === 1;
}

const QUOTE = 0x22;
const MINUS = 0x2d;
const COLON = 0x3a;

/**
 * Whether digits are a member's whole number or stand inside a string; proven for valid JSON, otherwise doubtful.
 *
 * 1. Outside strings a number is followed by white space, `,`, `]`, `}` or the end, and preceded by white space, `[`,
 *    `,`, `:` or the beginning. Digits with another neighbour are text, or part of a fraction or an exponent. (A
 *    quote directly before is of this kind: after a closing quote no digit can follow, so it opened the string.)
 * 2. Let the digits follow `X" :`, X being a letter, digit, `_`, `.`, `$` or `-`. No backslash stands before that
 *    quote, so it is no escaped one: it opens or closes a string. It cannot open one, since outside strings X is
 *    the end of a number or a word, and no quote may follow those. So it closes one: the digits stand outside.
 *
 * Text that is not valid stays so when marked: a parser is in the same state before that quote in either text; outside
 * a string it refuses the quote after X in both, inside one the quote closes it and case 2 holds, and there a marked
 * string is as good a value as the number was. Only a leading zero would be mended by marking: it is malformed.
 */
function describeKind(text: string, start: number, end: number): 'integer' | 'text' | 'doubtful' | 'malformed' {
  if (!mayEndNumber(text, end) || !mayBeginNumber(text, start)) return 'text';
  if (hasLeadingZero(text, start)) return 'malformed';
  let at = skipSpaceBack(text, start - 1);
  if (text.charCodeAt(at) !== COLON) return 'doubtful';
  at = skipSpaceBack(text, at - 1);
  if (text.charCodeAt(at) !== QUOTE) return 'doubtful';
  return isNameCharacter(text.charCodeAt(at - 1)) ? 'integer' : 'doubtful';
}

function hasLeadingZero(text: string, start: number): boolean {
  return text.charCodeAt(text.charCodeAt(start) === MINUS ? start + 1 : start) === 0x30;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function isNameCharacter(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) ||
    (code >= 0x41 && code <= 0x5a) ||
    isDigit(code) ||
    code === 0x5f ||
    code === 0x2e ||
    code === 0x24 ||
    code === MINUS
  );
}

function mayEndNumber(text: string, end: number): boolean {
  if (end === text.length) return true;
  const code = text.charCodeAt(end);
  return code === 0x2c || code === 0x7d || code === 0x5d || isSpace(code);
}

function mayBeginNumber(text: string, start: number): boolean {
  if (start === 0) return true;
  const code = text.charCodeAt(start - 1);
  return code === COLON || code === 0x2c || code === 0x5b || isSpace(code);
}

function skipSpaceBack(text: string, from: number): number {
  let at = from;
  while (at >= 0 && isSpace(text.charCodeAt(at))) at--;
  return at;
}

function markIntegers(text: string, integers: readonly number[]): string {
  let marked = '';
  let last = 0;
  for (let index = 0; index < integers.length; index += 2) {
    const start = integers[index] as number;
    const end = integers[index + 1] as number;
    marked += `${text.slice(last, start)}${OPEN}${text.slice(start, end)}"`;
    last = end;
  }
  return marked + text.slice(last);
}

function parsePlain(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, which may hold a secret.
    throw new AppError('api_answer', 'it is not valid JSON', { detail: { cause: 'garbage' } });
  }
}

/** Turns marked strings into integers, in place. Recursion is bounded by DEPTH_MAX. */
function restore(value: unknown): unknown {
  if (typeof value === 'string') return isMarked(value) ? toInteger(value.slice(1)) : value;
  if (typeof value === 'object' && value !== null) restoreMembers(value as Container, 1);
  return value;
}

type Container = unknown[] | Record<string, unknown>;

function restoreMembers(container: Container, depth: number): void {
  if (depth > DEPTH_MAX) throw tooDeep();
  if (Array.isArray(container)) {
    for (let index = 0; index < container.length; index++) {
      const item = container[index];
      if (typeof item === 'object' && item !== null) restoreMembers(item as Container, depth + 1);
      else if (typeof item === 'string' && isMarked(item)) container[index] = toInteger(item.slice(1));
    }
    return;
  }
  for (const key in container) {
    const member = container[key];
    if (typeof member === 'string') {
      // An own property of that name exists, `__proto__` too, so that this writes to it and to nothing else.
      if (isMarked(member)) container[key] = toInteger(member.slice(1));
    } else if (typeof member === 'object' && member !== null) restoreMembers(member as Container, depth + 1);
  }
}

function checkDepth(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth >= DEPTH_MAX) throw tooDeep();
  for (const member of Object.values(value)) checkDepth(member, depth + 1);
}

function isMarked(text: string): boolean {
  return text.charCodeAt(0) === 0x7f;
}

function tooDeep(): AppError {
  return new AppError('api_answer', `it is nested deeper than ${DEPTH_MAX} levels`, { detail: { cause: 'too_deep' } });
}

function toInteger(digits: string): number | bigint {
  if (digits.length > 17) return BigInt(digits); // the usual case: 19 digits, spared a second reading
  const value = Number(digits);
  return Number.isSafeInteger(value) ? value : BigInt(digits);
}

const INTEGER = new RegExp(`^-?\\d{1,${DIGITS_MAX}}$`);

function parseSlowly(text: string): unknown {
  // First the plain parser, which does not recurse: what is not JSON or too deep never reaches the other.
  checkDepth(parsePlain(text), 0);
  return parseLossless(text, undefined, {
    parseNumber: (digits) => (INTEGER.test(digits) ? toInteger(digits) : Number(digits)),
    onDuplicateKey: ({ newValue }) => newValue,
  });
}

function countMarks(text: string): number {
  let count = 0;
  for (let at = text.indexOf(MARK); at >= 0; at = text.indexOf(MARK, at + 1)) count++;
  return count;
}

function writeSlowly(value: unknown, depth: number): string | undefined {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (depth > DEPTH_MAX) throw new TypeError(`value is nested deeper than ${DEPTH_MAX} levels`);
  if (Array.isArray(value)) return `[${value.map((item) => writeSlowly(item, depth + 1) ?? 'null').join(',')}]`;
  if ('toJSON' in value) return JSON.stringify(value);
  const members: string[] = [];
  for (const [key, member] of Object.entries(value)) {
    const text = writeSlowly(member, depth + 1);
    if (text !== undefined) members.push(`${JSON.stringify(key)}:${text}`);
  }
  return `{${members.join(',')}}`;
}
