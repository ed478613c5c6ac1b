// domain: canonical JSON: one byte sequence for one value, for digests, the audit chain and stored documents.
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
