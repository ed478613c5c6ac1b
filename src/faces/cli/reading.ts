// cli: `decisions`: reading only, also while a daemon writes. Without a name in question it loads no more than a report does.

import type { Database } from '../../domain/database.ts';
import type { StoredDecision } from '../../domain/decision.ts';
import { demandKnownOwner, namedDecisions } from '../../domain/decision-filter.ts';
import { givenTime } from '../../domain/given-time.ts';
import type { DecisionQuery } from '../../domain/store.ts';
import type { HistoryLine } from '../../domain/why.ts';
import { composeRunReader } from '../../runtime/compose/run-reader.ts';
import { withReader } from '../../runtime/compose/with-reader.ts';
import { systemClock } from '../../runtime/system/clock.ts';
import { showHidden } from '../report/fact-text.ts';
import { decisionsJson } from '../report/json.ts';
import { decisionsText, historyText } from '../report/lists-text.ts';
import { CSV_LIMIT_MAX, PAGE_MAX } from './decisions-csv.ts';
import { type CommonOptions, countOf, databaseOf, type Io, outputOf, widthOf, write } from './io.ts';

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
  const format = outputOf(options, ['text', 'json', 'csv'] as const, 'text');
  const database = databaseOf(io, options);
  return withReader(composeRunReader(database), async (reader) => {
    const { rule, subject, target, decision, action, owner } = options;
    const limit = countOf(options.limit, '--limit', format === 'csv' ? CSV_LIMIT_MAX : 10_000);
    const nowMs = systemClock.nowMs();
    const since = sinceOf(options, nowMs);
    const { query, about } = await namedDecisions(reader, { rule, subject, target });
    const wanted = { ...query, decision, action, owner, since };
    const found = await reader.decisions({ ...wanted, limit: format === 'csv' ? Math.min(limit, PAGE_MAX) : limit });
    if (found.length === 0 && owner !== undefined) await demandKnownOwner(reader, owner);
    if (format === 'csv') {
      const { writeDecisionsCsv } = await import('./decisions-csv.ts');
      const read = (before: string, most: number) => reader.decisions({ ...wanted, before, limit: most });
      await writeDecisionsCsv(io, options, limit, found, read);
      return 0;
    }
    const history = (await historyIn(database, query, { limit, nowMs }))?.filter(({ at }) => at >= (since ?? 0));
    const written = {
      text: () => textOf(found, about, history ?? [], widthOf(options)),
      json: () => decisionsJson(found, history),
    };
    write(io, options, written[format]());
    return 0;
  });
}

/** Of the one target or subjects that are asked about. Loaded only where it is asked for. */
async function historyIn(
  database: Database,
  { target, subjectIds }: Pick<DecisionQuery, 'target' | 'subjectIds'>,
  bounds: { limit: number; nowMs: number },
): Promise<HistoryLine[] | undefined> {
  const about = target !== undefined ? { target } : subjectIds && { subjectIds };
  if (about === undefined) return undefined;
  const { composeReader } = await import('../../runtime/compose/reader.ts');
  const { historyOf } = await import('../../engine/explain/history-of.ts');
  return withReader(composeReader(database), (reader) => historyOf(reader, about, bounds));
}

/**
 * What was named comes first, so that nobody reads about another one. The decisions stand in their own table: the history adds what was
 * called, and what people did.
 */
function textOf(
  found: readonly StoredDecision[],
  about: readonly string[],
  history: readonly HistoryLine[],
  width: { width: number },
): string {
  const named = about.map(showHidden).join(', and ');
  const rest = historyText(
    history.filter(({ kind }) => kind !== 'decision'),
    width,
  );
  const decisions =
    found.length === 0 && named !== ''
      ? `no decisions about ${named}\n`
      : [...(named === '' ? [] : [`decisions about ${named}`]), decisionsText(found, width)].join('\n');
  return rest === '' ? decisions : `${decisions}\n${rest}`;
}

function sinceOf({ since }: { since?: string }, nowMs: number): number | undefined {
  return since === undefined ? undefined : givenTime(since, '--since', nowMs, 'before');
}
