// fidelity: what a killed daemon left of its history, against its database. In: the database and the folder. Out: counts, and one line for each fault:
// a run that is not whole, or never was; damage; a difference that nothing explains.

import { sqliteDatabase } from '../../../src/domain/database.ts';
import { Decoder } from '../../../src/history/codec/run-encoder.ts';
import { historyReader } from '../../../src/history/files/read-items.ts';
import { historyFolderOf } from '../../../src/history/files/segment-files.ts';
import { composeReader } from '../../../src/runtime/compose/reader.ts';
import type { KilledRecording } from './killed-recording.ts';
import { recordedRuns, replayed } from './replayed.ts';
import { otherwise } from './what-was-made.ts';

export interface KilledProof {
  runs: number;
  recorded: number;
  gaps: number;
  faults: string[];
}

export async function proofOfKilled({ org: { dbFile }, problems }: KilledRecording): Promise<KilledProof> {
  const reader = historyReader({
    folder: historyFolderOf(dbFile),
    address: undefined,
    newDecoder: (options) => new Decoder(options),
  });
  const store = await composeReader(sqliteDatabase(dbFile));
  try {
    const runs = await recordedRuns(reader);
    const faults = [...problems];
    for (const { frame, written } of runs) {
      const { id, seq } = frame.run;
      const stored = await store.run(id);
      if (stored?.seq !== seq) faults.push(`run ${seq} is recorded, and the database does not have it`);
      const own = await store.decisions({ runSeq: seq, limit: 10_000 });
      faults.push(...otherwise(`run ${seq} wrote`, own.map(idOf), written.map(idOf)));
    }
    const { gaps, differences } = await replayed(reader);
    for (const { cause, text } of gaps) if (cause !== 'not_recorded') faults.push(`${cause}: ${text}`);
    for (const { isExplained, runSeq, rule, target, was, is } of differences)
      if (!isExplained) faults.push(`run ${runSeq}, ${rule}, ${target}: was ${was}, is ${is}`);
    return { runs: (await store.runs(1))[0]?.seq ?? 0, recorded: runs.length, gaps: gaps.length, faults };
  } finally {
    await store.close();
  }
}

export function killedLine(recording: KilledRecording, { runs, recorded, gaps, faults }: KilledProof): string {
  const { kills, merges, unfinished, overlapping } = recording;
  const left = `${kills} kills (${unfinished} left a file unfinished, ${overlapping} files that were merged already)`;
  return `${left}, ${merges} lives merged days, ${runs} runs, ${recorded} recorded, ${gaps} gaps: ${faults.length} faults`;
}

/** What it came to may be another one by now: preflight refused it. */
function idOf({ id }: { id: string }): string {
  return id;
}
