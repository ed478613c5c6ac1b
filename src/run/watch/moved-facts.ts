// run: whether one fact moves the same way in many subjects. In: new matches, the matches since the last whole run. Out: which facts
// moved, and in how many. A fact that moves in a whole fleet is more often a broken report than a thousand attacks. Pure.
import { canonicalJson } from '../../domain/canonical.ts';
import type { Fact } from '../../domain/facts.ts';
import type { SourceReading } from '../../domain/snapshot.ts';
import { SOURCE_OF, type Source, type SubjectKind } from '../../domain/subjects.ts';
import type { NewMatch } from '../../domain/watch-store.ts';
import type { TrustSettings } from '../../pull/trust-gate.ts';

export interface MovedFact {
  kind: SubjectKind;
  path: string;
  subjects: number;
}

const TIME = /^\d{4}-\d\d-\d\d[T ]/;

export function movedFacts(matches: readonly NewMatch[]): MovedFact[] {
  const moved = new Map<string, { kind: SubjectKind; path: string; ids: Set<string> }>();
  for (const { subject, facts } of matches) {
    for (const [path, value] of Object.entries(facts)) {
      const key = canonicalJson([subject.kind, path, way(value)]);
      const known = moved.get(key) ?? { kind: subject.kind, path, ids: new Set() };
      moved.set(key, known);
      known.ids.add(subject.id);
    }
  }
  return [...moved.values()].map(({ kind, path, ids }) => ({ kind, path, subjects: ids.size }));
}

/** Amounts and times differ from subject to subject, however they move. */
function way(value: Fact): Fact {
  const isAmount = typeof value === 'number' || typeof value === 'bigint';
  return isAmount || (typeof value === 'string' && TIME.test(value)) ? null : value;
}

/** In how many subjects a fact may move before the trust gate would refuse the whole list for it. */
export function movedAllowed(
  { kind }: MovedFact,
  sources: Record<Source, SourceReading>,
  { movedPoints, movedRecords }: Pick<TrustSettings, 'movedPoints' | 'movedRecords'>,
): number {
  return Math.max(movedRecords, Math.floor((movedPoints / 100) * sources[SOURCE_OF[kind]].count));
}
