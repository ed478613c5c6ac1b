// store: what the audit records of the acting tables: the last checkpoint has the digest of each table, and an entry after it those
// that its transaction changed. In: a connection. Out: the newest digest by table, and whether the end of the chain is ours.
import type { TableDigests } from '../domain/acting-tables.ts';
import type { AuditEntry } from '../domain/audit-entry.ts';
import type { Checkpoint } from '../domain/checkpoint.ts';
import { entryOfRow } from './audit-rows.ts';
import { lastCheckpoint } from './checkpoint-table.ts';
import type { Db } from './database.ts';
import { storedJson } from './stored-json.ts';

/** Whether this installation's key signed the entry. */
export type IsOwnEntry = (entry: AuditEntry) => boolean;

/** Empty in a database of an older version. Errors: AppError `store_damaged`. */
export function recordedDigests(db: Db): TableDigests {
  if (!hasTable(db, 'checkpoints')) return {};
  const last = lastCheckpoint(db);
  const sealed = last && storedJson<Pick<Checkpoint, 'tables'>>(last.line).tables;
  const sql = `SELECT bytes FROM audit WHERE seq > ? AND instr(bytes, '"digests":') > 0 ORDER BY seq`;
  const later = db.all<{ bytes: string }>(sql, last?.size ?? 0);
  return Object.assign({}, sealed, ...later.map(({ bytes }) => storedJson<{ digests?: TableDigests }>(bytes).digests));
}

/**
 * What is wrong with the end of the chain, in words that follow "the audit has"; undefined: nothing. Each transaction signs its last
 * entry, so the last one of the chain is signed, unless a checkpoint covers it.
 */
export function strangeEnd(db: Db, isOwn: IsOwnEntry | undefined): string | undefined {
  if (!isOwn || !hasTable(db, 'checkpoints')) return undefined;
  const row = db.get('SELECT * FROM audit WHERE seq = (SELECT max(seq) FROM audit)');
  const end = row && entryOfRow(row);
  if (!end || end.seq <= (lastCheckpoint(db)?.size ?? 0) || isOwn(end)) return undefined;
  if (Object.keys(recordedDigests(db)).length === 0) return undefined; // an older version wrote it, and signed nothing
  return `${end.seq} entries, and the last one is not signed by the key of this database`;
}

function hasTable(db: Db, name: string): boolean {
  return db.get("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", name) !== undefined;
}
