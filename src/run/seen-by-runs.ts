// run: recorded runs as rules that look back take them over, one after another. In: runs of the history. Out: what each saw of a few paths.
// It leaves out readings that were not trusted: they hold for their run alone. INVARIANT: a live run takes over the same.
import type { LookBackPaths, LookBackRun } from '../domain/look-back.ts';
import { type FactChange, isMomentary, type RecordedRun } from '../domain/recorded-history.ts';
import { SOURCE_OF, SUBJECT_KINDS, type SubjectKind, type SubjectRef } from '../domain/subjects.ts';

export class SeenByRuns {
  private readonly kinds: readonly SubjectKind[];
  /** Changes that no run has taken over yet. */
  private later: FactChange[] = [];

  /** `only`: absent: all subjects. */
  constructor(
    private readonly paths: LookBackPaths,
    private readonly only?: SubjectRef,
  ) {
    this.kinds = SUBJECT_KINDS.filter((kind) => paths.has(kind));
  }

  /** Of other paths and subjects, nothing is kept. */
  wanted(changes: Iterable<FactChange>): FactChange[] {
    return [...this.wantedOf(changes)];
  }

  private *wantedOf(changes: Iterable<FactChange>): Iterable<FactChange> {
    const { paths, only } = this;
    for (const change of changes) {
      const { kind, subject, path } = change;
      if (only && (only.kind !== kind || only.id !== subject)) continue;
      if (path === '' ? paths.has(kind) : paths.get(kind)?.has(path)) yield change;
    }
  }

  /** What the next run that reads these subjects sees. */
  willSee(changes: Iterable<FactChange>): void {
    for (const change of this.wantedOf(changes)) this.later.push(change);
  }

  /** All facts are given anew. */
  begin(): void {
    this.later = [];
  }

  /**
   * A look also records who is joined to its subjects: rules see these, and the next whole run takes them over. `sources`: as these rules trust them.
   */
  take(
    { frame, changes }: Pick<RecordedRun, 'frame' | 'changes'>,
    sources: RecordedRun['frame']['sources'] = frame.sources,
  ): LookBackRun {
    const { part, run } = frame;
    const read = this.kinds.filter((kind) => {
      const { state, trusted } = frame.sources[SOURCE_OF[kind]];
      return state === 'read' && trusted && sources[SOURCE_OF[kind]].trusted;
    });
    const singly = part?.read.filter(({ kind }) => read.includes(kind)) ?? [];
    const own = part && new Set(singly.map(({ kind, id }) => `${kind} ${id}`));
    const isSeen = ({ kind, subject }: FactChange) => (own ? own.has(`${kind} ${subject}`) : read.includes(kind));
    for (const change of this.wantedOf(changes)) if (!isMomentary(frame, change.kind)) this.later.push(change);
    const seen = this.later.filter(isSeen);
    if (this.later.length > 0) this.later = this.later.filter((change) => !isSeen(change));
    const isShown = (kind: SubjectKind, path: string) => frame.shows.get(kind)?.has(path) ?? false;
    const unseen = this.kinds.map(
      (kind) => [kind, new Set([...(this.paths.get(kind) ?? [])].filter((path) => !isShown(kind, path)))] as const,
    );
    return { atMs: run.startedAt, read: part ? [] : read, singly, changes: seen, unseen: new Map(unseen) };
  }
}
