// evaluate: fields that a rule declares, added to its subject's schema (or to the event's, under `event.`).
// In: paths and type names. Out: the widened schemas. A known field cannot be declared with another type.
import type { SubjectKind } from '../../domain/subjects.ts';
import type { Problems } from '../language/problem.ts';
import {
  BOOLEAN,
  type Field,
  FLAG,
  fieldAt,
  listOf,
  NUMBER,
  SCORE,
  TEXT,
  typeName,
  type ValueType,
} from '../record-types/field-types.ts';
import { recordType } from '../record-types/index.ts';
import type { RuleFile } from './rule-format.ts';

const TYPES: Record<RuleFile['declares'][string], ValueType> = {
  text: TEXT,
  version: { kind: 'text', style: 'version' },
  flag: FLAG,
  boolean: BOOLEAN,
  number: NUMBER,
  score: SCORE,
  time: { kind: 'time', unit: 'any' },
  time_ns: { kind: 'time', unit: 'ns' },
  time_ms: { kind: 'time', unit: 'ms' },
  time_s: { kind: 'time', unit: 's' },
  texts: listOf(TEXT),
  numbers: listOf(NUMBER),
};

export function declareFields(
  subject: SubjectKind,
  declares: RuleFile['declares'],
  problems: Problems,
): { root: ValueType; eventRoot: ValueType } {
  let root: ValueType = recordType(subject);
  let eventRoot: ValueType = recordType('event');
  for (const [path, name] of Object.entries(declares)) {
    const ofEvent = path.startsWith('event.');
    const segments = (ofEvent ? path.slice('event.'.length) : path).split('.');
    if (segments.some((segment) => segment === '') || segments[0]?.startsWith('$') || segments.length > 8) {
      problems.add(
        'path',
        ['declares', path],
        `\`${path}\` is no path of a field; write it as \`Name\` or \`Part.Name\``,
      );
      continue;
    }
    const type = TYPES[name];
    const known = fieldAt(ofEvent ? eventRoot : root, segments);
    if (known && known.type.kind !== 'any' && known.type.kind !== type.kind) {
      problems.add('type', ['declares', path], `\`${path}\` is known already, as ${typeName(known.type)}`);
    } else if (!known || hasKnownValues(known.type)) {
      const widened = widen(ofEvent ? eventRoot : root, segments, type);
      if (!widened)
        problems.add('path', ['declares', path], `\`${path}\` cannot be declared: a part of it is no record`);
      else if (ofEvent) eventRoot = widened;
      else root = widened;
    }
  }
  return { root, eventRoot };
}

/** Declaring such a field means that the server has other values for it. */
function hasKnownValues(type: ValueType): boolean {
  return type.kind === 'text' && type.values !== undefined;
}

/** The schema with one field added or changed; undefined when a part of the path is not a record. */
function widen(type: ValueType, segments: readonly string[], leaf: ValueType): ValueType | undefined {
  const [first, ...rest] = segments;
  if (first === undefined) return leaf;
  if (type.kind !== 'record') return undefined;
  const before = type.fields.get(first);
  const inner = widen(before?.type ?? { kind: 'record', fields: new Map() }, rest, leaf);
  if (!inner) return undefined;
  const field: Field = { ...before, type: inner };
  return { kind: 'record', fields: new Map([...type.fields, [first, field]]) };
}
