// run: the history as rules that look back read it: the changes of a few paths, and which lists were read and trusted. In: a reader of the history.
// Out: what runs saw, in the order of time. It leaves out readings that were not trusted: they hold for their run alone.
import type { LookBackItem, LookBackPaths, LookBackRun, LookBackSource } from '../domain/look-back.ts';
import type { FactChange, HistoryReader, RecordedRun } from '../domain/recorded-history.ts';
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
        if (item.kind === 'run') yield { kind: 'run', run: seenBy(item.run, wanted) };
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

function seenBy({ frame, changes }: RecordedRun, wanted: Wanted): LookBackRun {
  const isTrusted = (kind: SubjectKind) => {
    const reading = frame.sources[SOURCE_OF[kind]];
    return reading.state === 'read' && reading.trusted;
  };
  const held = changes.filter((change) => wanted(change) && isTrusted(change.kind));
  const atMs = frame.run.startedAt;
  if (!frame.part) return { atMs, read: SUBJECT_KINDS.filter(isTrusted), singly: [], changes: held };
  const singly = frame.part.read;
  const read = new Set(singly.map(({ kind, id }) => `${kind} ${id}`));
  return { atMs, read: [], singly, changes: held.filter(({ kind, subject }) => read.has(`${kind} ${subject}`)) };
}
