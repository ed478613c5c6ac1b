// domain: a value as JSON in pieces: `JSON.stringify` of a whole report would stop everything else. In: plain data. Out:
// the same text as one call writes, in pieces of bounded work. Integers that JSON numbers cannot hold become strings of
// digits.

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
