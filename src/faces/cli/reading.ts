// cli: `runs` and `decisions`, newest first: reading only, also while a daemon writes. Without a name in question they load little
// more than a report does.

import { closeSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import type { Database } from '../../domain/database.ts';
import type { StoredDecision } from '../../domain/decision.ts';
import { demandKnownOwner, namedDecisions } from '../../domain/decision-filter.ts';
import { givenTime } from '../../domain/given-time.ts';
import type { RunQuery, RunStatus } from '../../domain/run.ts';
import type { DecisionQuery } from '../../domain/store.ts';
import type { HistoryLine } from '../../domain/why.ts';
import { composeRunReader, withReader } from '../../runtime/compose/run-reader.ts';
import { systemClock } from '../../runtime/system/clock.ts';
import { decisionsCsvPieces } from '../report/csv.ts';
import { decisionView } from '../report/decision-view.ts';
import { showHidden } from '../report/fact-text.ts';
import { decisionsJson } from '../report/json.ts';
import { type CountedRun, decisionsText, historyText, runLineView, runsText } from '../report/lists-text.ts';
import { remoteOf } from './config-of.ts';
import { type CommonOptions, countOf, databaseOf, type Io, lineWidthOf, outputOf, unwritable, write } from './io.ts';

interface RunsOptions extends CommonOptions {
  limit: string;
  since?: string;
  status?: RunStatus;
}

/** Each with what it did. */
export async function runsCommand(io: Io, options: RunsOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  const query: RunQuery = { limit: countOf(options.limit, '--limit', 10_000) };
  if (options.status !== undefined) query.status = options.status;
  const remote = await remoteOf(io, options);
  if (remote) return (await import('./there.ts')).runsThere(remote, io, options);
  if (options.since !== undefined) query.since = sinceOf(options, systemClock.nowMs()) as number;
  return withReader(composeRunReader(databaseOf(io, options)), async (reader) => {
    const runs: CountedRun[] = [];
    for (const run of await reader.runLines(query)) runs.push({ run, counts: await reader.countsOfRun(run) });
    const json = () => JSON.stringify({ runs: runs.map(runLineView) }, null, 2);
    write(io, options, format === 'json' ? json() : runsText(runs, lineWidthOf(options)));
    return 0;
  });
}

interface DecisionsOptions extends CommonOptions {
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
  const remote = await remoteOf(io, options);
  if (remote) return (await import('./there.ts')).decisionsThere(remote, io, options, format);
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
      const read = (before: string, most: number) => reader.decisions({ ...wanted, before, limit: most });
      await writeDecisionsCsv(io, options, limit, found, read);
      return 0;
    }
    const history = (await historyIn(database, query, { limit, nowMs }))?.filter(({ at }) => at >= (since ?? 0));
    const written = {
      text: () => textOf(found, about, history ?? [], lineWidthOf(options)),
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

// `decisions --format csv`: any number of decisions, read and written in pages, to a file whole or not at all (0600).

/** As many as are read at once. */
const PAGE_MAX = 1_000;
/** Other formats are held whole, and end at 10,000. */
const CSV_LIMIT_MAX = 100_000_000;

type ReadPage = (before: string, limit: number) => Promise<StoredDecision[]>;

/** @param first of at most PAGE_MAX decisions, newest first. */
async function writeDecisionsCsv(
  io: Io,
  { out }: Pick<CommonOptions, 'out'>,
  limit: number,
  first: StoredDecision[],
  read: ReadPage,
): Promise<void> {
  const pages = csvPages(first, limit, read);
  if (out === undefined) {
    for await (const page of pages) io.out(page);
    return;
  }
  const isPlace = statSync(out, { throwIfNoEntry: false })?.isFile() === false; // a pipe or a device
  const written = isPlace ? out : `${out}.${process.pid}.new`;
  try {
    const handle = openSync(written, 'w', 0o600);
    try {
      for await (const page of pages) {
        const bytes = Buffer.from(page);
        for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at);
      }
    } finally {
      closeSync(handle);
    }
    if (!isPlace) renameSync(written, out);
  } catch (error) {
    if (!isPlace) rmSync(written, { force: true });
    throw unwritable(out, error);
  }
}

async function* csvPages(first: StoredDecision[], limit: number, read: ReadPage): AsyncGenerator<string> {
  let left = limit;
  let isFirst = true;
  for (let page = first; isFirst || page.length > 0; ) {
    const [head = '', ...rows] = decisionsCsvPieces(page.map(decisionView));
    yield [...(isFirst ? [head] : []), ...rows].join('');
    isFirst = false;
    left -= page.length;
    const last = page.at(-1);
    page =
      last === undefined || left <= 0 || page.length < PAGE_MAX ? [] : await read(last.id, Math.min(left, PAGE_MAX));
  }
}
