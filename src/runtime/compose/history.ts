// The history beside a database, opened for reading: it is files, and works beside the process that writes them. In: the database, and the
// address that it is bound to. Out: a reader, which reads nothing before it is asked. Records of another address are gaps, named as foreign.
import type { Database } from '../../domain/database.ts';
import type { HistoryReader } from '../../domain/recorded-history.ts';
import type { RecordReader } from '../../domain/store-ports.ts';
import { Decoder } from '../../history/codec/run-encoder.ts';
import type { HistoryFolder, RunBeside } from '../../history/files/begin.ts';
import { historyReader } from '../../history/files/read-items.ts';
import { historyFolderOf } from '../../history/files/segment-files.ts';
import { readIfAny } from './reader.ts';

/**
 * A folder that is not there is an empty history. Without an address its newest records show whose history it is. `newestRun`: of the database, so that
 * its runs after the newest record are named as a gap.
 */
export function composeHistory(
  { beside }: Pick<Database, 'beside'>,
  address: string | undefined,
  newestRun?: HistoryFolder['newestRun'],
): HistoryReader {
  return historyReader({
    folder: historyFolderOf(beside),
    address,
    newDecoder: (options) => new Decoder(options),
    newestRun,
  });
}

/** One that is under way is recorded when it has decided. */
export async function newestRunOf(reader: Pick<RecordReader, 'runLines'>): Promise<RunBeside | undefined> {
  const newest = (await reader.runLines({ limit: 2 })).find(({ status }) => status !== 'running');
  return newest && { run: newest.seq, atMs: newest.startedAt };
}

/** Which API it is of, and its newest run. Empty when there is no database, or it cannot be read: its history can be. */
export async function readDatabase(
  database: Database,
): Promise<{ address?: string | undefined; newestRun?: RunBeside | undefined }> {
  const read = await readIfAny(database, async (reader) => ({
    address: await reader.address(),
    newestRun: await newestRunOf(reader),
  }));
  return read ?? {};
}

export async function boundAddressOf(database: Database): Promise<string | undefined> {
  return (await readDatabase(database)).address;
}
