// evaluate: which sources a rule needs. In: its subject and what it reads. Out: sources, the subject's own first.

import { SOURCE_OF, type Source, type SubjectKind } from '../../domain/subjects.ts';
import type { Reads } from '../language/reads.ts';
import type { RuleFile } from './rule-format.ts';

export function sourcesOf(subject: SubjectKind, reads: Reads): Source[] {
  const sources = new Set<Source>([SOURCE_OF[subject]]);
  if (reads.owners) sources.add('users');
  if (reads.joinedDevices) sources.add('devices');
  if (reads.events) sources.add('events');
  return [...sources];
}

/** By kind: a part of the record and the platform's time of it; the empty part is the whole record. */
const PLATFORM_TIMES: Record<SubjectKind, readonly (readonly [part: string, time: string])[]> = {
  device: [
    ['MdmData', 'MdmData.Timestamp'],
    ['TrustData', 'TrustData.UpdatedAt'],
  ],
  user: [['TrustData', 'TrustData.UpdatedAt']],
  service: [['', 'LastUpdatedAt']],
};

/**
 * The times that date what a rule reads: those of `fresh`, or else the platform's own of the parts of the record that it reads. What it reads
 * beyond the record, or only looks back on, has none.
 */
export function reportTimesOf({ fresh, subject }: Pick<RuleFile, 'fresh' | 'subject'>, reads: Reads): string[] {
  const named = Object.keys(fresh);
  if (named.length > 0) return named;
  const read = [...reads.places.keys()].filter((path) => path !== '$now' && !reads.lookBack.has(path));
  return PLATFORM_TIMES[subject].flatMap(([part, time]) =>
    read.some((path) => part === '' || path === part || path.startsWith(`${part}.`)) ? [time] : [],
  );
}
