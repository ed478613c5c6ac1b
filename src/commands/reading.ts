// commands: `report`, `decisions`, `audit list`: reading only, also while a daemon writes.
import { composeReader } from '../compose/reader.ts';
import type { StoredDecision } from '../domain/decision.ts';
import { namedDecisions } from '../domain/decision-filter.ts';
import { AppError } from '../domain/errors.ts';
import { auditJson, auditText, buildReport, decisionsJson, decisionsText, showHidden } from '../report/index.ts';
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
    const { rule, subject, target } = options;
    const limit = countOf(options.limit, '--limit', 10_000);
    const { query, about } = await namedDecisions(reader, { rule, subject, target });
    const found = await reader.decisions({ ...query, limit });
    write(io, options, format === 'json' ? decisionsJson(found) : textOf(found, about, widthOf(options)));
    return 0;
  });
}

/** What was named comes first, so that nobody reads about another one. */
function textOf(found: readonly StoredDecision[], about: readonly string[], width: { width: number }): string {
  const named = about.map(showHidden).join(', and ');
  if (found.length === 0) return named === '' ? decisionsText([], width) : `no decisions about ${named}`;
  return [...(named === '' ? [] : [`decisions about ${named}`]), decisionsText([...found], width)].join('\n');
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
