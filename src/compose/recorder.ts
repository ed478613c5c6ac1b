// Builds the recorder of the history. In: the configuration, the store. Out: a recorder whose thread writes beside the database; undefined when
// the history is off, and for a database in memory. The writer lock of the database is the lock of its history too.
import type { Config } from '../config/config.ts';
import type { Clock, Log } from '../domain/ports.ts';
import type { EventRows } from '../domain/recorded-history.ts';
import { historyFolderOf, listHistory } from '../history/files/segment-files.ts';
import { RunRecorder } from '../history/record/run-recorder.ts';
import { ThreadDesk } from '../history/record/thread-desk.ts';
import { versionOf } from '../system/version.ts';

export function composeRecorder(
  { database, historyMs }: Pick<Config, 'database' | 'historyMs'>,
  address: string,
  store: EventRows,
  clock: Clock,
  log: Log,
): RunRecorder | undefined {
  if (historyMs === 0 || database.beside === ':memory:') return undefined;
  const folder = historyFolderOf(database.beside);
  const desk = new ThreadDesk({ folder, address, program: `trustward ${versionOf()}`, keepMs: historyMs });
  const recorder = new RunRecorder(desk, store, clock, log);
  if (!hasAny(folder)) recorder.beginsAnew();
  return recorder;
}

function hasAny(folder: string): boolean {
  try {
    return listHistory(folder).segments.length > 0;
  } catch {
    return true;
  }
}
