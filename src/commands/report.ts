// commands: `report`: the report of one run. Reading only, also while a daemon writes. It loads what a report needs and no more.
import { composeRunReader } from '../compose/run-reader.ts';
import { withReader } from '../compose/with-reader.ts';
import { AppError } from '../domain/errors.ts';
import { REPORT_FORMATS } from '../domain/report-format.ts';
import { buildReport } from '../report/build-report.ts';
import { withSettings } from './config-of.ts';
import { evidenceOf } from './evidence-of.ts';
import { type CommonOptions, databaseOf, type Io, outputOf, widthOf, write } from './io.ts';
import { lastRunOf } from './last-run.ts';
import { renderReport } from './render.ts';

export async function reportCommand(
  io: Io,
  runId: string | undefined,
  options: CommonOptions & { completed?: boolean },
): Promise<number> {
  const format = outputOf(options, REPORT_FORMATS, 'text');
  if (runId !== undefined && options.completed) throw new AppError('usage', 'give either a run or --completed');
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
