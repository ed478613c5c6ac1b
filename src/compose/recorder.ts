// Builds the recorder of the history. In: the configuration, the store. Out: a recorder whose thread writes beside the database; undefined when
// the history is off, and for a database in memory. The writer lock of the database is the lock of its history too.
import type { Config } from '../config/config.ts';
import type { Clock, Log } from '../domain/ports.ts';
import type { EventRows } from '../domain/recorded-history.ts';
import { historyFolderOf, listHistory } from '../history/files/segment-files.ts';
import { DeskThread } from '../history/record/desk-thread.ts';
import type { FolderSettings } from '../history/record/folder-recording.ts';
import { RunRecorder } from '../history/record/run-recorder.ts';
import { ThreadDesk } from '../history/record/thread-desk.ts';
import { versionOf } from '../system/version.ts';

export function composeRecorder(
  { database, historyMs, recordedLists }: Pick<Config, 'database' | 'historyMs' | 'recordedLists'>,
  of: Pick<FolderSettings, 'address' | 'printKey'>,
  store: EventRows,
  clock: Clock,
  log: Log,
  thread?: DeskThread,
): RunRecorder | undefined {
  if (historyMs === 0 || database.beside === ':memory:') return undefined;
  const folder = historyFolderOf(database.beside);
  const settings = { folder, ...of, program: `trustward ${versionOf()}`, keepMs: historyMs };
  const desk = new ThreadDesk(settings, thread);
  const recorder = new RunRecorder(desk, store, clock, log, recordedLists);
  if (!hasAny(folder)) recorder.beginsAnew();
  return recorder;
}

/** Of a process that opens one database after another: a thread of its own for each would begin, and be warm, anew each time. */
export function sharedRecording(): DeskThread {
  return new DeskThread(true);
}

function hasAny(folder: string): boolean {
  try {
    return listHistory(folder).segments.length > 0;
  } catch {
    return true;
  }
}
