// audit: whether a database and the file outside belong together. In: both, read only. Out: a new database, its own file, one that an
// earlier version wrote without a name, or what shows that the database was restored. It writes nothing.
import type { AuditReader } from '../domain/audit-store.ts';
import type { CheckpointReader } from '../domain/checkpoint.ts';
import { timeText } from '../domain/time-text.ts';
import { type PublicKeys, parseCheckpoint, signatureFault } from './checkpoint.ts';
import type { Outside } from './checkpoint-file.ts';
import { isSigned, parseDatabaseLine } from './database-line.ts';

export type Belonging =
  /** At its birth: it has no entry, and there is nothing outside. */
  | { kind: 'new' }
  | { kind: 'own' }
  /** The checkpoints are its own, but nothing names it: an earlier version wrote them, or a start was killed. */
  | { kind: 'unnamed' }
  /** `why` is a sentence without its end. */
  | { kind: 'restored'; why: string };

/** How an operator goes on with a restored database. */
export const WAY_ON = '`trustward audit accept-restore --reason …`, then `trustward resume --reason …`';

export type BelongingReader = Pick<AuditReader, 'auditHead'> & Pick<CheckpointReader, 'checkpointAt' | 'databaseId'>;

/**
 * INVARIANT: the caller has read `outside` before: a writer commits first and publishes then, so the file is never ahead of its own
 * database. And the file is named before the first entry is committed: entries without a name outside were brought here.
 */
export async function belongingOf(database: BelongingReader, outside: Outside, keys: PublicKeys): Promise<Belonging> {
  const { named, last } = outside;
  if (named === undefined && last === undefined) {
    const { seq } = await database.auditHead();
    return seq === 0 ? { kind: 'new' } : restored(`there are no checkpoints outside, but ${seq} audit entries`);
  }
  if (named !== undefined && !(await isNameOf(database, named, keys)))
    return restored('the checkpoints outside are those of another database');
  if (last !== undefined && (await isAhead(database, last))) return restored(await aheadText(database, last));
  if (named !== undefined) return { kind: 'own' };
  const checkpoint = parseCheckpoint(last ?? '');
  const fault = checkpoint && signatureFault(checkpoint, keys);
  return fault === undefined ? { kind: 'unnamed' } : restored(`the last checkpoint outside ${fault}`);
}

/** How many entries a line covers; 0 without one, or when it cannot be read. */
export function sizeOf(line: string | undefined): number {
  return parseCheckpoint(line ?? '')?.size ?? 0;
}

function restored(why: string): Belonging {
  return { kind: 'restored', why };
}

async function isNameOf(database: BelongingReader, line: string, keys: PublicKeys): Promise<boolean> {
  const name = parseDatabaseLine(line);
  return name !== undefined && isSigned(name, keys) && name.database === (await database.databaseId());
}

/** Each line has the hash of the one before, so one equal line means that all before it are equal. */
async function isAhead(database: BelongingReader, last: string): Promise<boolean> {
  return (await database.checkpointAt(sizeOf(last))) !== last;
}

async function aheadText(database: BelongingReader, last: string): Promise<string> {
  const checkpoint = parseCheckpoint(last);
  if (!checkpoint) return 'the checkpoints outside end in a line that cannot be read';
  const { seq } = await database.auditHead();
  const { size, at } = checkpoint;
  return `the checkpoints outside reach to entry ${size} of ${timeText(at)}, which this database (${seq} entries) does not have`;
}
