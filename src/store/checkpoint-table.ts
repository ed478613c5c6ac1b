// store: the tables of the audit's checkpoints and archives. INVARIANT: the functions are called inside the caller's transaction.
import type { Checkpoint } from '../domain/checkpoint.ts';
import { type ArchivedSegment, checkpointLine } from '../domain/checkpoint.ts';
import type { Db, Work } from './queries.ts';

interface LineRow {
  size: number;
  line: string;
}

export function* lastCheckpoint(db: Db): Work<LineRow | undefined> {
  return yield* db.get<LineRow>('SELECT size, line FROM checkpoints WHERE size = (SELECT max(size) FROM checkpoints)');
}

export function* insertCheckpoint(db: Db, checkpoint: Checkpoint): Work<void> {
  yield* db.insert('checkpoints', { size: checkpoint.size, line: checkpointLine(checkpoint) });
}

export function* checkpointAt(db: Db, size: number): Work<string | undefined> {
  return (yield* db.get<LineRow>('SELECT size, line FROM checkpoints WHERE size = ?', size))?.line;
}

export function* checkpointLinesAfter(db: Db, size: number): Work<string[]> {
  return (yield* db.all<LineRow>('SELECT line FROM checkpoints WHERE size > ? ORDER BY size', size)).map(
    ({ line }) => line,
  );
}

/** The id that the first line of the file outside names. */
export function* readDatabaseId(db: Db): Work<string | undefined> {
  return (yield* db.get<{ value: string }>('SELECT value FROM meta WHERE key = ?', DATABASE_ID))?.value;
}

export function* saveDatabaseId(db: Db, id: string): Work<void> {
  yield* db.upsert('meta', { key: DATABASE_ID, value: id }, 'key');
}

const DATABASE_ID = 'database';

/** All lines; undefined in a database that a version with checkpoints has not opened for writing yet. */
export function* allCheckpointLines(db: Db): Work<string[] | undefined> {
  const [table] = yield* db.columnsOf(['checkpoints']);
  return table && (yield* checkpointLinesAfter(db, 0));
}

/**
 * Removes the entries of an archived segment from the table. Its record comes first: without it the trigger refuses.
 * INVARIANT: the caller appends the entry that records the removal in the same transaction.
 */
export function* removeArchived(db: Db, segment: ArchivedSegment, at: number): Work<void> {
  const { from, to, head, file, digest } = segment;
  yield* db.insert('audit_archives', { to_seq: to, from_seq: from, head, file, digest, archived_at: at });
  yield* db.run('DELETE FROM audit WHERE seq <= ?', to);
}
