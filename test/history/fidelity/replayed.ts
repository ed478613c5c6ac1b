// fidelity: a month replayed as it was, through the product's own replay; each recorded run is shown on the way. In: a history. Out: what the replay
// found.

import type { HistoryReader, RecordedRun } from '../../../src/domain/recorded-history.ts';
import type { Replay } from '../../../src/domain/replay.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { asItWas } from '../../../src/history/replay/as-it-was.ts';

export async function replayed(reader: HistoryReader): Promise<Replay> {
  return asItWas(reader, { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, traits: ACTIONS });
}

/** All recorded runs, with all their facts. */
export async function recordedRuns(reader: HistoryReader): Promise<RecordedRun[]> {
  const runs: RecordedRun[] = [];
  for await (const item of reader.items({ fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }))
    if (item.kind === 'run') runs.push(item.run);
  return runs;
}
