// store: a transaction that stays open while others get their turn, on a connection of its own. In: that connection. Out: all of its
// changes, or none: whoever writes on the main connection meanwhile goes first, and takes it back.
interface Connection {
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
    // The next commit beside it moves the write-ahead log into the database: two steps, each of which takes less long than both.
    db.exec('PRAGMA wal_autocheckpoint = 0');
    db.exec('BEGIN IMMEDIATE');
  }

  get isTakenBack(): boolean {
    return this.state === 'taken back';
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
