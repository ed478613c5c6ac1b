// evaluate: the types that facts and expressions have, and how a path is looked up in a record's schema.
// In: a schema and a path. Out: the field's type, or undefined. Nothing here looks at data.

/** The unit of a timestamp. `any`: known by its magnitude when it is read. */
export type TimeUnit = 'ns' | 'ms' | 's' | 'any';

export type ValueType =
  | { kind: 'boolean' }
  /** The result of `and` and `or` over lists. Can only stand where a condition is expected. */
  | { kind: 'condition' }
  /** `values`: the known ones (not a closed set). `style`: texts that must not be compared as plain text. */
  | { kind: 'text'; values?: readonly string[]; style?: 'version' | 'groups' }
  /** `"TRUE"` or `"FALSE"`. An empty flag is unknown. */
  | { kind: 'flag' }
  | { kind: 'number' }
  /** A trust score, 0 to 100. */
  | { kind: 'score' }
  | { kind: 'time'; unit: TimeUnit }
  /** Seconds, as `age` and `since_last_event` give. */
  | { kind: 'seconds' }
  | { kind: 'list'; of: ValueType }
  | { kind: 'record'; fields: RecordFields }
  /** Not known yet: takes the type that its use expects. */
  | { kind: 'any' }
  /** The type of a part that was refused: silences errors that only follow from it. */
  | { kind: 'refused' };

export interface Field {
  type: ValueType;
  /** The specification gives it in the unpaged list only. */
  unpagedOnly?: true;
}
export type RecordFields = ReadonlyMap<string, Field>;

export const BOOLEAN: ValueType = { kind: 'boolean' };
export const TEXT: ValueType = { kind: 'text' };
export const FLAG: ValueType = { kind: 'flag' };
export const NUMBER: ValueType = { kind: 'number' };
export const SCORE: ValueType = { kind: 'score' };
export const SECONDS: ValueType = { kind: 'seconds' };
export const ANY: ValueType = { kind: 'any' };
export const REFUSED: ValueType = { kind: 'refused' };
export const TIME_NS: ValueType = { kind: 'time', unit: 'ns' };

export const listOf = (of: ValueType): ValueType => ({ kind: 'list', of });
export const textOf = (...values: string[]): ValueType => ({ kind: 'text', values });
export const recordOf = (fields: { [name: string]: ValueType }): ValueType & { kind: 'record' } => ({
  kind: 'record',
  fields: fieldsOf(fields),
});
export const fieldsOf = (fields: { [name: string]: ValueType }): RecordFields =>
  new Map(Object.entries(fields).map(([name, type]) => [name, { type }]));

/** The field at a path inside a type; list elements by number (`Roles.0`). Undefined when there is none. */
export function fieldAt(type: ValueType, segments: readonly string[]): Field | undefined {
  let field: Field = { type };
  let unpagedOnly = false;
  for (const segment of segments) {
    const next = childOf(field.type, segment);
    if (!next) return undefined;
    unpagedOnly ||= next.unpagedOnly === true;
    field = next;
  }
  return unpagedOnly ? { type: field.type, unpagedOnly: true } : field;
}

function childOf(type: ValueType, segment: string): Field | undefined {
  if (type.kind === 'record') return type.fields.get(segment);
  if (type.kind === 'list' && /^(0|[1-9]\d{0,5})$/.test(segment)) return { type: type.of };
  if (type.kind === 'any') return { type: ANY };
  return undefined;
}

/** Every path of a type, for suggestions: `MdmData`, `MdmData.Timestamp`, … Lists are not entered. */
export function pathsOf(type: ValueType, prefix = ''): string[] {
  if (type.kind !== 'record') return [];
  const paths: string[] = [];
  for (const [name, field] of type.fields) {
    paths.push(prefix + name, ...pathsOf(field.type, `${prefix}${name}.`));
  }
  return paths;
}

/** A type in the words that messages use. */
export function typeName(type: ValueType): string {
  switch (type.kind) {
    case 'text':
      return type.style === 'version'
        ? 'a version'
        : type.style === 'groups'
          ? 'a list of groups in one text'
          : 'a text';
    case 'flag':
      return 'a flag ("TRUE" or "FALSE")';
    case 'boolean':
    case 'condition':
      return 'a boolean';
    case 'number':
      return 'a number';
    case 'score':
      return 'a trust score (0 to 100)';
    case 'time':
      return type.unit === 'any' ? 'a timestamp' : `a timestamp in ${UNIT_NAMES[type.unit]}`;
    case 'seconds':
      return 'a time span in seconds';
    case 'list':
      return `a list${type.of.kind === 'any' || type.of.kind === 'refused' ? '' : ` (of ${typeName(type.of).replace(/^an? /, '')}s)`}`;
    case 'record':
      return 'a record';
    default:
      return 'of unknown type';
  }
}

export const UNIT_NAMES = { ns: 'nanoseconds', ms: 'milliseconds', s: 'seconds', any: 'any unit' } as const;
