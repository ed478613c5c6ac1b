// The history beside a database, opened for reading: it is files, and works beside the process that writes them. In: the database's file. Out: a
// reader, which reads nothing before it is asked.
import type { HistoryReader } from '../domain/recorded-history.ts';
import { Decoder } from '../history/codec/decoder.ts';
import { historyReader } from '../history/files/history-reader.ts';
import { historyFolderOf } from '../history/files/segment-files.ts';

/** A folder that is not there is an empty history. */
export function composeHistory(database: string): HistoryReader {
  return historyReader({
    folder: historyFolderOf(database),
    address: undefined,
    newDecoder: (options) => new Decoder(options),
  });
}
