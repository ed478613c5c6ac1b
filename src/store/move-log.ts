// store: moves the write-ahead log of a large commit into the database file, in a thread: it takes a fifth of a second, and the next commit
// would do it while everybody waits. In: the main connection. Out: the log is moved, or left to that connection. Only
// closing the database waits for it.
import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { SqliteDb } from './database.ts';

const WORKER = new URL(`./move-log-worker${extname(import.meta.url)}`, import.meta.url);
/** SQLite's own: about 4 MB. */
const PAGES_BEFORE_MOVE = 1_000;

/** Never rejects. */
export async function moveLog(db: Pick<SqliteDb, 'file' | 'exec'>): Promise<void> {
  try {
    db.exec('PRAGMA wal_autocheckpoint = 0');
    // INVARIANT: it keeps the process alive. Whoever closes the database waits for it, and may be the last: Node ends a process with exit code 13 when
    // what it waits for keeps nothing alive.
    await once(new Worker(WORKER, { workerData: db.file }), 'exit');
  } catch {
    // The next commit moves it, and reports what is wrong with the file.
  }
  try {
    db.exec(`PRAGMA wal_autocheckpoint = ${PAGES_BEFORE_MOVE}`);
  } catch {
    // It was closed meanwhile.
  }
}
