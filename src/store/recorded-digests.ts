// store: what the audit records of the acting tables: the last checkpoint has the digest of each table, and an entry after it those
// that its transaction changed. In: a connection. Out: the newest digest by table, and whether the end of the chain is ours.
import type { JudgeEnd, TableDigests } from '../domain/acting-tables.ts';
import type { Checkpoint } from '../domain/checkpoint.ts';
import { entryOfRow } from './audit-rows.ts';
import { lastCheckpoint } from './checkpoint-table.ts';
import type { Db, Work } from './queries.ts';
import { storedJson } from './stored-json.ts';

/** Empty in a database of an older version. Errors: AppError `store_damaged`. */
export function* recordedDigests(db: Db): Work<TableDigests> {
  if (!(yield* hasTable(db, 'checkpoints'))) return {};
  const last = yield* lastCheckpoint(db);
  const sealed = last && storedJson<Pick<Checkpoint, 'tables'>>(last.line).tables;
  const sql = `SELECT bytes FROM audit WHERE seq > ? AND instr(bytes, '"digests":') > 0 ORDER BY seq`;
  const later = yield* db.all<{ bytes: string }>(sql, last?.size ?? 0);
  return Object.assign({}, sealed, ...later.map(({ bytes }) => storedJson<{ digests?: TableDigests }>(bytes).digests));
}

/** What is wrong with the end of the chain, in words that follow "the audit has"; undefined: nothing. Errors: AppError `store_damaged`. */
export function* strangeEnd(db: Db, judge: JudgeEnd | undefined): Work<string | undefined> {
  if (!judge || !(yield* hasTable(db, 'checkpoints'))) return undefined;
  const sealed = yield* lastCheckpoint(db);
  const isSigned = Object.keys(yield* recordedDigests(db)).length > 0;
  if (!sealed && !isSigned) return undefined; // an older version wrote all of it
  const rows = yield* db.all(
    'SELECT seq, at, kind, bytes, prev, hash FROM audit WHERE seq >= ? ORDER BY seq',
    sealed?.size ?? 0,
  );
  const entries = rows.map(entryOfRow);
  return judge({ sealed, entries, isSigned });
}

function* hasTable(db: Db, name: string): Work<boolean> {
  return (yield* db.columnsOf([name])).length > 0;
}
