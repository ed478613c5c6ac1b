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
      yield* itemsBefore(reader, { paths, fromMs, subject });
    },
  };
}

/**
 * What rules knew of the past when a recorded run began: as a process knows it that reads the history then. Returns when the record begins, if
 * that is later than they look back and there were runs before. Errors: those of the reader.
 */
export async function fillBefore(
  reader: Items,
  lookBack: LookBack | undefined,
  run: RunFrame['run'],
  subject?: SubjectRef,
): Promise<number | undefined> {
  if (!lookBack) return undefined;
  let first = run;
  const fromMs = Math.max(0, run.startedAt - lookBack.withinMs - LOOK_BACK_GAP_MS);
  lookBack.observe({ kind: 'anew' });
  const onRun = (one: RunFrame['run']) => {
    if (one.seq < first.seq) first = one;
  };
  for await (const item of itemsBefore(reader, { paths: lookBack.paths, fromMs, subject, runId: run.id, onRun }))
    lookBack.observe(item);
  lookBack.filled();
  return first.seq > 1 && first.startedAt > fromMs + LOOK_BACK_GAP_MS ? first.startedAt : undefined;
}

interface Asked {
  paths: LookBackPaths;
  fromMs: number;
  subject?: SubjectRef | undefined;
  /** Where to end; undefined: with the last run. */
  runId?: string;
  onRun?(run: RunFrame['run']): void;
}

async function* itemsBefore(
  reader: Items,
  { paths, fromMs, subject, runId, onRun }: Asked,
): AsyncIterable<LookBackItem> {
  const seen = new SeenByRuns(paths, subject);
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
