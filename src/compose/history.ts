// The history beside a database, opened for reading: it is files, and works beside the process that writes them. In: the database, and the
// address that it is bound to. Out: a reader, which reads nothing before it is asked. Records of another address are gaps, named as foreign.
import { existsSync } from 'node:fs';
import type { Database } from '../domain/database.ts';
import { AppError } from '../domain/errors.ts';
import type { HistoryReader } from '../domain/recorded-history.ts';
import { Decoder } from '../history/codec/decoder.ts';
import { historyReader } from '../history/files/history-reader.ts';
import { historyFolderOf } from '../history/files/segment-files.ts';
import { composeReader } from './reader.ts';

/** A folder that is not there is an empty history. Without an address its newest records show whose history it is. */
export function composeHistory({ beside }: Pick<Database, 'beside'>, address: string | undefined): HistoryReader {
  return historyReader({
    folder: historyFolderOf(beside),
    address,
    newDecoder: (options) => new Decoder(options),
  });
}

/** Undefined when there is no database, or it cannot be read: its history can be. */
export async function addressOf(database: Database): Promise<string | undefined> {
  if (database.kind === 'sqlite' && !existsSync(database.file)) return undefined;
  try {
    const reader = await composeReader(database);
    try {
      return await reader.address();
    } finally {
      await reader.close();
    }
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}
