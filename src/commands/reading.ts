// commands: `report`, `decisions`, `audit list`: reading only, also while a daemon writes.
import { composeReader } from '../compose/reader.ts';
import type { StoredDecision } from '../domain/decision.ts';
import { AppError } from '../domain/errors.ts';
import { givenTime } from '../domain/given-time.ts';
import type { HistoryLine } from '../domain/history.ts';
import { demandKnownOwner } from '../domain/known-owner.ts';
import { demandKnownRule } from '../domain/known-rule.ts';
import type { historyOf as HistoryOf } from '../explain/history-of.ts';
import { auditJson, auditText, buildReport, decisionsJson, decisionsText, historyText } from '../report/index.ts';
import type { SqliteReader } from '../store/reader.ts';
import { systemClock } from '../system/clock.ts';
import { type CommonOptions, countOf, databaseOf, type Io, outputOf, widthOf, write } from './io.ts';
import { REPORT_FORMATS, renderReport } from './render.ts';
import { lastRunOf } from './runs.ts';

async function reading<T>(io: Io, options: CommonOptions, work: (reader: SqliteReader) => Promise<T>): Promise<T> {
  const reader = composeReader(databaseOf(io, options));
  try {
    return await work(reader);
  } finally {
    await reader.close();
  }
}

export async function reportCommand(
  io: Io,
  runId: string | undefined,
  options: CommonOptions & { completed?: boolean },
): Promise<number> {
  const format = outputOf(options, REPORT_FORMATS, 'text');
  if (runId !== undefined && options.completed) throw new AppError('usage', 'give either a run or --completed');
  return reading(io, options, async (reader) => {
    const isLast = runId === undefined || runId === 'latest';
    const { run, note } = isLast
      ? await lastRunOf(reader, databaseOf(io, options), options)
      : { run: await reader.run(runId), note: undefined };
    if (!run) throw new AppError('not_found', `there is no run \`${runId}\``);
    write(io, options, renderReport(await buildReport(reader, run), format, widthOf(options)));
    if (note !== undefined) io.err(`${note}\n`);
    return 0;
  });
}

export interface DecisionsOptions extends CommonOptions {
  rule?: string;
  subject?: string;
  target?: string;
  decision?: string;
  action?: string;
  owner?: string;
  since?: string;
  limit: string;
}

export async function decisionsCommand(io: Io, options: DecisionsOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  return reading(io, options, async (reader) => {
    const { rule, subject: subjectId, target, decision, action, owner } = options;
    const limit = countOf(options.limit, '--limit', 10_000);
    const nowMs = systemClock.nowMs();
    const since = sinceOf(options, nowMs);
    const found = await reader.decisions({ rule, subjectId, target, decision, action, owner, since, limit });
    if (found.length === 0 && rule !== undefined) await demandKnownRule(reader, rule);
    if (found.length === 0 && owner !== undefined) await demandKnownOwner(reader, owner);
    const about = target !== undefined ? { target } : subjectId !== undefined ? { subjectId } : undefined;
    const history = about && (await historyIn(reader, about, { limit, nowMs })).filter(({ at }) => at >= (since ?? 0));
    write(
      io,
      options,
      format === 'json' ? decisionsJson(found, history) : text(found, history ?? [], widthOf(options)),
    );
    return 0;
  });
}

/** Loaded only where it is asked for. */
async function historyIn(...given: Parameters<typeof HistoryOf>): Promise<HistoryLine[]> {
  const { historyOf } = await import('../explain/history-of.ts');
  return historyOf(...given);
}

/** The decisions stand in their own table: the history adds what was called, and what people did. */
function text(decisions: readonly StoredDecision[], history: readonly HistoryLine[], width: { width: number }): string {
  const rest = historyText(
    history.filter(({ kind }) => kind !== 'decision'),
    width,
  );
  return rest === '' ? decisionsText(decisions, width) : `${decisionsText(decisions, width)}\n${rest}`;
}

export async function auditListCommand(
  io: Io,
  options: CommonOptions & { limit: string; kind?: string; target?: string; actor?: string; since?: string },
): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  const limit = countOf(options.limit, '--limit', 10_000);
  return reading(io, options, async (reader) => {
    const { kind, target, actor } = options;
    const since = sinceOf(options, systemClock.nowMs());
    const entries = await reader.audit({ kind, target, actor, since, limit });
    write(io, options, format === 'json' ? auditJson(entries) : auditText(entries, widthOf(options)));
    return 0;
  });
}

function sinceOf({ since }: { since?: string }, nowMs: number): number | undefined {
  return since === undefined ? undefined : givenTime(since, '--since', nowMs, 'before');
}
