// act: the spec inside a service's record: JSON as text, HTML-escaped by some servers. In: a record as read. Out: the spec
// with its integers exact, ready to be sent back whole. It includes secrets, so it is never stored, logged or audited.
import { parse } from 'lossless-json';
import { type Fact, type Facts, isBeyondTypes, isFacts, own } from '../domain/facts.ts';
import { exactNumber, unescapeHtml } from '../domain/json-in-text.ts';

const TEXT_MAX = 1_000_000;

/** Undefined when the record has no readable spec. */
export function specOfRecord(record: Facts): Facts | undefined {
  return specOf(own(record, 'ServiceSpec'));
}

/** The same for the field's value only. */
export function specOf(text: Fact | undefined): Facts | undefined {
  if (isFacts(text)) return text;
  if (typeof text !== 'string' || text.length > TEXT_MAX) return undefined;
  // Text that parses may contain its own `&amp;`: only text that does not parse was escaped as a whole.
  return parseObject(text) ?? parseObject(unescapeHtml(text));
}

/** A number that cannot be sent back as it came makes the spec unreadable. */
function sendableNumber(digits: string): number | bigint {
  const value = exactNumber(digits);
  if (isBeyondTypes(value)) throw new RangeError('a number that no type can hold');
  return value;
}

function parseObject(text: string): Facts | undefined {
  try {
    // The plain parser does not recurse: text that is nested too deep never reaches the other parser.
    JSON.parse(text);
    const value = parse(text, undefined, sendableNumber) as Fact;
    return isFacts(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
