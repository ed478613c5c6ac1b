// report: fact values for people: the basis of a decision, one by one.
import { clip, NAME_MAX } from '../domain/clip.ts';
import type { Change } from '../domain/effect.ts';
import type { Fact } from '../domain/facts.ts';
import { isoTime } from '../domain/time-text.ts';
import { epochMsOf } from '../domain/timestamp.ts';

/** A changed value is what a person approves: more of it is shown than of a name. */
const VALUE_MAX = 200;

/** `MdmData.CompromisedStatus = "TRUE"`, one text per fact. Time stamps are also shown as times. */
export function factTexts(facts: { [path: string]: Fact }): string[] {
  return Object.entries(facts).map(([path, value]) => `${path} = ${clip(valueText(value), NAME_MAX)}`);
}

/** `spec.backend.target.port: "80" → "8443"`, one text per change. */
export function changeTexts(changes: readonly Change[]): string[] {
  const side = (value: Fact) => (value === null ? '(none)' : clip(valueText(value), VALUE_MAX));
  return changes.map(({ path, from, to }) => `${path}: ${side(from)} → ${side(to)}`);
}

/** An integer over 2^53 was stored as a string of digits; it is shown as a number. */
function valueText(value: Fact): string {
  if (typeof value === 'bigint' || (typeof value === 'string' && /^\d{16,19}$/.test(value)))
    return `${value}${timeHint(BigInt(value))}`;
  if (typeof value === 'number') return `${value}${timeHint(value)}`;
  return jsonOf(value);
}

function jsonOf(value: Fact): string {
  return JSON.stringify(value, (_key, member) => (typeof member === 'bigint' ? member.toString() : member));
}

const EARLIEST_MS = Date.UTC(2010, 0);
const LATEST_MS = Date.UTC(2100, 0);

/** Only values that can be nothing but a time stamp: ten digits or more, between 2010 and 2100. */
function timeHint(value: number | bigint): string {
  if (value < 1_000_000_000) return '';
  const epochMs = epochMsOf(value);
  if (epochMs === undefined || epochMs < EARLIEST_MS || epochMs > LATEST_MS) return '';
  return ` (${isoTime(Math.floor(epochMs))})`;
}

/** Counts and lists: `1,234`. */
export function countText(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** `1 device`, `2,000 devices`. */
export function plural(count: number, noun: string, nouns = `${noun}s`): string {
  return `${countText(count)} ${count === 1 ? noun : nouns}`;
}
