// evaluate: which sources a rule needs. In: its subject and what it reads. Out: sources, the subject's own first.

import { SOURCE_OF, type Source, type SubjectKind } from '../../domain/subjects.ts';
import type { Reads } from '../language/reads.ts';

export function sourcesOf(subject: SubjectKind, reads: Reads): Source[] {
  const sources = new Set<Source>([SOURCE_OF[subject]]);
  if (reads.owners) sources.add('users');
  if (reads.joinedDevices) sources.add('devices');
  if (reads.events) sources.add('events');
  return [...sources];
}
