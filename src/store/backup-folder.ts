// store: the folder of backups that the daemon makes. In: finished copies. Out: files whose names sort by time, the oldest of them removed.
// INVARIANT: only files with exactly such a name, of this database, are ever removed: a person's own files stay, and so do backups of a
// database that was here before a restore. No call waits: the folder may be on a server that does not answer.
import { open, readdir, rename, rm } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { isoTime } from '../domain/time-text.ts';
import { makeFolder } from '../files/make-folder.ts';

export interface KeptBackup {
  file: string;
  /** When it was begun, epoch ms, in whole seconds: its name has it. */
  atMs: number;
}

/** One that is being made, and one more attempt. */
const GRACE_MS = 3_600_000;

export function isOverdue({ atMs }: KeptBackup, everyMs: number, nowMs: number): boolean {
  return nowMs - atMs > everyMs + GRACE_MS;
}

export class BackupFolder {
  private readonly stem: string;
  private readonly mark: string;

  /** @param databaseId of the database as it is now. */
  constructor(
    readonly folder: string,
    database: string,
    databaseId: string,
  ) {
    this.stem = basename(database, extname(database));
    this.mark = databaseId.slice(-8);
  }

  /** Makes the folder, and removes what a killed process left half-written. Errors: those of node:fs. */
  async prepare(): Promise<void> {
    await makeFolder(this.folder, 0o700);
    const partial = basename(this.partial());
    for (const name of await readdir(this.folder))
      if (name.startsWith(partial)) await rm(join(this.folder, name), { force: true });
  }

  /** Where a copy is written before it is known to be good. */
  partial(): string {
    return join(this.folder, `.${this.stem}-${this.mark}.partial`);
  }

  /** Gives the finished copy its name. Errors: those of node:fs. */
  async accept(atMs: number): Promise<KeptBackup> {
    const second = isoTime(atMs).slice(0, 19).replaceAll(/[-:]/g, '');
    const file = join(this.folder, `${this.stem}-${second}Z-${this.mark}.db`);
    await rename(this.partial(), file);
    await syncNames(this.folder);
    return { file, atMs: Math.floor(atMs / 1_000) * 1_000 };
  }

  /** Newest first; none when there is no folder. Errors: those of node:fs. */
  async all(): Promise<KeptBackup[]> {
    const found = (await namesIn(this.folder)).flatMap((name) => {
      const atMs = this.timeOf(name);
      return atMs === undefined ? [] : [{ file: join(this.folder, name), atMs }];
    });
    return found.sort((a, b) => b.atMs - a.atMs);
  }

  /** The newest that was not begun after `nowMs`: one of a clock that ran ahead is none. */
  async newest(nowMs: number): Promise<KeptBackup | undefined> {
    return (await this.all()).find(({ atMs }) => atMs <= nowMs);
  }

  /** Removes all but `keep`; never the one just made, whatever the clock showed when the others were. */
  async rotate(made: KeptBackup, keep: number): Promise<string[]> {
    const others = (await this.all()).filter(({ file }) => file !== made.file);
    const removed = others.slice(keep - 1).map(({ file }) => file);
    for (const file of removed) await rm(file, { force: true });
    return removed;
  }

  private timeOf(name: string): number | undefined {
    const [start, end] = [`${this.stem}-`, `Z-${this.mark}.db`];
    if (!name.startsWith(start) || !name.endsWith(end)) return undefined;
    const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)$/.exec(name.slice(start.length, -end.length));
    if (!parts) return undefined;
    const [year, month, day, hour, minute, second] = parts.slice(1).map(Number) as [
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    return Date.UTC(year, month - 1, day, hour, minute, second);
  }
}

async function syncNames(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
