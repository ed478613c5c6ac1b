// commands: `audit export --follow`: the export goes on as entries are committed, also while a daemon writes. It ends with its end line when
// the process is asked to end, and quietly at the first entry after its reader is gone. It only reads, and asks the database a few times a second.
import { type FollowBegin, type Followed, followAudit } from '../audit/follow.ts';
import { composeReader } from '../compose/reader.ts';
import { databaseName } from '../domain/database.ts';
import { AppError } from '../domain/errors.ts';
import { OpenedFile } from '../store/opened-file.ts';
import { systemClock } from '../system/clock.ts';
import { type CommonOptions, databaseOf, type Io } from './io.ts';

const LOOK_EVERY_MS = 250;

export interface FollowOptions extends CommonOptions {
  /** The last entry that the reader has already. */
  after?: string;
}

/** @param from the first entry, without `--after`. */
export async function followedExport(
  io: Io,
  options: FollowOptions,
  from: number,
  write: (pieces: AsyncIterable<string>) => Promise<void>,
): Promise<number> {
  const database = databaseOf(io, options);
  const reader = await composeReader(database);
  const file = database.kind === 'sqlite' ? new OpenedFile(database.file) : undefined;
  const ending = new AbortController();
  void io.untilStopped().then(() => ending.abort());
  const followed: Followed = {
    address: await reader.address(),
    entriesFrom: (seq) => reader.auditFrom(seq),
    entry: async (seq) => (await reader.audit({ afterSeq: seq - 1, limit: 1 })).find((one) => one.seq === seq),
    headSeq: async () => (await reader.auditHead()).seq,
    checkpointLinesAfter: (size) => reader.checkpointLinesAfter(size),
    goOn: async () => {
      await systemClock.sleep(LOOK_EVERY_MS, ending.signal).catch(() => {}); // being stopped
      if (file) demandInPlace(file, databaseName(database));
      return !ending.signal.aborted;
    },
  };
  try {
    await write(followAudit(followed, beginOf(options, from)));
    return 0;
  } finally {
    await reader.close();
  }
}

function beginOf({ after }: FollowOptions, from: number): FollowBegin {
  if (after === undefined) return { from };
  if (!/^\d{1,15}$/.test(after))
    throw new AppError('usage', `--after is \`${after}\`: expected the number of an entry, or 0`);
  return { after: Number(after) };
}

function demandInPlace(file: OpenedFile, database: string): void {
  try {
    file.demandInPlace();
  } catch (error) {
    const text = `database \`${database}\` was deleted or replaced: what is there now may be another record; check it, then follow it anew`;
    throw new AppError('store_failed', text, { cause: error });
  }
}
