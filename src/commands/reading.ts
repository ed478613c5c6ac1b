// commands: `report`, `decisions`, `audit list`: reading only, also while a daemon writes.
import { composeReader } from '../compose/reader.ts';
import { AppError } from '../domain/errors.ts';
import { auditJson, auditText, buildReport, decisionsJson, decisionsText } from '../report/index.ts';
import type { SqliteReader } from '../store/reader.ts';
import { type CommonOptions, countOf, databaseOf, type Io, outputOf, widthOf, write } from './io.ts';
import { REPORT_FORMATS, renderReport } from './render.ts';

async function reading<T>(io: Io, options: CommonOptions, work: (reader: SqliteReader) => Promise<T>): Promise<T> {
  const reader = composeReader(databaseOf(io, options));
  try {
    return await work(reader);
  } finally {
    await reader.close();
  }
}

export async function reportCommand(io: Io, runId: string | undefined, options: CommonOptions): Promise<number> {
  const format = outputOf(options, REPORT_FORMATS, 'text');
  return reading(io, options, async (reader) => {
    const run = runId === undefined || runId === 'latest' ? await reader.latestRun() : await reader.run(runId);
    if (!run)
      throw new AppError(
        'not_found',
        runId ? `there is no run \`${runId}\`` : 'there is no run yet: `trustward run` makes one',
      );
    write(io, options, renderReport(await buildReport(reader, run), format, widthOf(options)));
    return 0;
  });
}

export interface DecisionsOptions extends CommonOptions {
  rule?: string;
  subject?: string;
  target?: string;
  limit: string;
}

export async function decisionsCommand(io: Io, options: DecisionsOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  return reading(io, options, async (reader) => {
    const { rule, subject: subjectId, target } = options;
    const limit = countOf(options.limit, '--limit', 10_000);
    const found = await reader.decisions({ rule, subjectId, target, limit });
    write(io, options, format === 'json' ? decisionsJson(found) : decisionsText(found, widthOf(options)));
    return 0;
  });
}

export async function auditListCommand(
  io: Io,
  options: CommonOptions & { limit: string; kind?: string },
): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  const limit = countOf(options.limit, '--limit', 10_000);
  return reading(io, options, async (reader) => {
    const entries = await reader.audit({ kind: options.kind, limit });
    write(io, options, format === 'json' ? auditJson(entries) : auditText(entries, widthOf(options)));
    return 0;
  });
}
