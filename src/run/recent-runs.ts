// run: what the last runs read and judged, for queries between two runs. In: the store, for reading.
// Out: runs that came as far as findings, and how a source was last read. Reads no API.

import type { RecordReader } from '../domain/record-reader.ts';
import type { RunFindings } from '../domain/run.ts';
import type { SourceReading } from '../domain/snapshot.ts';
import type { RunRecord } from '../domain/store.ts';
import type { Source } from '../domain/subjects.ts';

/** Earlier runs than these are not looked up. */
export const RECENT_RUNS_MAX = 20;

export type JudgedRun = RunRecord & { findings: RunFindings };

export interface LastReading {
  run: JudgedRun;
  reading: SourceReading;
}

/** The runs over lists with findings among the last 20 of these, the newest first. */
export async function recentRuns(reader: Pick<RecordReader, 'runsOverLists'>): Promise<JudgedRun[]> {
  const runs = await reader.runsOverLists(RECENT_RUNS_MAX);
  return runs.filter((run): run is JudgedRun => run.findings !== undefined);
}

export function lastReading(runs: readonly JudgedRun[], source: Source): LastReading | undefined {
  for (const run of runs) {
    const reading = run.findings.snapshot.sources[source];
    if (reading.state !== 'skipped') return { run, reading };
  }
  return undefined;
}
