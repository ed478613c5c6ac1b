// report: fact values for people: the basis of a decision, one by one.
import { ageText, spanText } from '../domain/age-text.ts';
import { clip, NAME_MAX } from '../domain/clip.ts';
import type { Change } from '../domain/effect.ts';
import type { Fact } from '../domain/facts.ts';
import { isoTime } from '../domain/time-text.ts';
import { epochMsOf } from '../domain/timestamp.ts';
import type { Flip } from '../domain/verdict.ts';

/** A changed value is what a person approves: more of it is shown than of a name. */
const VALUE_MAX = 200;

/** `MdmData.CompromisedStatus = "TRUE"`, one text per fact. A time stamp is shown as an age at that time, with its date. */
export function factTexts(facts: { [path: string]: Fact }, atMs: number): string[] {
  return Object.entries(facts).map(([path, value]) => `${path} = ${clip(factText(path, value, atMs), NAME_MAX)}`);
}

/** `it would not match if MdmData.CompromisedStatus were "FALSE"`. Times are ages at `atMs`. */
export function flipWords({ verdict, changes }: Flip, atMs: number): string {
  const values = changes.map(({ fact, to }) =>
    to === undefined ? `${fact} were absent` : factTexts({ [fact]: to }, atMs)[0]?.replace(' = ', ' were '),
  );
  return `it would ${verdict === 'match' ? 'match' : 'not match'} if ${values.join(' and ')}`;
}

/** `spec.backend.target.port: "80" → "8443"`, one text per change. */
export function changeTexts(changes: readonly Change[]): string[] {
  const side = (value: Fact) => (value === null ? '(none)' : clip(valueText(value), VALUE_MAX));
  return changes.map(({ path, from, to }) => `${path}: ${side(from)} → ${side(to)}`);
}

/** What operators give has their text as its name: seconds, or a count. A time stamp of a record has 16 digits or more. */
export function factText(path: string, value: Fact, atMs: number): string {
  if (typeof value === 'number' && path.startsWith('since_last_event(')) return spanText(value * 1_000);
  if (typeof value === 'number' && /^event_(count|distinct)\(/.test(path)) return `${value}`;
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
function numberOf(value: Fact): number | bigint | undefined {
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
