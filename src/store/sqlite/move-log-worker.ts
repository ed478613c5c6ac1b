// store: a thread that moves SQLite's write-ahead log into the database file once. In: the name of the file. Out: nothing. It writes no row, and
// waits for nobody: what another connection still reads stays in the log until the next time.
import { workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

const connection = new Database(workerData as string, { fileMustExist: true, timeout: 0 });
try {
  connection.pragma('wal_checkpoint(PASSIVE)');
} finally {
  connection.close();
}
