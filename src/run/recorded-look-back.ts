// run: the history as rules that look back read it: the changes of a few paths, and which lists were read and trusted. In: a reader of the history.
// Out: what runs saw, in the order of time. It leaves out readings that were not trusted: they hold for their run alone.
import type { LookBackItem, LookBackPaths, LookBackRun, LookBackSource } from '../domain/look-back.ts';
import { type FactChange, type HistoryReader, isMomentary, type RecordedRun } from '../domain/recorded-history.ts';
import { SOURCE_OF, SUBJECT_KINDS, type SubjectKind, type SubjectRef } from '../domain/subjects.ts';

/** `settled`: waits for what is being recorded. */
export function recordedLookBack(
  reader: Pick<HistoryReader, 'items'>,
  settled: () => Promise<void> = async () => {},
): LookBackSource {
  return {
    async *items(paths, fromMs, subject): AsyncIterable<LookBackItem> {
      await settled();
      const wanted = wantedOf(paths, subject);
      for await (const item of reader.items({ fromMs, toMs: Number.MAX_SAFE_INTEGER, facts: paths, factsOnly: true })) {
        if (item.kind === 'run') yield { kind: 'run', run: seenBy(item.run, paths, wanted) };
        else yield { kind: 'anew' };
        if (item.kind !== 'state') continue;
        for await (const facts of item.facts) yield { kind: 'state', facts: facts.filter(wanted) };
      }
    },
  };
}

type Wanted = (change: FactChange) => boolean;

function wantedOf(paths: LookBackPaths, subject: SubjectRef | undefined): Wanted {
  return ({ kind, subject: id, path }) => {
    if (subject && (subject.kind !== kind || subject.id !== id)) return false;
    return path === '' ? paths.has(kind) : (paths.get(kind)?.has(path) ?? false);
  };
}

function seenBy({ frame, changes }: RecordedRun, paths: LookBackPaths, wanted: Wanted): LookBackRun {
  const kinds = SUBJECT_KINDS.filter((kind) => paths.has(kind));
  const read = kinds.filter((kind) => {
    const { state, trusted } = frame.sources[SOURCE_OF[kind]];
    return state === 'read' && trusted;
  });
  const isShown = (kind: SubjectKind, path: string) => frame.shows.get(kind)?.has(path) ?? false;
  return {
    atMs: frame.run.startedAt,
    read: frame.part ? [] : read,
    singly: frame.part?.read.filter(({ kind }) => read.includes(kind)) ?? [],
    changes: changes.filter((change) => wanted(change) && !isMomentary(frame, change.kind)),
    unseen: new Map(
      kinds.map((kind) => [kind, new Set([...pathsOf(paths, kind)].filter((path) => !isShown(kind, path)))]),
    ),
  };
}

const pathsOf = (paths: LookBackPaths, kind: SubjectKind): ReadonlySet<string> => paths.get(kind) ?? new Set();
