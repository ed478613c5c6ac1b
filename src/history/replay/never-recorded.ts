// history: what rules read and the record does not have. In: each run's frame, the world at the end. Out: paths and sources that nobody recorded,
// with the rules that read them; stretches in which the recorded runs did not read a source that other rules need.
import type { HistoryGap, RunFrame } from '../../domain/recorded-history.ts';
import type { Replay } from '../../domain/replay.ts';
import { KIND_OF, SOURCE_OF, type Source, type SubjectKind } from '../../domain/subjects.ts';
import { timeText } from '../../domain/time-text.ts';
import type { LoadedRule } from '../../evaluate/index.ts';
import type { RecordedWorld } from './recorded-world.ts';

interface Unread {
  fromMs: number;
  toMs: number;
}

export class NeverRecorded {
  private readonly needed: ReadonlySet<Source>;
  private readonly read = new Set<Source>();
  private readonly unread = new Map<Source, Unread>();
  private readonly gaps: HistoryGap[] = [];

  constructor(private readonly rules: readonly LoadedRule[]) {
    this.needed = new Set(rules.flatMap(({ sources }) => sources));
  }

  /** A run over all active rules reads what these need: other rules may need more. */
  run({ run: { startedAt, scoped }, sources, part }: RunFrame): void {
    if (scoped || part) return;
    for (const source of this.needed) {
      if (sources[source].state === 'skipped') {
        const { fromMs } = this.unread.get(source) ?? { fromMs: startedAt };
        this.unread.set(source, { fromMs, toMs: startedAt });
      } else {
        this.read.add(source);
        this.endUnread(source);
      }
    }
  }

  /** Stretches without a source that was read at other times. */
  finishGaps(): HistoryGap[] {
    for (const source of [...this.unread.keys()]) if (this.read.has(source)) this.endUnread(source);
    return this.gaps;
  }

  paths(world: RecordedWorld): Replay['neverRecorded'] {
    const rules = new Map<string, Set<string>>();
    const add = (path: string, rule: string) => rules.set(path, (rules.get(path) ?? new Set()).add(rule));
    for (const { id, subject, sources, reads } of this.rules) {
      for (const source of sources) if (!this.read.has(source)) add(source, id);
      const of: [SubjectKind, Iterable<string>][] = [
        [subject, reads.record],
        ['user', reads.users],
        ['device', reads.devices],
      ];
      for (const [kind, paths] of of) {
        if (!this.read.has(SOURCE_OF[kind])) continue;
        for (const path of paths) if (!world.isRecorded(kind, path)) add(path, id);
      }
    }
    return [...rules]
      .map(([path, ids]) => ({ path, rules: [...ids].sort() }))
      .sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  private endUnread(source: Source): void {
    const stretch = this.unread.get(source);
    if (!stretch) return;
    this.unread.delete(source);
    const ids = this.rules.filter(({ sources }) => sources.includes(source)).map(({ id }) => id);
    const when = `from ${timeText(stretch.fromMs)} to ${timeText(stretch.toMs)}`;
    const what = source === 'events' ? 'the event log was' : `${KIND_OF[source]}s were`;
    const text = `${what} not read ${when}: no active rule needed that; rules that do could not be judged: ${ids.join(', ')}`;
    this.gaps.push({ ...stretch, cause: 'not_recorded', text });
  }
}
