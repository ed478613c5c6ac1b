// Builds what rules that look back read: the history beside the database. In: the configuration, the address that the database is bound to. Out: a
// source; undefined when the history is off, and for a database in memory: the past is unknown then.
import type { Config } from '../config/config.ts';
import type { LookBackSource } from '../domain/look-back.ts';
import { recordedLookBack } from '../run/recorded-look-back.ts';
import { composeHistory } from './history.ts';

/** `settled`: waits for what this process is recording. */
export function composeLookBack(
  { database, historyMs }: Pick<Config, 'database' | 'historyMs'>,
  address: string,
  settled?: () => Promise<void>,
): LookBackSource | undefined {
  if (historyMs === 0 || database.beside === ':memory:') return undefined;
  return recordedLookBack(composeHistory(database, address), settled);
}
