// run: the history as rules that look back read it: the changes of a few paths, and which lists were read and trusted. In: a reader of the history.
// Out: what runs saw, in the order of time.
import {
  LOOK_BACK_GAP_MS,
  type LookBack,
  type LookBackItem,
  type LookBackPaths,
  type LookBackSource,
} from '../domain/look-back.ts';
import type { HistoryReader, RunFrame } from '../domain/recorded-history.ts';
import type { SubjectRef } from '../domain/subjects.ts';
import { SeenByRuns } from './seen-by-runs.ts';

type Items = Pick<HistoryReader, 'items'>;

/** `settled`: waits for what is being recorded. */
export function recordedLookBack(reader: Items, settled: () => Promise<void> = async () => {}): LookBackSource {
  return {
    async *items(paths, fromMs, subject): AsyncIterable<LookBackItem> {
      await settled();
      yield* itemsBefore(reader, { paths, fromMs, seen: new SeenByRuns(paths, subject) });
    },
  };
}

export interface FilledBefore {
  /** What the next runs go on with: some of what was seen they are to take over. */
  seen: SeenByRuns;
  /** When the record begins, if that is later than the rules look back and there were runs before. */
  beginsMs: number | undefined;
}

/** What rules knew of the past when a recorded run began: as a process knows it that reads the history then. Errors: those of the reader. */
export async function fillBefore(
  reader: Items,
  lookBack: LookBack,
  run: RunFrame['run'],
  subject?: SubjectRef,
): Promise<FilledBefore> {
  let first = run;
  const seen = new SeenByRuns(lookBack.paths, subject);
  const fromMs = Math.max(0, run.startedAt - lookBack.withinMs - LOOK_BACK_GAP_MS);
  lookBack.observe({ kind: 'anew' });
  const onRun = (one: RunFrame['run']) => {
    if (one.seq < first.seq) first = one;
  };
  for await (const item of itemsBefore(reader, { paths: lookBack.paths, fromMs, seen, runId: run.id, onRun }))
    lookBack.observe(item);
  lookBack.filled();
  const isLater = first.seq > 1 && first.startedAt > fromMs + LOOK_BACK_GAP_MS;
  return { seen, beginsMs: isLater ? first.startedAt : undefined };
}

interface Asked {
  paths: LookBackPaths;
  fromMs: number;
  seen: SeenByRuns;
  /** Where to end; undefined: with the last run. */
  runId?: string;
  onRun?(run: RunFrame['run']): void;
}

async function* itemsBefore(reader: Items, { paths, fromMs, seen, runId, onRun }: Asked): AsyncIterable<LookBackItem> {
  for await (const item of reader.items({ fromMs, toMs: Number.MAX_SAFE_INTEGER, facts: paths, factsOnly: true })) {
    if (item.kind === 'run') {
      if (item.run.frame.run.id === runId) return;
      onRun?.(item.run.frame.run);
      yield { kind: 'run', run: seen.take(item.run) };
    } else if (item.kind === 'state') {
      // After other gaps nothing is lost: missing runs are as no runs, and a person whose records were removed hides nothing of the others.
      seen.begin();
      yield { kind: 'anew' };
      for await (const facts of item.facts) yield { kind: 'state', facts: seen.wanted(facts) };
    }
  }
}
