// http: which events a stream shows. In: the kinds that a client asks for. Out: a filter, or what is allowed instead.
import { AUDIT_KINDS, familyOf } from '../../domain/audit-entry.ts';

export interface KindFilter {
  /** Equal for equal filters. */
  key: string;
  /** Of an audit entry, or `progress`. */
  has(kind: string): boolean;
}

const FAMILIES = [...new Set(AUDIT_KINDS.map(familyOf)), 'progress'];
const KNOWN = new Set<string>([...FAMILIES, ...AUDIT_KINDS]);

/** @param text families or kinds, separated by commas; undefined: all. */
export function kindFilter(text: string | undefined): KindFilter {
  if (text === undefined) return { key: '', has: () => true };
  const asked = new Set(text.split(','));
  return { key: [...asked].sort().join(), has: (kind) => asked.has(kind) || asked.has(familyOf(kind)) };
}

/** What is wrong with the text; undefined: nothing. */
export function unknownKind(text: string): string | undefined {
  const unknown = text.split(',').find((name) => !KNOWN.has(name));
  if (unknown === undefined) return undefined;
  const ofFamily = AUDIT_KINDS.filter((kind) => familyOf(kind) === familyOf(unknown));
  const allowed = ofFamily.length > 0 ? [...new Set([familyOf(unknown), ...ofFamily])] : FAMILIES;
  return `must be one or more of ${allowed.join(', ')}, separated by commas`;
}
