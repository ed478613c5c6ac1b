// fidelity: what a killed daemon left of its history, against its database. In: the database and the folder. Out: counts, and one line for each fault:
// a run that is not whole, or never was; damage; a difference that nothing explains.
import { composeReader } from '../../../src/compose/reader.ts';
import { Decoder } from '../../../src/history/codec/decoder.ts';
import { historyReader } from '../../../src/history/files/history-reader.ts';
import { historyFolderOf } from '../../../src/history/files/segment-files.ts';
import type { Organization } from '../../support/organization.ts';
import { recordedRuns, replayed } from './replayed.ts';
import { otherwise } from './what-was-made.ts';

export interface KilledProof {
  runs: number;
  recorded: number;
  gaps: number;
  faults: string[];
}

export async function proofOfKilled({ dbFile }: Organization): Promise<KilledProof> {
  const reader = historyReader({
    folder: historyFolderOf(dbFile),
    address: undefined,
    newDecoder: (options) => new Decoder(options),
  });
  const store = composeReader(dbFile);
  try {
    const runs = await recordedRuns(reader);
    const faults: string[] = [];
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

/** What it came to may be another one by now: preflight refused it. */
function idOf({ id }: { id: string }): string {
  return id;
}
