// cli: `report`: the report of one run. Reading only, also while a daemon writes. It loads what a report needs and no more.

import { timeText } from '../../base/time.ts';
import type { Report } from '../../contract/report.ts';
import type { Database } from '../../domain/database.ts';
import { AppError } from '../../domain/errors.ts';
import { REPORT_FORMATS, type ReportFormat } from '../../domain/replay.ts';
import { leastMode } from '../../domain/rule.ts';
import type { Run } from '../../domain/run.ts';
import type { RunRecord } from '../../domain/store.ts';
import type { RecordReader } from '../../domain/store-ports.ts';
import { composeRunReader, withReader } from '../../runtime/compose/run-reader.ts';
import { buildReport } from '../report/build-report.ts';
import type { Document } from '../report/document.ts';
import { evidenceOf, remoteOf, withSettings } from './config-of.ts';
import { type CommonOptions, databaseOf, type Io, outputOf, widthOf, write } from './io.ts';

export async function renderReport(report: Report, format: ReportFormat, options: { width: number }): Promise<string> {
  switch (format) {
    case 'json':
      return (await import('../report/json.ts')).reportJson(report);
    case 'md':
      return (await import('../report/markdown.ts')).documentMarkdown(await readable(report, 'md'));
    case 'csv':
      return [...(await import('../report/csv.ts')).reportCsvPieces(report)].join('');
    case 'html':
      return [...(await import('../report/html/picture.tsx')).reportHtmlPieces(report)].join('');
    case 'text':
      return (await import('../report/text.ts')).documentText(await readable(report, 'text'), options);
  }
}

async function readable(report: Report, medium: 'text' | 'md'): Promise<Document> {
  const [{ namesOwnTarget }, { readableReport }] = [
    await import('../report/decision-words.ts'),
    await import('../report/sections.ts'),
  ];
  const isNeeded = report.decisions.some(namesOwnTarget);
  return readableReport(report, medium, isNeeded ? (await import('../../engine/act/actions.ts')).ACTIONS : undefined);
}

export async function reportCommand(
  io: Io,
  runId: string | undefined,
  options: CommonOptions & { completed?: boolean },
): Promise<number> {
  const format = outputOf(options, REPORT_FORMATS, 'text');
  if (runId !== undefined && options.completed) throw new AppError('usage', 'give either a run or --completed');
  const remote = await remoteOf(io, options);
  if (remote) {
    if (options.completed)
      throw new AppError(
        'usage',
        '--completed is not asked of an endpoint: name a run, or leave it out for the latest',
      );
    const report = await remote.getReport({ id: runId ?? 'latest' });
    write(io, options, await renderReport(report, format, widthOf(options)));
    return 0;
  }
  const database = databaseOf(io, options);
  return withReader(composeRunReader(database), async (reader) => {
    const isLast = runId === undefined || runId === 'latest';
    const { run, note } = isLast
      ? await lastRunOf(reader, database, options)
      : { run: await reader.run(runId), note: undefined };
    if (!run) throw new AppError('not_found', `there is no run \`${runId}\``);
    const evidence = await evidenceOf(await withSettings(io, options), database);
    write(io, options, await renderReport(await buildReport(reader, run, evidence), format, widthOf(options)));
    if (note !== undefined) io.err(`${note}\n`);
    return 0;
  });
}

/**
 * The run that a report without a number is about: the last that has ended; with `completed` the last that was completed over all
 * active rules. `note` is for people: what is under way meanwhile. Errors: AppError `not_found`.
 */
async function lastRunOf(
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
