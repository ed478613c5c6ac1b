// history: a reader that counts, while a replay reads it, how many subjects the runs listed. In: a reader. Out: the same items, and the most
// subjects of each kind in one whole and trusted list.
import type { HistoryReader } from '../../domain/recorded-history.ts';
import { SOURCE_OF, SUBJECT_KINDS, type SubjectKind } from '../../domain/subjects.ts';

export function countingReader(reader: HistoryReader): {
  reader: HistoryReader;
  subjects: Readonly<Record<SubjectKind, number>>;
} {
  const subjects = { device: 0, user: 0, service: 0 };
  const counting: HistoryReader = {
    async *items(query) {
      for await (const item of reader.items(query)) {
        if (item.kind === 'run' && item.run.frame.part === undefined) {
          for (const kind of SUBJECT_KINDS) {
            const { state, trusted, count } = item.run.frame.sources[SOURCE_OF[kind]];
            if (state === 'read' && trusted) subjects[kind] = Math.max(subjects[kind], count);
          }
        }
        yield item;
      }
    },
    span: () => reader.span(),
    factsAt: (subject, atMs) => reader.factsAt(subject, atMs),
    changesOf: (subject, fromMs, toMs) => reader.changesOf(subject, fromMs, toMs),
    ruleSet: (hash) => reader.ruleSet(hash),
  };
  return { reader: counting, subjects };
}
