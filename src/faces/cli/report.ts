// cli: `report`: the report of one run. Reading only, also while a daemon writes. It loads what a report needs and no more.

import type { Report } from '../../contract/report.ts';
import { AppError } from '../../domain/errors.ts';
import { REPORT_FORMATS, type ReportFormat } from '../../domain/replay.ts';
import { composeRunReader } from '../../runtime/compose/run-reader.ts';
import { withReader } from '../../runtime/compose/with-reader.ts';
import { buildReport } from '../report/build-report.ts';
import type { Document } from '../report/document.ts';
import { withSettings } from './config-of.ts';
import { evidenceOf } from './evidence-of.ts';
import { type CommonOptions, databaseOf, type Io, outputOf, widthOf, write } from './io.ts';
import { lastRunOf } from './last-run.ts';

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
