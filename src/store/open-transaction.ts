// store: a transaction that stays open while others get their turn, on a connection of its own. In: that connection. Out: all of its
// changes, or none: whoever writes on the main connection meanwhile goes first, and takes it back.
import { open } from 'node:fs/promises';
import { storeError } from './store-fault.ts';

interface Connection {
  readonly file: string;
  exec(sql: string): void;
  commit(): void;
  close(): void;
}

export class OpenTransaction<Beside extends Connection> {
  private state: 'open' | 'taken back' | 'ended' = 'open';

  /** `takenBack` is called before the other one writes. */
  constructor(
    readonly db: Beside,
    private readonly takenBack: () => void,
  ) {
    // Its COMMIT does not move the write-ahead log into the database file too: see `moveLog`.
    db.exec('PRAGMA wal_autocheckpoint = 0');
    // What does not fit is written to the log on the way: its COMMIT has less to write.
    db.exec('PRAGMA cache_size = -2000');
    db.exec('BEGIN IMMEDIATE');
  }

  get isTakenBack(): boolean {
    return this.state === 'taken back';
  }

  /** Others get their turn while the disk takes what is in the log so far: COMMIT waits for the rest only. Errors: AppError `store_failed`. */
  async synced(): Promise<void> {
    try {
      const log = await open(`${this.db.file}-wal`, 'r+');
      await log.datasync().finally(() => log.close());
    } catch (error) {
      throw storeError(error, this.db.file);
    }
  }

  commit(): void {
    this.db.commit();
    this.end();
  }

  /** Without a commit, nothing of it is left. */
  end(): void {
    if (this.state !== 'open') return;
    this.state = 'ended';
    this.db.close();
  }

  takeBack(): void {
    if (this.state !== 'open') return;
    this.state = 'taken back';
    this.db.close();
    this.takenBack();
  }
}
