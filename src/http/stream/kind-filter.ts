// http: which events a stream shows. In: the kinds and rules that a client asks for. Out: a filter, or what is allowed instead.
import { AUDIT_KINDS, familyOf } from '../../domain/audit-entry.ts';
import { LIVE_EVENTS } from '../../domain/live-event.ts';

export interface KindFilter {
  /** Equal for equal filters. */
  key: string;
  /** Of an audit entry, `outcome` or `progress`. */
  has(kind: string): boolean;
  /** Whether events of these rules are shown. */
  hasRule(rules: readonly string[]): boolean;
  /** Whether it shows decisions or outcomes, whose records are read for it. */
  hasRecords: boolean;
}

const LIVE: readonly string[] = LIVE_EVENTS;
const FAMILIES = [...new Set([...AUDIT_KINDS.map(familyOf), 'outcome', 'progress'])];
const KNOWN = new Set<string>([...FAMILIES, ...AUDIT_KINDS]);

/**
 * @param text families or kinds, separated by commas; undefined: all.
 * @param rules ids, separated by commas: only decisions and outcomes of these; undefined: of all rules, and everything else.
 */
export function kindFilter(text: string | undefined, rules?: string): KindFilter {
  const asked = text === undefined ? undefined : new Set(text.split(','));
  const named = rules === undefined ? undefined : new Set(rules.split(','));
  const has = (kind: string) =>
    (named === undefined || LIVE.includes(familyOf(kind))) &&
    (asked === undefined || asked.has(kind) || asked.has(familyOf(kind)));
  return {
    key: JSON.stringify([asked && [...asked].sort(), named && [...named].sort()]),
    has,
    hasRule: (of) => named === undefined || of.some((rule) => named.has(rule)),
    hasRecords: has('decision.made') || has('outcome'),
  };
}

/** What is wrong with the text; undefined: nothing. */
export function unknownKind(text: string): string | undefined {
  const unknown = text.split(',').find((name) => !KNOWN.has(name));
  if (unknown === undefined) return undefined;
  const ofFamily = AUDIT_KINDS.filter((kind) => familyOf(kind) === familyOf(unknown));
  const allowed = ofFamily.length > 0 ? [...new Set([familyOf(unknown), ...ofFamily])] : FAMILIES;
  return `must be one or more of ${allowed.join(', ')}, separated by commas`;
}

/** Whether all of these kinds have rules. */
export function areOfRules(kinds: string): boolean {
  return kinds.split(',').every((kind) => LIVE.includes(familyOf(kind)));
}
