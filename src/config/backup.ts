// Configuration: backups that the daemon makes by itself. In: a reader of names, the database. Out: how often, where, how many; undefined
// when they are off.
import { dirname, join } from 'node:path';
import type { Database } from '../domain/database.ts';
import type { ConfigReader } from './reader.ts';

export interface BackupSettings {
  everyMs: number;
  folder: string;
  /** How many good ones stay. */
  keep: number;
}

export function readBackup(reader: ConfigReader, { kind, beside }: Database): BackupSettings | undefined {
  const everyMs = reader.duration('TRUSTWARD_BACKUP', '0s', '0s');
  const folder = reader.text('TRUSTWARD_BACKUP_DIR') ?? join(dirname(beside), 'backups');
  const keep = reader.count('TRUSTWARD_BACKUP_KEEP', 7, 1);
  if (everyMs === 0) return undefined;
  if (kind === 'postgres') {
    reader.fault(
      'TRUSTWARD_BACKUP',
      'TRUSTWARD_BACKUP copies a SQLite file: unset it, and back up PostgreSQL with its own tools (pg_dump)',
    );
    return undefined;
  }
  if (everyMs < 60_000)
    reader.fault(
      'TRUSTWARD_BACKUP',
      'TRUSTWARD_BACKUP is shorter than 1m: expected a duration such as 1d, or 0s for none',
    );
  return { everyMs, folder, keep };
}
