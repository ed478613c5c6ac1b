// base: canonical JSON: one byte sequence for one value, for digests, the audit chain and stored documents.
// Keys are sorted by code unit, big integers become strings of digits, undefined members are left out. ±Infinity is a
// number that the API wrote and no type can hold: it stays one, as `1e999`.

/**
 * Canonical JSON text of a value. Throws a TypeError for what JSON cannot express (functions, NaN, cycles by depth).
 */
export function canonicalJson(value: unknown): string {
  return write(value, 0);
}

/** The same value as plain JSON data: big integers as strings of digits. */
export function plainJson(value: unknown): unknown {
  return JSON.parse(canonicalJson(value));
}

const DEPTH_MAX = 200;

function write(value: unknown, depth: number): string {
  if (depth > DEPTH_MAX) throw new TypeError(`value is nested deeper than ${DEPTH_MAX} levels`);
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'bigint':
      return `"${value}"`;
    case 'number':
      if (Number.isNaN(value)) throw new TypeError('NaN cannot be stored');
      return Number.isFinite(value) ? JSON.stringify(value) : value > 0 ? '1e999' : '-1e999';
    case 'object':
      return value === null ? 'null' : writeObject(value, depth);
    default:
      throw new TypeError(`a value of type ${typeof value} cannot be stored`);
  }
}

function writeObject(value: object, depth: number): string {
  if (Array.isArray(value)) return `[${value.map((item) => write(item ?? null, depth + 1)).join(',')}]`;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, member]) => `${JSON.stringify(key)}:${write(member, depth + 1)}`);
  return `{${members.join(',')}}`;
}

// A value as JSON in pieces: `JSON.stringify` of a whole report would stop everything else.

/** Values and characters that one piece is made of. */
const PIECE_MAX = 8_192;

/** `indent`: spaces for each level; 0 writes one line. */
export function* jsonPieces(value: unknown, indent = 0, level = 0): Generator<string> {
  if (typeof value !== 'object' || value === null || weightOf(value, PIECE_MAX) < PIECE_MAX) {
    yield wholeJson(value, indent, level);
    return;
  }
  const isList = Array.isArray(value);
  const members = isList ? value.map((member): [undefined, unknown] => [undefined, member ?? null]) : membersOf(value);
  const [outer, inner] = [level, level + 1].map((depth) => (indent === 0 ? '' : `\n${' '.repeat(indent * depth)}`));
  const colon = indent === 0 ? ':' : ': ';
  let before = isList ? '[' : '{';
  for (const [name, member] of members) {
    yield `${before}${inner}${name === undefined ? '' : `${JSON.stringify(name)}${colon}`}`;
    yield* jsonPieces(member, indent, level + 1);
    before = ',';
  }
  yield `${outer}${isList ? ']' : '}'}`;
}

function membersOf(value: object): [string, unknown][] {
  return Object.entries(value).filter(([, member]) => member !== undefined);
}

function wholeJson(value: unknown, indent: number, level: number): string {
  const text = JSON.stringify(value, (_key, member) => (typeof member === 'bigint' ? `${member}` : member), indent);
  // A line feed inside of a string is written as `\n`: all others are those of the indentation.
  return indent === 0 ? text : text.replaceAll('\n', `\n${' '.repeat(indent * level)}`);
}

/** Values and characters of a tree, counted up to `max`. */
function weightOf(value: unknown, max: number): number {
  if (typeof value === 'string') return 1 + value.length;
  if (typeof value !== 'object' || value === null) return 1;
  let weight = 1;
  const count = (member: unknown) => {
    weight += weightOf(member, max - weight);
    return weight >= max;
  };
  if (Array.isArray(value)) value.some(count);
  else for (const name in value) if (count((value as Record<string, unknown>)[name])) break;
  return weight;
}
