// cli: which run `report` shows when none is named. In: a reader. Out: the run, and what is under way meanwhile. Reading only.

import { timeText } from '../../base/time.ts';
import type { Database } from '../../domain/database.ts';
import { AppError } from '../../domain/errors.ts';
import { leastMode } from '../../domain/rule.ts';
import type { Run } from '../../domain/run.ts';
import type { RunRecord } from '../../domain/store.ts';
import type { RecordReader } from '../../domain/store-ports.ts';

/**
 * The run that a report without a number is about: the last that has ended; with `completed` the last that was completed over all
 * active rules. `note` is for people: what is under way meanwhile. Errors: AppError `not_found`.
 */
export async function lastRunOf(
  reader: Pick<RecordReader, 'run' | 'runLines' | 'countsOfRun'>,
  database: Database,
  { completed = false }: { completed?: boolean },
): Promise<{ run: RunRecord; note: string | undefined }> {
  const [newest] = await reader.runLines({ limit: 1 });
  if (!newest) throw new AppError('not_found', 'there is no run yet: `trustward run` makes one');
  const shown = completed ? await lastCompleted(reader) : await lastEnded(reader, newest);
  const run = (await reader.run(shown.id)) as RunRecord;
  const isOther = newest.status === 'running' && newest.id !== run.id;
  return { run, note: isOther ? await noteOf(reader, newest, run, database) : undefined };
}

async function lastCompleted(reader: Pick<RecordReader, 'runLines'>): Promise<Run> {
  const [found] = await reader.runLines({ status: 'completed', whole: true, limit: 1 });
  if (!found)
    throw new AppError('not_found', 'no run over all active rules was completed yet: `trustward run` makes one');
  return found;
}

async function lastEnded(reader: Pick<RecordReader, 'runLines'>, newest: Run): Promise<Run> {
  if (newest.status !== 'running') return newest;
  const ended = await Promise.all(
    (['completed', 'aborted'] as const).map(async (status) => (await reader.runLines({ status, limit: 1 }))[0]),
  );
  return ended.filter((run) => run !== undefined).sort((one, other) => other.seq - one.seq)[0] ?? newest;
}

/** INVARIANT: nobody is told that a run is under way whose process is dead: nobody holds the writer's lock then. */
async function noteOf(
  reader: Pick<RecordReader, 'run' | 'countsOfRun'>,
  newest: Run,
  shown: Run,
  database: Database,
): Promise<string> {
  const which = `run ${newest.seq} (${leastMode(newest.mode, newest.daemonMode)}) began at ${timeText(newest.startedAt)}`;
  const about = `this is the report of run ${shown.seq}`;
  if (!(await isWritten(database))) return `${which} and did not come to its end; ${about}`;
  return `${which} and is under way: ${await progressOf(reader, newest)}; ${about}`;
}

/** The lock of a dead process is free, with a file as with PostgreSQL. */
async function isWritten(database: Database): Promise<boolean> {
  if (database.kind === 'postgres') return (await import('../../runtime/compose/postgres.ts')).isActedFor(database);
  const { lookAtLock } = await import('../../store/sqlite/writer-lock.ts');
  return lookAtLock(database.file).isHeld;
}

/** As far as the record shows. */
async function progressOf(reader: Pick<RecordReader, 'run' | 'countsOfRun'>, run: Run): Promise<string> {
  if ((await reader.run(run.id))?.findings === undefined) return 'it reads and judges, and has decided nothing yet';
  const { done, failed, open } = await reader.countsOfRun(run);
  return done + failed + open === 0 ? 'it has decided' : `it acts: ${done} done, ${failed} failed, ${open} open`;
}
